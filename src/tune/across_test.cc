// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/across.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti::tune {
namespace {

constexpr AcrossConstants kConstants{.kernel_us = 10, .kernel_gb_per_s = 1, .stream_us = 20, .copy_gb_per_s = 2};

TEST(PredictAcross, OnePieceByAKernelOrByCopies) {
  const AcrossPiece piece{.in_bytes = 3000, .out_bytes = 1000, .run_us = 7, .by_kernel = true};
  const AcrossTime kernel = PredictAcross(kConstants, std::vector{piece});
  EXPECT_DOUBLE_EQ(kernel.start_us, 10);
  EXPECT_DOUBLE_EQ(kernel.copies_us, 3 + 1);
  EXPECT_DOUBLE_EQ(kernel.us(), 10 + 4 + 7);
  AcrossPiece copied = piece;
  copied.by_kernel = false;
  EXPECT_DOUBLE_EQ(PredictAcross(kConstants, std::vector{copied}).us(), 20 + 2 + 7);
  EXPECT_EQ(PredictAcross(kConstants, {}).us(), 0);
}

// While a piece runs the next one is copied there and the last one back.
TEST(PredictAcross, LongRunsHideCopiesAndLongCopiesRuns) {
  const AcrossPiece piece{.in_bytes = 4000, .out_bytes = 2000, .run_us = 100, .by_kernel = true};
  const AcrossTime runs = PredictAcross(kConstants, std::vector(5, piece));
  EXPECT_DOUBLE_EQ(runs.us(), 20 + 2 + 5 * 100 + 1) << "a kernel does one piece only";
  AcrossPiece quick = piece;
  quick.run_us = 1;
  // In, then beside each run: in of the next; out and in; ...; out of the last but one; then the last one's.
  EXPECT_DOUBLE_EQ(PredictAcross(kConstants, std::vector(5, quick)).us(), 20 + 2 + (2 + 3 + 3 + 3 + 1) + 1);
}

}  // namespace
}  // namespace tutti::tune
