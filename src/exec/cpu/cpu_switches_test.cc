// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Plans that need switches are not run.

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/cpu/engine.h"
#include "exec/cpu/job.h"
#include "exec/cpu/prepared_plan.h"
#include "plan/text.h"
#include "trace/recorder.h"

namespace tutti::exec::cpu {
namespace {

constexpr std::string_view kSwitched = R"(
all_reduce rank 0 of 2 in 1 out 1 slots 2
  in0 -> ^^0 ^^1
  @1 ^0 + ^1 -> out0
)";
constexpr std::string_view kCopy = "all_reduce rank 0 of 1 in 1 out 1 slots 1\n in0 -> out0\n";

std::unique_ptr<PreparedPlan> PlanOf(std::string_view text) {
  Result<std::vector<plan::RankPlan>> plans = plan::Parse(text);
  EXPECT_TRUE(plans.ok()) << plans.status().message();
  return PreparePlan(std::move(plans->front()), "all_reduce");
}

// A job of one channel that copies, or would reduce, four bytes.
Job JobOf(const PreparedPlan& plan, const std::byte* in, std::byte* out) {
  Job job;
  job.in = in;
  job.out = out;
  job.count = 4;
  job.chunk_bytes = 64;
  job.parts.resize(1);
  job.parts[0].plan = &plan;
  job.parts[0].count = job.count;
  return job;
}

TEST(CpuEngine, RefusesPlansThatNeedSwitches) {
  trace::Recorder recorder;
  Engine engine(nullptr, &recorder, 0, 1);
  const std::unique_ptr<PreparedPlan> switched = PlanOf(kSwitched), copy = PlanOf(kCopy);
  const std::byte in[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::byte out[4] = {};
  Job refused = JobOf(*switched, in, out), next = JobOf(*copy, in, out);
  engine.Submit(&refused);
  engine.Submit(&next);
  EXPECT_TRUE(engine.Advance());
  EXPECT_TRUE(refused.done);
  EXPECT_EQ(refused.status.code(), Code::kUnsupported);
  EXPECT_EQ(refused.status.message(),
            "all_reduce of 2 ranks: rank 0, step 0 'in0 -> ^^0 ^^1' needs a switch that copies or folds; such plans "
            "are for the checker "
            "and the simulator only, so choose another algorithm");
  EXPECT_TRUE(next.done);  // what comes after it is run
  EXPECT_TRUE(next.status.ok()) << next.status.message();
  EXPECT_EQ(out[3], std::byte{4});
}

}  // namespace
}  // namespace tutti::exec::cpu
