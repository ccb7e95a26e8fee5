// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/types.h"

#include <fmt/format.h>

namespace tutti::mpi {

std::optional<DataType> DataTypeOfHandle(Handle type) {
  switch (static_cast<Type>(type)) {
    case Type::kCHAR:
    case Type::kSIGNED_CHAR:
    case Type::kINT8_T:
      return DataType::kInt8;
    case Type::kBYTE:
    case Type::kUNSIGNED_CHAR:
    case Type::kUINT8_T:
      return DataType::kUint8;
    case Type::kSHORT:
    case Type::kINT16_T:
      return DataType::kInt16;
    case Type::kUNSIGNED_SHORT:
    case Type::kUINT16_T:
      return DataType::kUint16;
    case Type::kINT:
    case Type::kINT32_T:
      return DataType::kInt32;
    case Type::kUNSIGNED:
    case Type::kUINT32_T:
      return DataType::kUint32;
    case Type::kLONG:
    case Type::kLONG_LONG:
    case Type::kLONG_LONG_INT:
    case Type::kINT64_T:
      return DataType::kInt64;
    case Type::kUNSIGNED_LONG:
    case Type::kUNSIGNED_LONG_LONG:
    case Type::kUINT64_T:
      return DataType::kUint64;
    case Type::kFLOAT:
      return DataType::kFloat32;
    case Type::kDOUBLE:
      return DataType::kFloat64;
    case Type::kC_COMPLEX:
    case Type::kC_FLOAT_COMPLEX:
    case Type::kCXX_FLOAT_COMPLEX:
      return DataType::kComplex64;
    case Type::kC_DOUBLE_COMPLEX:
    case Type::kCXX_DOUBLE_COMPLEX:
      return DataType::kComplex128;
    case Type::kC_BOOL:
    case Type::kCXX_BOOL:
      return DataType::kBool;
    default:
      return std::nullopt;
  }
}

std::optional<ReduceOp> ReduceOpOfHandle(Handle op) {
  switch (static_cast<Op>(op)) {
    case Op::kSUM:
      return ReduceOp::kSum;
    case Op::kPROD:
      return ReduceOp::kProd;
    case Op::kMAX:
      return ReduceOp::kMax;
    case Op::kMIN:
      return ReduceOp::kMin;
    case Op::kBAND:
      return ReduceOp::kAnd;
    case Op::kBOR:
      return ReduceOp::kOr;
    case Op::kBXOR:
      return ReduceOp::kXor;
    default:
      return std::nullopt;
  }
}

std::string TypeName(Handle type) {
#define TUTTI_MPI_CASE(name) \
  case Type::k##name:        \
    return "MPI_" #name;
  switch (static_cast<Type>(type)) {
    TUTTI_MPI_DATATYPES(TUTTI_MPI_CASE)
    default:
      return fmt::format("{:#x}, which is no type of MPI,", type);
  }
#undef TUTTI_MPI_CASE
}

std::string OpName(Handle op) {
#define TUTTI_MPI_CASE(name) \
  case Op::k##name:          \
    return "MPI_" #name;
  switch (static_cast<Op>(op)) {
    TUTTI_MPI_OPS(TUTTI_MPI_CASE)
    default:
      return fmt::format("{:#x}", op);
  }
#undef TUTTI_MPI_CASE
}

}  // namespace tutti::mpi
