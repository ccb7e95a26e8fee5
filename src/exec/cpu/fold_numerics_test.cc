// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What fold.h promises of numbers, spelled out for one type each.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/float_types.h"
#include "exec/cpu/fold.h"

namespace tutti {
namespace {

template <typename T>
T FoldTwo(DataType type, ReduceOp op, T a, T b) {
  const void* operands[2] = {&a, &b};
  T out;
  GetFold(type, op)(&out, operands, 2, 1, Stores::kCached);
  return out;
}

TEST(FoldNumerics, IntegersWrapAround) {
  EXPECT_EQ(FoldTwo<std::int8_t>(DataType::kInt8, ReduceOp::kSum, 127, 1), -128);
  EXPECT_EQ(FoldTwo<std::uint8_t>(DataType::kUint8, ReduceOp::kProd, 200, 2), 144);
  EXPECT_EQ(FoldTwo<std::int64_t>(DataType::kInt64, ReduceOp::kSum, INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(FoldTwo<std::int8_t>(DataType::kInt8, ReduceOp::kMax, -1, 1), 1);
  EXPECT_EQ(FoldTwo<std::uint8_t>(DataType::kUint8, ReduceOp::kMax, 255, 1), 255);
}

TEST(FoldNumerics, NanAndZerosInMinimumAndMaximum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    for (const float x :
         {1.0f, -1.0f, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
      for (const float n : {nan, -nan}) {
        EXPECT_TRUE(std::isnan(FoldTwo(DataType::kFloat32, op, n, x)));
        EXPECT_TRUE(std::isnan(FoldTwo(DataType::kFloat32, op, x, n)));
      }
    }
  }
  EXPECT_FALSE(std::signbit(FoldTwo(DataType::kFloat32, ReduceOp::kMax, 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(FoldTwo(DataType::kFloat32, ReduceOp::kMax, -0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(FoldTwo(DataType::kFloat32, ReduceOp::kMin, 0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(FoldTwo(DataType::kFloat32, ReduceOp::kMin, -0.0f, 0.0f)));
}

TEST(FoldNumerics, OverflowOfSmallTypes) {
  EXPECT_EQ(FoldTwo<std::uint16_t>(DataType::kFloat16, ReduceOp::kSum, 0x7bff, 0x7bff), 0x7c00);
  EXPECT_EQ(FoldTwo<std::uint16_t>(DataType::kBfloat16, ReduceOp::kSum, 0x7f7f, 0x7f7f), 0x7f80);
  EXPECT_EQ(FoldTwo<std::uint8_t>(DataType::kFloat8E4M3, ReduceOp::kSum, 0x7e, 0x7e), 0x7e);
  EXPECT_EQ(FoldTwo<std::uint8_t>(DataType::kFloat8E4M3, ReduceOp::kSum, 0x7f, 0x01), 0x7f);
  EXPECT_EQ(FoldTwo<std::uint8_t>(DataType::kFloat8E5M2, ReduceOp::kSum, 0xfb, 0xfb), 0xfb);
  EXPECT_EQ(FoldTwo<std::uint8_t>(DataType::kFloat8E5M2, ReduceOp::kSum, 0x7c, 0x01), 0x7b);
  EXPECT_EQ(FoldTwo<std::uint8_t>(DataType::kFloat8E5M2, ReduceOp::kMax, 0x7c, 0x01), 0x7c);
}

// 2048 + 1 + 1 in half: rounding after every step would lose both ones.
TEST(FoldNumerics, HalfRoundsOnce) {
  const std::uint16_t big = FloatToHalf(2048), one = FloatToHalf(1);
  const void* operands[3] = {&big, &one, &one};
  for (int i = 0; i < kIsas; ++i) {
    const FoldFn fold = GetFoldVariant(DataType::kFloat16, ReduceOp::kSum, static_cast<Isa>(i));
    if (fold == nullptr) continue;
    std::uint16_t out = 0;
    fold(&out, operands, 3, 1, Stores::kCached);
    EXPECT_EQ(HalfToFloat(out), 2050.0f) << Name(static_cast<Isa>(i));
  }
}

TEST(FoldNumerics, AverageAndPreMulSumFoldAsSum) {
  for (int t = 0; t < kNcclDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    EXPECT_EQ(GetFold(type, ReduceOp::kAvg), GetFold(type, ReduceOp::kSum));
    EXPECT_EQ(GetFold(type, ReduceOp::kPreMulSum), GetFold(type, ReduceOp::kSum));
    EXPECT_EQ(GetFold(type, ReduceOp::kMin), GetFoldVariant(type, ReduceOp::kMin, BestIsa()));
  }
}

TEST(FoldNumerics, ScalarsBeyondTheElementType) {
  const std::uint8_t three = 3;
  std::uint8_t out = 0;
  Scale(&out, &three, 1, DataType::kUint8, -1);
  EXPECT_EQ(out, 253);
  Scale(&out, &three, 1, DataType::kUint8, 257.9);
  EXPECT_EQ(out, 3);
  Scale(&out, &three, 1, DataType::kUint8, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(out, 0);
  const std::uint64_t one = 1;
  std::uint64_t wide = 0;
  Scale(&wide, &one, 1, DataType::kUint64, 1e30);
  EXPECT_EQ(wide, UINT64_MAX);
  Scale(&wide, &one, 1, DataType::kUint64, -1e30);
  EXPECT_EQ(wide, std::uint64_t{1} << 63);
}

#if defined(__x86_64__)
// A caller may have told its CPU to take subnormal floats for zero; half and fp8 are none of those.
TEST(FoldNumerics, FlushToZeroDoesNotTouchHalfAndFp8) {
  const unsigned before = _mm_getcsr();
  for (int i = 0; i < kIsas; ++i) {
    for (const DataType type : {DataType::kFloat16, DataType::kFloat8E4M3, DataType::kFloat8E5M2}) {
      const FoldFn fold = GetFoldVariant(type, ReduceOp::kSum, static_cast<Isa>(i));
      if (fold == nullptr) continue;
      const std::uint16_t one = 1, two = 2;  // the smallest subnormal numbers
      const void* operands[2] = {&one, &two};
      std::uint16_t out = 0;
      _mm_setcsr(before | 0x8040);
      fold(&out, operands, 2, 1, Stores::kCached);
      _mm_setcsr(before);
      EXPECT_EQ(out, 3) << Name(type) << " " << Name(static_cast<Isa>(i));
    }
  }
}
#endif

}  // namespace
}  // namespace tutti
