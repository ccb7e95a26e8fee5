// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Plans that need switches are not lowered to kernels or copies.

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "exec/gpu/lower/compile.h"
#include "plan/text.h"

namespace tutti::exec::gpu {
namespace {

constexpr std::string_view kAllGather = R"(
all_gather rank 0 of 2 in 1 out 2 slots 1
  in0 -> >>out0 >>1
  <1 -> out1
all_gather rank 1 of 2 in 1 out 2 slots 1
  in0 -> out1 >0
  <0 -> out0
)";

TEST(GpuLowering, RefusesPlansThatNeedSwitches) {
  const Result<std::vector<plan::RankPlan>> plans = plan::Parse(kAllGather);
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  for (const int rank : {0, 1}) {  // whichever rank needs one
    const Result<PreparedPlan> prepared = PreparePlan(*plans, rank);
    ASSERT_FALSE(prepared.ok());
    EXPECT_EQ(prepared.status().code(), Code::kUnsupported);
    EXPECT_EQ(prepared.status().message(),
              "all_gather of 2 ranks: rank 0, step 0 'in0 -> >>out0 >>1' needs a switch that copies or folds; such "
              "plans are for the "
              "checker and the simulator only, so choose another algorithm");
  }
}

}  // namespace
}  // namespace tutti::exec::gpu
