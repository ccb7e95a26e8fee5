// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_FLOAT_TYPES_H_
#define TUTTI_BASE_FLOAT_TYPES_H_

#include <bit>
#include <cstdint>

// The small floating types as raw bits: exact conversions from and to float, one number at a time.
//
//   half      s eeeee mmmmmmmmmm      IEEE binary16
//   bfloat16  s eeeeeeee mmmmmmm      the upper half of a float
//   e4m3      s eeee mmm              OCP "e4m3fn": no infinity, NaN is 0x7f and 0xff, largest 448
//   e5m2      s eeeee mm              OCP: like half, largest finite 57344
//
// To float: exact for every code; NaN stays NaN. From float: rounded once, to nearest, ties to even,
// subnormals included, whatever the thread's rounding mode. Too large a number becomes infinity in half and
// bfloat16, and the largest finite number of its sign in the fp8 types, also where it was infinite (CUDA's
// "satfinite"). NaN stays NaN with its sign and, as far as it fits, its payload, quieted.
//
// These are the definition; the executors' vector and GPU code gives the same bits.
namespace tutti {
namespace float_types_internal {

// kLargest: the code that overflow gives. kNan: the bits that every NaN we make has set; where kNanPayload,
// the upper bits of the float's mantissa are kept beside them.
template <int kExponentBits, int kMantissaBits, std::uint32_t kLargest, std::uint32_t kNan, bool kNanPayload>
struct Format {
  static constexpr int kBits = kExponentBits + kMantissaBits;  // without the sign
  static constexpr std::uint32_t kMagnitude = (1u << kBits) - 1;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kDropped = 23 - kMantissaBits;  // mantissa bits that float has more

  static constexpr std::uint32_t Encode(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 31 << kBits;
    const std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
      return sign | kNan | (kNanPayload ? (magnitude & 0x7fffff) >> kDropped : 0);
    }
    const int exponent = static_cast<int>(magnitude >> 23) - 127 + kBias;
    const std::uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
    const int shift = exponent >= 1 ? kDropped : kDropped + 1 - exponent;
    if (shift > 24) return sign;  // less than half of the smallest subnormal; also all subnormal floats
    const std::uint32_t odd = mantissa >> shift & 1;
    const std::uint32_t rounded = (mantissa + (1u << (shift - 1)) - 1 + odd) >> shift;
    // The implicit one, and a carry out of the mantissa, add to the exponent.
    const std::uint32_t code =
        rounded + (exponent >= 1 ? static_cast<std::uint32_t>(exponent - 1) << kMantissaBits : 0);
    return sign | (code < kLargest ? code : kLargest);
  }

  static constexpr float Decode(std::uint32_t code) {
    const std::uint32_t sign = code >> kBits << 31;
    const std::uint32_t magnitude = code & kMagnitude;
    const bool has_infinity = kNanPayload;
    const std::uint32_t first_special = has_infinity ? ((1u << kExponentBits) - 1) << kMantissaBits : kNan;
    std::uint32_t bits = 0;
    if (magnitude >= first_special) {
      bits = magnitude << kDropped | 0x7f800000;
    } else if (magnitude >> kMantissaBits != 0) {
      bits = (magnitude << kDropped) + (static_cast<std::uint32_t>(127 - kBias) << 23);
    } else if (magnitude != 0) {  // subnormal: its highest one becomes the implicit one
      const int zeros = std::countl_zero(magnitude) - (31 - kMantissaBits);
      bits = (magnitude << (kDropped + zeros) & 0x7fffff) | static_cast<std::uint32_t>(128 - kBias - zeros) << 23;
    }
    return std::bit_cast<float>(sign | bits);
  }
};

using Half = Format<5, 10, 0x7c00, 0x7e00, true>;
using E4M3 = Format<4, 3, 0x7e, 0x7f, false>;
using E5M2 = Format<5, 2, 0x7b, 0x7e, true>;

}  // namespace float_types_internal

constexpr float HalfToFloat(std::uint16_t code) { return float_types_internal::Half::Decode(code); }
constexpr std::uint16_t FloatToHalf(float value) {
  return static_cast<std::uint16_t>(float_types_internal::Half::Encode(value));
}

constexpr float Bfloat16ToFloat(std::uint16_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}
constexpr std::uint16_t FloatToBfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

constexpr float E4M3ToFloat(std::uint8_t code) { return float_types_internal::E4M3::Decode(code); }
constexpr std::uint8_t FloatToE4M3(float value) {
  return static_cast<std::uint8_t>(float_types_internal::E4M3::Encode(value));
}

constexpr float E5M2ToFloat(std::uint8_t code) { return float_types_internal::E5M2::Decode(code); }
constexpr std::uint8_t FloatToE5M2(float value) {
  return static_cast<std::uint8_t>(float_types_internal::E5M2::Encode(value));
}

}  // namespace tutti

#endif  // TUTTI_BASE_FLOAT_TYPES_H_
