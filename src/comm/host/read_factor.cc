// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/read_factor.h"

#include <cstdint>
#include <cstring>

#include "base/float_types.h"
#include "tutti/operation.h"

namespace tutti::comm {
namespace {

template <typename T>
T Load(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

void ReadFactor(const void* at, Operation& o) {
  switch (o.type) {
    case DataType::kInt8:
      o.integer_scalar = Load<std::int8_t>(at);
      break;
    case DataType::kUint8:
      o.integer_scalar = Load<std::uint8_t>(at);
      break;
    case DataType::kInt16:
      o.integer_scalar = Load<std::int16_t>(at);
      break;
    case DataType::kUint16:
      o.integer_scalar = Load<std::uint16_t>(at);
      break;
    case DataType::kInt32:
      o.integer_scalar = Load<std::int32_t>(at);
      break;
    case DataType::kUint32:
      o.integer_scalar = Load<std::uint32_t>(at);
      break;
    case DataType::kInt64:
    case DataType::kUint64:
      o.integer_scalar = Load<std::int64_t>(at);
      break;
    case DataType::kFloat16:
      o.scalar = HalfToFloat(Load<std::uint16_t>(at));
      break;
    case DataType::kFloat32:
    case DataType::kComplex64:  // the scalar is real
      o.scalar = Load<float>(at);
      break;
    case DataType::kFloat64:
    case DataType::kComplex128:
      o.scalar = Load<double>(at);
      break;
    case DataType::kBfloat16:
      o.scalar = Bfloat16ToFloat(Load<std::uint16_t>(at));
      break;
    case DataType::kFloat8E4M3:
      o.scalar = E4M3ToFloat(Load<std::uint8_t>(at));
      break;
    case DataType::kFloat8E5M2:
      o.scalar = E5M2ToFloat(Load<std::uint8_t>(at));
      break;
    case DataType::kBool:  // is not scaled
      break;
  }
}

}  // namespace tutti::comm
