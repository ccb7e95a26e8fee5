// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/verify_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "exec/cpu/fold.h"

namespace tutti::tools {
namespace {

using Array = std::vector<unsigned char>;

constexpr std::uint64_t kSeed = 0x5eed5eed5eed;

bool IsFloating(DataType type) { return type >= DataType::kFloat16; }

class VerifyData : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  DataType type() const { return static_cast<DataType>(std::get<0>(GetParam())); }
  ReduceOp op() const { return static_cast<ReduceOp>(std::get<1>(GetParam())); }
  bool scales() const { return op() == ReduceOp::kPreMulSum || (op() == ReduceOp::kAvg && IsFloating(type())); }

  Array Input(int rank, int ranks, std::size_t count, std::size_t first = 0, std::uint64_t seed = kSeed) const {
    Array data(count * SizeOf(type()));
    FillInput(data.data(), first, count, type(), op(), rank, ranks, seed);
    return data;
  }
  Array Expected(int ranks, std::size_t count, std::size_t first = 0, std::uint64_t seed = kSeed) const {
    Array data(count * SizeOf(type()));
    FillExpected(data.data(), first, count, type(), op(), ranks, seed);
    return data;
  }

  // What each rank brings to the fold: its input, scaled where the operator says so.
  std::vector<Array> Contributions(int ranks, std::size_t count) const {
    std::vector<Array> all;
    for (int rank = 0; rank < ranks; ++rank) {
      all.push_back(Input(rank, ranks, count));
      const double scalar = op() == ReduceOp::kAvg ? 1.0 / ranks : PreMulScalar(rank);
      if (scales()) Scale(all.back().data(), all.back().data(), count, type(), scalar);
    }
    return all;
  }

  // Folds groups of random members, of random size up to `widest`, until one is left. Each partial result is
  // rounded to the element type.
  Array Reduce(std::vector<Array> arrays, int widest, std::mt19937& random) const {
    const int ranks = static_cast<int>(arrays.size());
    const std::size_t count = arrays[0].size() / SizeOf(type());
    while (arrays.size() > 1) {
      std::ranges::shuffle(arrays, random);
      std::size_t size = 2 + random() % static_cast<unsigned>(widest - 1);
      size = std::min(size, arrays.size());
      std::vector<const void*> operands;
      for (std::size_t k = 0; k < size; ++k) operands.push_back(arrays[k].data());
      GetFold(type(), op())(arrays[0].data(), operands.data(), static_cast<int>(size), count, Stores::kCached);
      arrays.erase(arrays.begin() + 1, arrays.begin() + static_cast<std::ptrdiff_t>(size));
    }
    if (op() == ReduceOp::kAvg && !scales()) DivideIntegers(arrays[0].data(), count, type(), ranks);
    return arrays[0];
  }
};

TEST_P(VerifyData, AnyOrderAndShapeGivesTheExpectedValue) {
  std::mt19937 random(1);
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 16, 33, 64, 257, 1024}) {
    const std::size_t count = ranks > 100 ? 50 : 700;
    const std::vector<Array> contributions = Contributions(ranks, count);
    const Array expected = Expected(ranks, count);
    for (const int widest : {2, 2, 3, 8, 1024}) {
      const Array got = Reduce(contributions, widest, random);
      ASSERT_EQ(CountWrong(got.data(), expected.data(), count, type(), op()), 0u)
          << ranks << " ranks, groups of up to " << widest;
    }
  }
}

// A reduction that loses a rank, takes one twice, or takes one for another must not go unnoticed.
TEST_P(VerifyData, AWrongSetOfRanksIsNoticed) {
  std::mt19937 random(1);
  for (const int ranks : {2, 3, 4, 8, 64}) {
    const std::size_t count = 3000;
    const std::vector<Array> right = Contributions(ranks, count);
    const Array expected = Expected(ranks, count);
    auto wrong = [&](const std::vector<Array>& contributions) {
      Array got = Reduce(contributions, 4, random);
      return CountWrong(got.data(), expected.data(), count, type(), op());
    };
    for (int rank = 0; rank < std::min(ranks, 4); ++rank) {
      std::vector<Array> missing = right;
      missing.erase(missing.begin() + rank);
      EXPECT_GT(wrong(missing), 0u) << "rank " << rank << " of " << ranks << " is missing";
      std::vector<Array> replaced = right;
      replaced[rank] = right[(rank + 1) % ranks];
      EXPECT_GT(wrong(replaced), 0u) << "rank " << rank << " of " << ranks << " is replaced by the next";
      if (op() == ReduceOp::kMax || op() == ReduceOp::kMin) continue;  // once or twice is the same
      if (op() == ReduceOp::kAvg && !IsFloating(type()) && SizeOf(type()) == 1 && ranks == 64) continue;  // all 0
      std::vector<Array> twice = right;
      twice.push_back(right[rank]);
      EXPECT_GT(wrong(twice), 0u) << "rank " << rank << " of " << ranks << " counts twice";
    }
  }
}

TEST_P(VerifyData, PiecesMakeTheWhole) {
  const std::size_t size = SizeOf(type());
  const std::size_t count = 2000;
  for (const std::size_t base : {std::size_t{0}, (std::size_t{1} << 32) - 700}) {
    const Array input = Input(1, 5, count, base);
    const Array expected = Expected(5, count, base);
    Array pieces_in(count * size + 1), pieces_out(count * size + 1);
    for (std::size_t at = 0, piece = 1; at < count; at += piece, piece = piece * 3 + 1) {
      const std::size_t n = std::min(piece, count - at);
      FillInput(pieces_in.data() + 1 + at * size, base + at, n, type(), op(), 1, 5, kSeed);
      FillExpected(pieces_out.data() + 1 + at * size, base + at, n, type(), op(), 5, kSeed);
    }
    EXPECT_EQ(std::memcmp(pieces_in.data() + 1, input.data(), count * size), 0);
    EXPECT_EQ(std::memcmp(pieces_out.data() + 1, expected.data(), count * size), 0);
  }
}

// Numbers are ordinary, and neither constant nor the same for every seed and rank. Under minimum and maximum
// the results vary, too.
TEST_P(VerifyData, InputsAreOrdinaryAndDiffer) {
  const std::size_t count = 4000;
  const std::size_t size = SizeOf(type());
  const Array input = Input(2, 4, count);
  EXPECT_NE(input, Input(1, 4, count));
  EXPECT_NE(input, Input(2, 4, count, 0, kSeed + 1));
  EXPECT_NE(input, Input(2, 4, count, 0, kSeed + (std::uint64_t{1} << 32)));
  EXPECT_NE(input, Input(2, 4, count, 1));
  EXPECT_NE(input, Input(2, 4, count, std::size_t{1} << 32));
  std::set<std::string> inputs, results;
  const Array expected = Expected(4, count);
  for (std::size_t i = 0; i < count; ++i) {
    inputs.emplace(reinterpret_cast<const char*>(&input[i * size]), size);
    results.emplace(reinterpret_cast<const char*>(&expected[i * size]), size);
  }
  EXPECT_GT(inputs.size(), size == 1 ? 10u : 100u);
  EXPECT_GT(results.size(), size == 1 ? 10u : 100u);
  if (!IsFloating(type())) return;
  constexpr int kMantissaBits[kNcclDataTypes] = {0, 0, 0, 0, 0, 0, 10, 23, 52, 7, 3, 2};
  const int mantissa = kMantissaBits[static_cast<int>(type())];
  for (const Array& array : {input, expected}) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t code = 0;
      std::memcpy(&code, &array[i * size], size);
      const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
      const std::uint64_t largest_exponent = (sign - 1) >> mantissa;
      const std::uint64_t exponent = (code & (sign - 1)) >> mantissa;
      ASSERT_TRUE(code == 0 || exponent > 0) << "subnormal or -0 at " << i;
      ASSERT_TRUE(type() == DataType::kFloat8E4M3 ? (code & 0x7f) != 0x7f : exponent != largest_exponent)
          << "not finite at " << i;
    }
  }
}

TEST_P(VerifyData, ChangedBitsAreCounted) {
  const std::size_t count = 777;
  const std::size_t size = SizeOf(type());
  const Array expected = Expected(4, count);
  Array got = expected;
  EXPECT_EQ(CountWrong(got.data(), expected.data(), count, type(), op()), 0u);
  EXPECT_EQ(CountWrong(got.data(), expected.data(), 0, type(), op()), 0u);
  // The highest byte holds sign and exponent, or is the whole of an fp8.
  for (const std::size_t i : {std::size_t{0}, std::size_t{100}, count - 1}) got[i * size + size - 1] ^= 0x10;
  EXPECT_EQ(CountWrong(got.data(), expected.data(), count, type(), op()), 3u);
  if (op() == ReduceOp::kAvg && IsFloating(type())) return;
  for (int bit = 0; bit < 8 * static_cast<int>(size); ++bit) {
    got = expected;
    got[5 * size + static_cast<std::size_t>(bit) / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    EXPECT_EQ(CountWrong(got.data(), expected.data(), count, type(), op()), 1u) << bit;
  }
}

class VerifyAverages : public VerifyData {};  // of floating types

TEST_P(VerifyAverages, MayBeTwoUlpsOff) {
  const std::size_t size = SizeOf(type());
  const Array expected = Expected(4, 1);
  for (const int ulps : {-3, -2, -1, 0, 1, 2, 3}) {
    std::uint64_t code = 0;
    std::memcpy(&code, expected.data(), size);
    code += static_cast<std::uint64_t>(ulps);
    EXPECT_EQ(CountWrong(&code, expected.data(), 1, type(), op()), ulps == -3 || ulps == 3 ? 1u : 0u) << ulps;
  }
}

std::string NameOfCase(const testing::TestParamInfo<std::tuple<int, int>>& info) {
  return std::string(Name(static_cast<DataType>(std::get<0>(info.param)))) + "_" +
         std::string(Name(static_cast<ReduceOp>(std::get<1>(info.param))));
}
INSTANTIATE_TEST_SUITE_P(All, VerifyData,
                         testing::Combine(testing::Range(0, kNcclDataTypes), testing::Range(0, kNcclReduceOps)),
                         NameOfCase);
INSTANTIATE_TEST_SUITE_P(All, VerifyAverages,
                         testing::Combine(testing::Range(static_cast<int>(DataType::kFloat16), kNcclDataTypes),
                                          testing::Values(static_cast<int>(ReduceOp::kAvg))),
                         NameOfCase);

TEST(VerifyDataMove, EveryByteBelongsToItsPlace) {
  for (int t = 0; t < kNcclDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    const std::size_t size = SizeOf(type);
    const std::size_t count = 5000;
    Array whole(count * size), pieces(count * size + 1);
    FillMove(whole.data(), 3, count, type, kSeed, 7);
    for (std::size_t at = 0, piece = 1; at < count; at += piece, piece = piece * 2 + 1) {
      FillMove(pieces.data() + 1 + at * size, 3 + at, std::min(piece, count - at), type, kSeed, 7);
    }
    EXPECT_EQ(std::memcmp(pieces.data() + 1, whole.data(), whole.size()), 0);
    for (const auto& [first, seed, rank] : {std::tuple<std::size_t, std::uint64_t, int>{4, kSeed, 7},
                                            {3, kSeed + 1, 7},
                                            {3, kSeed, 8},
                                            {3 + (std::size_t{1} << 34), kSeed, 7}}) {
      Array other(count * size);
      FillMove(other.data(), first, count, type, seed, rank);
      EXPECT_GT(CountWrong(other.data(), whole.data(), count, type, ReduceOp::kSum), count * 9 / 10);
    }
  }
}

}  // namespace
}  // namespace tutti::tools
