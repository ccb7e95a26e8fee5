// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_FOLD_REFERENCE_H_
#define TUTTI_EXEC_CPU_FOLD_REFERENCE_H_

// For the tests of folds: what an element is and what its fold is, one number at a time.

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/float_types.h"
#include "tutti/types.h"

namespace tutti {

// A type as the reference sees it: its storage, the type it is summed in, and the way between them.
template <DataType kType>
struct Element;
template <typename T>
struct PlainElement {
  using Storage = T;
  using Wide = T;
  static Wide Widen(Storage x) { return x; }
  static Storage Narrow(Wide x) { return x; }
};
template <typename T, float (*kToFloat)(T), T (*kFromFloat)(float)>
struct SmallElement {
  using Storage = T;
  using Wide = float;
  static float Widen(T x) { return kToFloat(x); }
  static T Narrow(float x) { return kFromFloat(x); }
};
template <>
struct Element<DataType::kInt8> : PlainElement<std::int8_t> {};
template <>
struct Element<DataType::kUint8> : PlainElement<std::uint8_t> {};
template <>
struct Element<DataType::kInt32> : PlainElement<std::int32_t> {};
template <>
struct Element<DataType::kUint32> : PlainElement<std::uint32_t> {};
template <>
struct Element<DataType::kInt64> : PlainElement<std::int64_t> {};
template <>
struct Element<DataType::kUint64> : PlainElement<std::uint64_t> {};
template <>
struct Element<DataType::kInt16> : PlainElement<std::int16_t> {};
template <>
struct Element<DataType::kUint16> : PlainElement<std::uint16_t> {};
template <>
struct Element<DataType::kBool> : PlainElement<std::uint8_t> {};
template <>
struct Element<DataType::kComplex64> : PlainElement<std::complex<float>> {};
template <>
struct Element<DataType::kComplex128> : PlainElement<std::complex<double>> {};
template <>
struct Element<DataType::kFloat32> : PlainElement<float> {};
template <>
struct Element<DataType::kFloat64> : PlainElement<double> {};
template <>
struct Element<DataType::kFloat16> : SmallElement<std::uint16_t, HalfToFloat, FloatToHalf> {};
template <>
struct Element<DataType::kBfloat16> : SmallElement<std::uint16_t, Bfloat16ToFloat, FloatToBfloat16> {};
template <>
struct Element<DataType::kFloat8E4M3> : SmallElement<std::uint8_t, E4M3ToFloat, FloatToE4M3> {};
template <>
struct Element<DataType::kFloat8E5M2> : SmallElement<std::uint8_t, E5M2ToFloat, FloatToE5M2> {};

// Runs f with the Element of a type known only at run time.
template <typename F>
void WithElement(DataType type, F f) {
  using enum DataType;
  switch (type) {
    case kInt8:
      return f(Element<kInt8>());
    case kUint8:
      return f(Element<kUint8>());
    case kInt32:
      return f(Element<kInt32>());
    case kUint32:
      return f(Element<kUint32>());
    case kInt64:
      return f(Element<kInt64>());
    case kUint64:
      return f(Element<kUint64>());
    case kFloat16:
      return f(Element<kFloat16>());
    case kFloat32:
      return f(Element<kFloat32>());
    case kFloat64:
      return f(Element<kFloat64>());
    case kBfloat16:
      return f(Element<kBfloat16>());
    case kFloat8E4M3:
      return f(Element<kFloat8E4M3>());
    case kFloat8E5M2:
      return f(Element<kFloat8E5M2>());
    case kBool:
      return f(Element<kBool>());
    case kInt16:
      return f(Element<kInt16>());
    case kUint16:
      return f(Element<kUint16>());
    case kComplex64:
      return f(Element<kComplex64>());
    case kComplex128:
      return f(Element<kComplex128>());
  }
}

template <typename T>
constexpr bool kIsComplex = false;
template <typename T>
constexpr bool kIsComplex<std::complex<T>> = true;

template <typename T>
bool IsNan(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

template <typename T>
bool Less(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x == 0 && y == 0) return std::signbit(x) && !std::signbit(y);
  }
  if constexpr (kIsComplex<T>) {
    return false;  // there is no minimum of complex numbers
  } else {
    return x < y;
  }
}

template <typename T>
T Arithmetic(T x, T y, ReduceOp op) {
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<std::uint64_t>(x);
    const auto b = static_cast<std::uint64_t>(y);
    if (op == ReduceOp::kAnd) return static_cast<T>(a & b);
    if (op == ReduceOp::kOr) return static_cast<T>(a | b);
    if (op == ReduceOp::kXor) return static_cast<T>(a ^ b);
    return static_cast<T>(op == ReduceOp::kProd ? a * b : a + b);
  } else if constexpr (kIsComplex<T>) {
    if (op != ReduceOp::kProd) return x + y;
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  } else {
    return op == ReduceOp::kProd ? x * y : x + y;
  }
}

template <typename E>
typename E::Storage Read(const unsigned char* p, std::size_t i) {
  typename E::Storage x;
  std::memcpy(&x, p + i * sizeof(x), sizeof(x));
  return x;
}

// Element i of the fold. For minimum and maximum the operand that fold.h promises, NaN payloads aside.
template <typename E>
typename E::Storage Reference(const std::vector<const unsigned char*>& operands, std::size_t i, ReduceOp op) {
  auto chosen = Read<E>(operands[0], i);
  auto value = E::Widen(chosen);
  if (operands.size() == 1) return chosen;
  if (std::is_same_v<E, Element<DataType::kBool>>) {
    if (op == ReduceOp::kSum || op == ReduceOp::kMax) op = ReduceOp::kOr;
    if (op == ReduceOp::kProd || op == ReduceOp::kMin) op = ReduceOp::kAnd;
  }
  const bool extreme = op == ReduceOp::kMax || op == ReduceOp::kMin;
  for (std::size_t k = 1; k < operands.size(); ++k) {
    const auto next = Read<E>(operands[k], i);
    const auto wide = E::Widen(next);
    if (!extreme) {
      value = Arithmetic(value, wide, op);
    } else if (!IsNan(value) && (IsNan(wide) || (op == ReduceOp::kMax ? Less(value, wide) : Less(wide, value)))) {
      value = wide;
      chosen = next;
    }
  }
  return extreme ? chosen : E::Narrow(value);
}

template <typename E>
bool Same(typename E::Storage x, typename E::Storage y) {
  const auto a = E::Widen(x), b = E::Widen(y);
  if constexpr (kIsComplex<typename E::Wide>) {
    using Part = Element<sizeof(a) == 8 ? DataType::kFloat32 : DataType::kFloat64>;
    return Same<Part>(a.real(), b.real()) && Same<Part>(a.imag(), b.imag());
  } else {
    return std::memcmp(&x, &y, sizeof(x)) == 0 || (IsNan(a) && IsNan(b));
  }
}

}  // namespace tutti

#endif  // TUTTI_EXEC_CPU_FOLD_REFERENCE_H_
