// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tutti/types.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/words.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, kDataTypes> kTypeNames = {
    "int8",     "uint8",  "int32",  "uint32", "int64", "uint64", "half",      "float",     "double",
    "bfloat16", "f8e4m3", "f8e5m2", "bool",   "int16", "uint16", "complex64", "complex128"};
constexpr std::array<std::string_view, kReduceOps> kOpNames = {"sum",    "prod", "max", "min", "avg",
                                                               "mulsum", "and",  "or",  "xor"};
constexpr std::array<std::string_view, kCollectives + 2> kCollectiveNames = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather",
    "scatter",    "all_to_all", "send_recv",      "barrier",   "send",   "recv"};

template <typename E, std::size_t N, std::size_t M>
std::optional<E> Find(const std::array<std::string_view, N>& names,
                      const std::array<std::pair<std::string_view, E>, M>& aliases, std::string_view name) {
  const std::string lower = Lower(name);
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == lower) return static_cast<E>(i);
  }
  for (const auto& [alias, value] : aliases) {
    if (alias == lower) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view Name(DataType type) { return kTypeNames[static_cast<int>(type)]; }
std::string_view Name(ReduceOp op) { return kOpNames[static_cast<int>(op)]; }
std::string_view Name(Collective collective) { return kCollectiveNames[static_cast<int>(collective)]; }

std::optional<DataType> ParseDataType(std::string_view name) {
  using enum DataType;
  static constexpr std::array<std::pair<std::string_view, DataType>, 9> kAliases = {{{"char", kInt8},
                                                                                     {"int", kInt32},
                                                                                     {"float16", kFloat16},
                                                                                     {"float32", kFloat32},
                                                                                     {"float64", kFloat64},
                                                                                     {"bf16", kBfloat16},
                                                                                     {"fp16", kFloat16},
                                                                                     {"float8_e4m3", kFloat8E4M3},
                                                                                     {"float8_e5m2", kFloat8E5M2}}};
  return Find<DataType>(kTypeNames, kAliases, name);
}

std::optional<ReduceOp> ParseReduceOp(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, ReduceOp>, 4> kAliases = {
      {{"premulsum", ReduceOp::kPreMulSum},
       {"band", ReduceOp::kAnd},
       {"bor", ReduceOp::kOr},
       {"bxor", ReduceOp::kXor}}};
  return Find<ReduceOp>(kOpNames, kAliases, name);
}

std::optional<Collective> ParseCollective(std::string_view name) {
  using enum Collective;
  static constexpr std::array<std::pair<std::string_view, Collective>, 7> kAliases = {
      {{"allreduce", kAllReduce},
       {"allgather", kAllGather},
       {"reducescatter", kReduceScatter},
       {"alltoall", kAllToAll},
       {"all2all", kAllToAll},
       {"sendrecv", kSendRecv},
       {"bcast", kBroadcast}}};
  const std::optional<Collective> found = Find<Collective>(kCollectiveNames, kAliases, name);
  return found && IsTransfer(*found) ? std::nullopt : found;
}

}  // namespace tutti
