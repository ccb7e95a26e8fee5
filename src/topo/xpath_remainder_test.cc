// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

extern "C" double __wrap_fmod(double x, double y);  // NOLINT(bugprone-reserved-identifier)

namespace tutti {
namespace {

void ExpectSame(double x, double y) {
  const double own = __wrap_fmod(x, y), expected = std::fmod(x, y);
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(own)) << x << " by " << y;
  } else {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(own), std::bit_cast<std::uint64_t>(expected)) << x << " by " << y;
  }
}

// Of any numbers, tiny and huge ones too, to the last bit.
TEST(XPathRemainder, IsThatOfTheLibraryOfMathematics) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> odd = {0.0,    -0.0,      1,          -1,           2.5,  -2.5, 1e308, -1e308, 5e-324,
                                   3e-310, kInfinity, -kInfinity, std::nan(""), 1e17, 7,    1e-9,  0.1};
  for (const double x : odd) {
    for (const double y : odd) ExpectSame(x, y);
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) ExpectSame(std::bit_cast<double>(random()), std::bit_cast<double>(random()));
  std::uniform_real_distribution<double> near(-1e6, 1e6);
  for (int i = 0; i < 20000; ++i) ExpectSame(near(random), near(random));
}

}  // namespace
}  // namespace tutti
