// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.h"

#include <gtest/gtest.h>

#include <vector>

#include "plan/text.h"

namespace tutti::plan {
namespace {

Cost CostOf(std::string_view text) {
  const Result<std::vector<RankPlan>> plans = Parse(text);
  EXPECT_TRUE(plans.ok()) << plans.status().message();
  return Evaluate(*plans);
}

TEST(CostTest, RingReduceScatter) {
  const Cost expected = {.hops = 2,
                         .stages = 1,
                         .steps_max = 3,
                         .sent_max = 2,
                         .posted_max = 2,
                         .received_max = 2,
                         .moved_max = 4,
                         .posted_mean = 2,
                         .received_mean = 2,
                         .folded_mean = 4,
                         .folded_max = 4,
                         .stored_max = 1,
                         .peers_max = 2,
                         .messages_max = 2,
                         .ends_max = 4};
  EXPECT_EQ(CostOf(R"(
reduce_scatter rank 0 of 3 in 3 out 1 slots 2
  in2 -> >1
  <2 + in1 -> >1
  <2 + in0 -> out0
reduce_scatter rank 1 of 3 in 3 out 1 slots 2
  in0 -> >2
  <0 + in2 -> >2
  <0 + in1 -> out0
reduce_scatter rank 2 of 3 in 3 out 1 slots 2
  in1 -> >0
  <1 + in0 -> >0
  <1 + in2 -> out0
)"),
            expected);
}

TEST(CostTest, TreeBroadcast) {
  const Cost expected = {.hops = 2,
                         .stages = 3,
                         .steps_max = 2,
                         .sent_max = 2,
                         .posted_max = 1,
                         .received_max = 1,
                         .moved_max = 2,
                         .posted_mean = 0.5,
                         .received_mean = 0.75,
                         .folded_mean = 0,
                         .folded_max = 0,
                         .stored_max = 1,
                         .peers_max = 2,
                         .messages_max = 2,
                         .ends_max = 2,
                         .one_way = true};
  EXPECT_EQ(CostOf(R"(
broadcast rank 0 of 4 root 0 in 1 out 1 slots 1
  in0 -> >1 >3
  in0 -> out0
broadcast rank 1 of 4 root 0 in 0 out 1 slots 1
  @1 <0 -> out0 >2
broadcast rank 2 of 4 root 0 in 0 out 1 slots 1
  @2 <1 -> out0
broadcast rank 3 of 4 root 0 in 0 out 1 slots 1
  @1 <0 -> out0
)"),
            expected);
}

TEST(CostTest, OneShotAllReduce) {
  const Cost expected = {.hops = 1,
                         .stages = 2,
                         .steps_max = 2,
                         .sent_max = 2,
                         .posted_max = 1,
                         .received_max = 2,
                         .moved_max = 3,
                         .posted_mean = 1,
                         .received_mean = 2,
                         .folded_mean = 3,
                         .folded_max = 3,
                         .stored_max = 1,
                         .peers_max = 2,
                         .messages_max = 2,
                         .ends_max = 4};
  EXPECT_EQ(CostOf(R"(
all_reduce rank 0 of 3 in 1 out 1 slots 2
  @1 in0 + <1 + <2 -> out0
  in0 -> >1 >2
all_reduce rank 1 of 3 in 1 out 1 slots 2
  @1 <0 + in0 + <2 -> out0
  in0 -> >2 >0
all_reduce rank 2 of 3 in 1 out 1 slots 2
  @1 <0 + <1 + in0 -> out0
  in0 -> >0 >1
)"),
            expected);
}

// Blocks count as the share of a piece that they are.
TEST(CostTest, Halves) {
  const Cost cost = CostOf(R"(
all_gather rank 0 of 2 in 2 out 4 slots 2
  in0 -> out0 >1
  in1 -> out1
all_gather rank 1 of 2 in 2 out 4 slots 2
  <0 -> out0
)");
  EXPECT_EQ(cost.sent_max, 0.5);
  EXPECT_EQ(cost.stored_max, 1.0);
}

TEST(CostTest, GroupsCountElements) {
  const Cost cost = CostOf(R"(
send_recv rank 0 of 2 in 2 out 0 slots 1
  in_sizes 100 20
  in0 -> >1
  in1 -> >1
send_recv rank 1 of 2 in 0 out 2 slots 1
  out_sizes 100 20
  <0 -> out0
  <0 -> out1
)");
  EXPECT_EQ(cost.sent_max, 120);
  EXPECT_EQ(cost.received_max, 120);
  EXPECT_EQ(cost.hops, 1);
  EXPECT_EQ(cost.messages_max, 2);
}

}  // namespace
}  // namespace tutti::plan
