// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TYPES_H_
#define TUTTI_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tutti/export.h"

namespace tutti {

// Element types. The first kNcclDataTypes have ncclDataType_t's values; GPUs move and reduce only these.
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
  kBool = 12,        // a byte, 0 or 1
  kInt16 = 13,
  kUint16 = 14,
  kComplex64 = 15,   // two float32: real part, imaginary part
  kComplex128 = 16,  // two float64
};
inline constexpr int kDataTypes = 17;
inline constexpr int kNcclDataTypes = 12;

// Reduction operators. The first five values equal ncclRedOp_t's; GPUs reduce by the first kNcclReduceOps.
//
// kAvg: integers are summed, then divided by the rank count, truncating toward zero; floating types are
// multiplied by 1/ranks before they are summed. kPreMulSum: each rank's input is multiplied by a scalar of its
// own before the sum (see Operation::scalar). kAnd, kOr, kXor: bit by bit. Defined says which types have which.
enum class ReduceOp : std::uint8_t {
  kSum = 0,
  kProd = 1,
  kMax = 2,
  kMin = 3,
  kAvg = 4,
  kPreMulSum = 5,
  kAnd = 6,
  kOr = 7,
  kXor = 8,
};
inline constexpr int kReduceOps = 9;
inline constexpr int kNcclReduceOps = 6;

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
  constexpr std::size_t kBytes[kDataTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1, 1, 2, 2, 8, 16};
  return kBytes[static_cast<int>(type)];
}

// Signed and unsigned integers, not kBool.
constexpr bool IsInteger(DataType type) {
  return type <= DataType::kUint64 || type == DataType::kInt16 || type == DataType::kUint16;
}
constexpr bool IsComplex(DataType type) { return type == DataType::kComplex64 || type == DataType::kComplex128; }

// Whether elements of this type can be reduced so: integers by every operator; floating types by all but those bit by bit; complex
// ones by kSum, kProd, kAvg and kPreMulSum, whose scalar is real; and kBool by all but kAvg and kPreMulSum: sum and max are an or there, prod and min an and.
constexpr bool Defined(ReduceOp op, DataType type) {
  const bool scales = op == ReduceOp::kAvg || op == ReduceOp::kPreMulSum;
  if (IsInteger(type)) return true;
  if (type == DataType::kBool) return !scales;
  if (IsComplex(type)) return scales || op == ReduceOp::kSum || op == ReduceOp::kProd;
  return op <= ReduceOp::kPreMulSum;
}

// Names as nccl-tests spells them ("float", "f8e4m3", "sum", "mulsum"), those it lacks as C++ and torch do ("bool", "int16",
// "complex64", "and"), and as the tools spell collectives
// ("all_reduce"). Parsing accepts what the Name functions print and common aliases; nullopt for anything else, and for
// "send" and "recv", which no plan is.
TUTTI_EXPORT std::string_view Name(DataType type);
TUTTI_EXPORT std::string_view Name(ReduceOp op);
TUTTI_EXPORT std::string_view Name(Collective collective);
TUTTI_EXPORT std::optional<DataType> ParseDataType(std::string_view name);
TUTTI_EXPORT std::optional<ReduceOp> ParseReduceOp(std::string_view name);
TUTTI_EXPORT std::optional<Collective> ParseCollective(std::string_view name);

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
