// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "base/float_types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tutti {
namespace {

// A format as its standard describes it, and conversions by search among all of its numbers: slow and plain.
struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  bool infinity;  // has infinities, and NaNs in all their other codes; else only the last code is NaN
  bool saturates;
  float (*to_float)(std::uint32_t code);
  std::uint32_t (*from_float)(float value);

  std::uint32_t sign() const { return 1u << (exponent_bits + mantissa_bits); }
  std::uint32_t infinity_code() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
  std::uint32_t largest_finite() const { return infinity ? infinity_code() - 1 : sign() - 2; }

  // REQUIRES: code <= largest_finite(), or the one beyond, which is what the next exponent would be.
  double Value(std::uint32_t code) const {
    const int exponent = static_cast<int>(code >> mantissa_bits);
    const double mantissa = code & ((1u << mantissa_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double one = 1u << mantissa_bits;
    return exponent == 0 ? std::ldexp(mantissa / one, 1 - bias) : std::ldexp(1 + mantissa / one, exponent - bias);
  }
};

const Format kHalf = {"half",
                      5,
                      10,
                      true,
                      false,
                      [](std::uint32_t code) { return HalfToFloat(code); },
                      [](float value) -> std::uint32_t { return FloatToHalf(value); }};
const Format kBfloat16 = {"bfloat16",
                          8,
                          7,
                          true,
                          false,
                          [](std::uint32_t code) { return Bfloat16ToFloat(code); },
                          [](float value) -> std::uint32_t { return FloatToBfloat16(value); }};
const Format kE4M3 = {"e4m3",
                      4,
                      3,
                      false,
                      true,
                      [](std::uint32_t code) { return E4M3ToFloat(code); },
                      [](float value) -> std::uint32_t { return FloatToE4M3(value); }};
const Format kE5M2 = {"e5m2",
                      5,
                      2,
                      true,
                      true,
                      [](std::uint32_t code) { return E5M2ToFloat(code); },
                      [](float value) -> std::uint32_t { return FloatToE5M2(value); }};

class FloatTypes : public testing::TestWithParam<const Format*> {
 protected:
  const Format& format() const { return *GetParam(); }

  // The code for a number that is not NaN: the nearest of all finite ones and of the one that would follow
  // them, which stands for overflow.
  std::uint32_t Nearest(float value) const {
    const Format& f = format();
    const std::uint32_t sign = std::signbit(value) ? f.sign() : 0;
    const std::uint32_t overflow = f.saturates ? f.largest_finite() : f.infinity_code();
    if (std::isinf(value)) return sign | overflow;
    const double magnitude = std::fabs(static_cast<double>(value));
    const auto it = std::ranges::lower_bound(values_, magnitude);
    if (it == values_.end()) return sign | overflow;
    auto code = static_cast<std::uint32_t>(it - values_.begin());
    if (*it != magnitude) {
      const double above = *it - magnitude;
      const double below = magnitude - values_[code - 1];
      if (below < above || (below == above && (code - 1) % 2 == 0)) --code;
    }
    return sign | (code > f.largest_finite() ? overflow : code);
  }

  void ExpectNearest(float value) const {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    ASSERT_EQ(format().from_float(value), Nearest(value)) << "for float " << value << ", bits " << std::hex << bits;
  }

  void SetUp() override {
    for (std::uint32_t code = 0; code <= format().largest_finite() + 1; ++code) {
      values_.push_back(format().Value(code));
    }
  }

  std::vector<double> values_;  // by code; ascending
};

TEST_P(FloatTypes, EveryCodeHasItsValue) {
  const Format& f = format();
  for (std::uint32_t code = 0; code < f.sign(); ++code) {
    const float positive = f.to_float(code);
    const float negative = f.to_float(code | f.sign());
    EXPECT_EQ(std::bit_cast<std::uint32_t>(positive) ^ 0x80000000u, std::bit_cast<std::uint32_t>(negative));
    EXPECT_FALSE(std::signbit(positive)) << code;
    if (code <= f.largest_finite()) {
      EXPECT_EQ(positive, f.Value(code)) << code;
    } else if (f.infinity && code == f.infinity_code()) {
      EXPECT_EQ(positive, std::numeric_limits<float>::infinity());
    } else {
      EXPECT_TRUE(std::isnan(positive)) << code;
    }
  }
}

TEST_P(FloatTypes, EveryCodeComesBack) {
  const Format& f = format();
  const std::uint32_t quiet = f.infinity ? 1u << (f.mantissa_bits - 1) : 0;
  for (std::uint32_t code = 0; code < 2 * f.sign(); ++code) {
    const std::uint32_t magnitude = code & (f.sign() - 1);
    std::uint32_t expected = code;
    if (std::isnan(f.to_float(code))) expected = code | quiet;
    if (f.saturates && f.infinity && magnitude == f.infinity_code()) expected = code - 1;
    EXPECT_EQ(f.from_float(f.to_float(code)), expected) << code;
  }
}

TEST_P(FloatTypes, RoundsToNearestEven) {
  const Format& f = format();
  for (std::uint32_t code = 0; code <= f.largest_finite(); ++code) {
    const auto low = static_cast<float>(values_[code]);
    const auto middle = static_cast<float>((values_[code] + values_[code + 1]) / 2);
    for (const float value : {low, middle}) {
      for (const float near : {value, std::nextafter(value, 0.0f), std::nextafter(value, 1e38f)}) {
        ExpectNearest(near);
        ExpectNearest(-near);
      }
    }
  }
}

TEST_P(FloatTypes, RandomBitsOfEverySize) {
  std::uint64_t state = 1;
  for (int i = 0; i < 3'000'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(state >> 32));
    if (!std::isnan(value)) ExpectNearest(value);
  }
}

TEST_P(FloatTypes, EdgesOfFloat) {
  const Format& f = format();
  using Limits = std::numeric_limits<float>;
  for (const float value : {0.0f, Limits::denorm_min(), Limits::min(), Limits::max(), Limits::infinity()}) {
    ExpectNearest(value);
    ExpectNearest(-value);
  }
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu}) {
    const std::uint32_t code = f.from_float(std::bit_cast<float>(bits));
    EXPECT_TRUE(std::isnan(f.to_float(code))) << std::hex << bits;
    EXPECT_EQ(code >= f.sign(), bits >> 31 == 1) << std::hex << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FloatTypes, testing::Values(&kHalf, &kBfloat16, &kE4M3, &kE5M2),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(FloatTypesConstants, KnownCodes) {
  static_assert(FloatToHalf(1.0f) == 0x3c00 && FloatToHalf(65504.0f) == 0x7bff && FloatToHalf(65520.0f) == 0x7c00);
  static_assert(FloatToHalf(65519.996f) == 0x7bff && HalfToFloat(1) == 0x1p-24f && FloatToHalf(-0.0f) == 0x8000);
  static_assert(FloatToBfloat16(1.0f) == 0x3f80 && FloatToBfloat16(-2.0f) == 0xc000);
  static_assert(FloatToE4M3(448.0f) == 0x7e && FloatToE4M3(1e30f) == 0x7e && FloatToE4M3(-500.0f) == 0xfe);
  static_assert(E4M3ToFloat(0x7e) == 448.0f && E4M3ToFloat(1) == 0x1p-9f && FloatToE4M3(1.0f) == 0x38);
  static_assert(FloatToE5M2(57344.0f) == 0x7b && FloatToE5M2(1e30f) == 0x7b && E5M2ToFloat(1) == 0x1p-16f);
}

}  // namespace
}  // namespace tutti
