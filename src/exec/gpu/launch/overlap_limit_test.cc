// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/overlap_limit.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace tutti::exec::gpu {
namespace {

// The answers for kernels of these blocks and threads, one after the other: '1' where one may overlap. With the limits of an
// H200, or without a right to overlap.
std::string Admitted(std::initializer_list<std::pair<int, int>> kernels, bool alone = true, bool some = true) {
  OverlapLimit limit;
  if (some) limit.SetTo(64, 42, {.kernels = 8, .threads = 512, .shares = 16});
  std::string answers;
  for (const auto& [blocks, threads] : kernels) answers += limit.Admit(blocks, threads, alone) ? '1' : '0';
  return answers;
}

TEST(OverlapLimit, IsForRowsOfSmallKernels) {
  EXPECT_EQ(Admitted({{1, 32}, {1, 32}, {1, 32}}), "111");
  EXPECT_EQ(Admitted({{8, 512}, {8, 512}, {8, 512}, {8, 512}, {8, 512}, {8, 512}, {8, 512}, {8, 512}, {8, 512}}),
            "111111111");
  EXPECT_EQ(Admitted({{32, 128}, {32, 128}, {32, 128}, {32, 128}, {32, 128}, {32, 128}, {32, 128}, {32, 128}}),
            "11111111");
  EXPECT_EQ(Admitted({{64, 256}, {64, 256}, {64, 256}}), "111");  // two at a time
  EXPECT_EQ(Admitted({{1, 32}, {1, 32}}, true, false), "00");
}

TEST(OverlapLimit, IsNotForLargeKernelsNorBesideThem) {
  EXPECT_EQ(Admitted({{9, 512}, {9, 512}, {16, 257}}), "000");
  EXPECT_EQ(Admitted({{32, 704}, {1, 32}, {1, 32}}), "001");
  EXPECT_EQ(Admitted({{128, 512}, {8, 512}, {8, 512}, {128, 512}, {64, 256}}), "00100");
}

TEST(OverlapLimit, LeavesTheRestOfTheGpuToOthers) {
  // 32 multiprocessors run, and 32 at most wait.
  EXPECT_EQ(Admitted({{64, 256}, {8, 512}, {8, 512}, {8, 512}, {8, 512}, {8, 512}}), "111110");
  EXPECT_EQ(Admitted({{8, 512}, {8, 512}, {8, 512}, {8, 512}, {8, 512}, {64, 256}, {8, 512}}), "1111101");
}

TEST(OverlapLimit, CountsBlocksWhereOthersAreOnTheGpu) {
  EXPECT_EQ(Admitted({{1, 32}, {4, 512}, {5, 64}, {32, 64}, {1, 32}, {1, 32}}, false), "111001");
  EXPECT_EQ(Admitted({{16, 64}, {16, 64}, {16, 64}, {16, 64}}, false), "1101");  // 42 at most
  EXPECT_EQ(Admitted({{5, 64}, {5, 64}, {5, 64}, {5, 64}, {5, 64}, {5, 64}, {5, 64}, {5, 64}, {5, 64}}, false),
            "111111111");
  EXPECT_EQ(Admitted({{22, 64}, {1, 32}, {1, 32}}, false), "001");
  EXPECT_EQ(Admitted({{43, 128}, {43, 128}, {128, 512}}, false), "000");
  EXPECT_EQ(Admitted({{1, 32}, {1, 32}}, false, false), "00");
}

}  // namespace
}  // namespace tutti::exec::gpu
