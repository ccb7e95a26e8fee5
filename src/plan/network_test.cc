// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/network.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/text.h"
#include "plan/timeline.h"

namespace tutti::plan {
namespace {

// Ranks 0 and 1 fold on rank 0, which exchanges that with rank 2 and hands the result back.
constexpr std::string_view kExchange = R"(
all_reduce rank 0 of 3 in 1 out 1 slots 2
  in0 + <1 -> out0 >2
  @1 out0 + <2 -> out0 >1
all_reduce rank 1 of 3 in 1 out 1 slots 2
  in0 -> >0
  @1 <0 -> out0
all_reduce rank 2 of 3 in 1 out 1 slots 2
  in0 -> >0
  @1 <0 + in0 -> out0
)";

std::vector<RankPlan> PlansOf(std::string_view text) {
  const Result<std::vector<RankPlan>> plans = Parse(text);
  EXPECT_TRUE(plans.ok()) << plans.status().message();
  return *plans;
}

TEST(NetworkTest, CountsWhatGoesBetweenHosts) {
  const std::array<std::int32_t, 3> hosts = {0, 0, 1};
  const NetworkCost expected = {.hops = 1,
                                .sent_max = 1,
                                .received_max = 1,
                                .host_sent_max = 1,
                                .host_received_max = 1,
                                .messages_max = 1,
                                .bursts_max = 1,
                                .peers_max = 1,
                                .links_max = 1};
  EXPECT_EQ(EvaluateNetwork(PlansOf(kExchange), hosts), expected);
}

TEST(NetworkTest, HostsOfOneRankEachSeeEveryMessage) {
  const std::array<std::int32_t, 3> hosts = {0, 1, 2};
  const NetworkCost expected = {.hops = 2,
                                .sent_max = 2,
                                .received_max = 2,
                                .host_sent_max = 2,
                                .host_received_max = 2,
                                .messages_max = 2,
                                .bursts_max = 2,
                                .peers_max = 2,
                                .links_max = 1};
  EXPECT_EQ(EvaluateNetwork(PlansOf(kExchange), hosts), expected);
}

// Halves count as such, and two senders to one host are two links.
TEST(NetworkTest, CountsShares) {
  constexpr std::string_view kHalves = R"(
gather rank 0 of 3 root 0 in 2 out 6 slots 2
  in0 -> out0
  in1 -> out1
  <1 -> out2
  <1 -> out3
  <2 -> out4
  <2 -> out5
gather rank 1 of 3 root 0 in 2 out 0 slots 2
  in0 -> >0
  in1 -> >0
gather rank 2 of 3 root 0 in 2 out 0 slots 2
  in0 -> >0
  in1 -> >0
)";
  const std::array<std::int32_t, 3> hosts = {0, 1, 1};
  const NetworkCost expected = {.hops = 1,
                                .sent_max = 1,
                                .received_max = 2,
                                .host_sent_max = 2,
                                .host_received_max = 2,
                                .messages_max = 2,
                                .bursts_max = 2,
                                .peers_max = 2,
                                .links_max = 2};
  EXPECT_EQ(EvaluateNetwork(PlansOf(kHalves), hosts), expected);
}

TEST(NetworkTest, TimelineTakesNoTimeInsideAHost) {
  const std::vector<RankPlan> plans = PlansOf(kExchange);
  EXPECT_EQ(MakeTimeline(plans).hops, 2);
  const std::array<std::int32_t, 3> one = {0, 0, 0}, two = {0, 0, 1};
  EXPECT_EQ(MakeTimeline(plans, one).hops, 0);
  EXPECT_EQ(MakeTimeline(plans, two).hops, 1);
}

}  // namespace
}  // namespace tutti::plan
