// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TYPES_H_
#define TUTTI_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti {

// Element types. Values equal ncclDataType_t's.
enum class DataType : std::uint8_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kFloat8E4M3 = 10,  // OCP "e4m3fn": no infinity, largest 448
  kFloat8E5M2 = 11,  // OCP e5m2: IEEE-like, largest finite 57344
};
inline constexpr int kDataTypes = 12;

// Reduction operators. The first five values equal ncclRedOp_t's.
//
// kAvg: integers are summed, then divided by the rank count, truncating toward zero; floating types are
// multiplied by 1/ranks before they are summed. kPreMulSum: each rank's input is multiplied by a scalar of its
// own before the sum (see ReduceOptions in communicator.h).
enum class ReduceOp : std::uint8_t { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4, kPreMulSum = 5 };
inline constexpr int kReduceOps = 6;

// What ranks do together. A call is any of them but kSendRecv. A plan is any of the first kCollectives: sends and receives
// that proceed together, one or many, follow a plan of kSendRecv.
enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kSendRecv,
  kBarrier,
  kSend,
  kRecv,
};
inline constexpr int kCollectives = 10;

constexpr std::size_t SizeOf(DataType type) {
  constexpr std::size_t kBytes[kDataTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return kBytes[static_cast<int>(type)];
}

// Names as nccl-tests spells them ("float", "f8e4m3", "sum", "mulsum") and as the tools spell collectives
// ("all_reduce"). Parsing accepts what the Name functions print and common aliases; nullopt for anything else, and for
// "send" and "recv", which no plan is.
std::string_view Name(DataType type);
std::string_view Name(ReduceOp op);
std::string_view Name(Collective collective);
std::optional<DataType> ParseDataType(std::string_view name);
std::optional<ReduceOp> ParseReduceOp(std::string_view name);
std::optional<Collective> ParseCollective(std::string_view name);

constexpr bool IsTransfer(Collective c) { return c == Collective::kSend || c == Collective::kRecv; }
constexpr bool HasRoot(Collective c) {
  return c == Collective::kBroadcast || c == Collective::kReduce || c == Collective::kGather ||
         c == Collective::kScatter;
}
constexpr bool Reduces(Collective c) {
  return c == Collective::kAllReduce || c == Collective::kReduceScatter || c == Collective::kReduce;
}

}  // namespace tutti

#endif  // TUTTI_TYPES_H_
