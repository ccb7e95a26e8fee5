// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What goes through switches: the checker, the figures, and who may run it.

#include "plan/switches.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "plan/check.h"
#include "plan/cost.h"
#include "plan/network.h"
#include "plan/plant_fault.h"
#include "plan/text.h"
#include "plan/timeline.h"

namespace tutti::plan {
namespace {

// Each rank reads the fold of its block and multicasts it.
constexpr std::string_view kAllReduce = R"(
all_reduce rank 0 of 3 in 3 out 3 slots 2
  @2 <1 -> out1
  @2 <2 -> out2
  @1 ^0 + ^1 + ^2 -> >>out0 >>1 >>2
  in0 -> ^0
  in1 -> ^1
  in2 -> ^2
all_reduce rank 1 of 3 in 3 out 3 slots 2
  @2 <0 -> out0
  @2 <2 -> out2
  @1 ^0 + ^1 + ^2 -> out1 >>0 >>2
  in0 -> ^0
  in1 -> ^1
  in2 -> ^2
all_reduce rank 2 of 3 in 3 out 3 slots 2
  @2 <0 -> out0
  @2 <1 -> out1
  @1 ^0 + in2 + ^1 -> out2 >>0 >>1
  in0 -> ^0
  in1 -> ^1
)";

// The switch folds once, for all.
constexpr std::string_view kOnce = R"(
all_reduce rank 0 of 3 in 1 out 1 slots 2
  in0 -> ^^0 ^^1 ^^2
  @1 ^0 + ^1 + ^2 -> out0
all_reduce rank 1 of 3 in 1 out 1 slots 2
  in0 -> ^^0 ^^1 ^^2
  @1 ^0 + ^1 + ^2 -> out0
all_reduce rank 2 of 3 in 1 out 1 slots 2
  in0 -> ^^0 ^^1 ^^2
  @1 ^0 + ^1 + ^2 -> out0
)";

constexpr std::string_view kBroadcast = R"(
broadcast rank 0 of 3 root 0 in 1 out 1 slots 1
  in0 -> >>out0 >>1 >>2
broadcast rank 1 of 3 root 0 in 0 out 1 slots 1
  @1 <0 -> out0
broadcast rank 2 of 3 root 0 in 0 out 1 slots 1
  @1 <0 -> out0
)";

std::vector<RankPlan> PlansOf(std::string_view text) {
  const Result<std::vector<RankPlan>> plans = Parse(text);
  EXPECT_TRUE(plans.ok()) << plans.status().message();
  return plans.ok() ? *plans : std::vector<RankPlan>();
}

// `text` with the first place where `from` stands behind `after` changed to `to`.
std::string Change(std::string_view text, std::string_view after, std::string_view from, std::string_view to) {
  std::string changed(text);
  const std::size_t at = changed.find(from, changed.find(after));
  EXPECT_NE(at, std::string::npos) << from;
  return changed.replace(at, from.size(), to);
}

void ExpectFault(std::string_view text, std::string_view what, const CheckOptions& options = {}) {
  const Status status = Check(PlansOf(text), options);
  ASSERT_FALSE(status.ok()) << "not reported: " << what;
  EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
}

TEST(Switches, WhatIsRightIsAccepted) {
  for (const std::string_view text : {kAllReduce, kOnce, kBroadcast}) {
    for (const int rounds : {1, 2, 5}) {
      const Status status = Check(PlansOf(text), {.rounds = rounds, .early = true});
      EXPECT_TRUE(status.ok()) << status.message();
    }
    std::vector<RankPlan> deeper = PlansOf(text);
    for (RankPlan& plan : deeper) plan.Deepen(6);
    EXPECT_TRUE(Check(deeper, {.rounds = 20}).ok());
  }
}

// The order is the switch's.
TEST(Switches, FoldsHaveNoOrder) {
  ExpectFault(kOnce, "leaves in0 of ranks 0 ^ 1 ^ 2 in out0, which is not one fold in rank order",
              {.rank_ordered = true});
  EXPECT_TRUE(Check(PlansOf(kBroadcast), {.rank_ordered = true}).ok());
  EXPECT_TRUE(FoldsInSwitches(PlansOf(kOnce)));
  EXPECT_FALSE(FoldsInSwitches(PlansOf(kBroadcast)));
  // A part that a switch has folded spoils the order of what a rank folds of it.
  ExpectFault(R"(
all_reduce rank 0 of 2 in 1 out 1 slots 2
  in0 -> ^0 ^1
  @1 ^0 + ^1 -> out0
all_reduce rank 1 of 2 in 1 out 1 slots 2
  in0 -> ^0 ^1
  @1 ^0 + ^1 -> out0
)",
              "of ranks 0 ^ 1", {.rank_ordered = true});
}

// --- Canaries ---

TEST(SwitchesCanary, AMissingMember) {
  const std::string unasked = Change(kAllReduce, "rank 1", "^0 + ^1 + ^2", "^0 + ^1");
  ExpectFault(Change(unasked, "rank 2", "  in1 -> ^1\n", ""),
              "leaves in1 of ranks 0 ^ 1 in out1, sent by rank 1's step 2; the contribution of rank 2 is missing");
  ExpectFault(unasked, "receives as a message what comes of rank 2's step 4");  // what was to be read comes next
  ExpectFault(Change(kOnce, "rank 1", "^0 + ^1 + ^2", "^0 + ^2"), "although they leave once for both");
  ExpectFault(Change(kAllReduce, "rank 1", "in2 -> ^2", "in1 -> ^2"), "folds different blocks");
}

TEST(SwitchesCanary, ADoubleContribution) {
  ExpectFault(Change(kAllReduce, "rank 2", "^0 + in2 + ^1", "^0 + in2 + in2 + ^1"),
              "folds the contribution of rank 2 to block 2 twice");
  ExpectFault(Change(kOnce, "rank 1", "in0 -> ^^0", "in0 + in0 -> ^^0"),
              "folds the contribution of rank 1 to block 0 twice");
  ExpectFault(Change(kAllReduce, "rank 1", "^0 + ^1 + ^2", "^0 + ^1 + ^1"), "reads what rank 1 offers twice");
}

TEST(SwitchesCanary, AnUnreadMulticast) {
  ExpectFault(Change(kBroadcast, "rank 2", "  @1 <0 -> out0\n", ""), "sends rank 2 a message that is never received");
  ExpectFault(Change(kAllReduce, "rank 1", "  @2 <2 -> out2\n", ""), "sends rank 1 a message that is never received");
}

TEST(SwitchesCanary, AnUnreadOffer) {
  ExpectFault(Change(kAllReduce, "rank 1", "^0 + ^1 + ^2", "^0 + in1 + ^2"),
              "sends rank 1 a message that is never received");
  ExpectFault(Change(kOnce, "rank 0", "  in0 -> ^^0 ^^1 ^^2\n", ""), "waits for ever for a message from rank 0");
}

TEST(SwitchesCanary, KindsThatDoNotMeet) {
  ExpectFault(Change(kAllReduce, "rank 0", "in1 -> ^1", "in1 -> >1"),
              "reads as an offer what comes of rank 0's step 4, which sends a message; write < in place of ^");
  ExpectFault(
      Change(kAllReduce, "rank 1", "^0 + ^1 + ^2", "<0 + ^1 + ^2"),
      "receives as a message what comes of rank 0's step 4, which offers it to a switch; write ^ in place of <");
  ExpectFault(Change(kOnce, "rank 1", "in0 -> ^^0 ^^1 ^^2", "in0 -> ^0 ^1 ^2"),
              "reads offers that leave once together with others; a switch folds those once, for all their readers");
}

TEST(SwitchesCanary, Shapes) {
  ExpectFault(Change(kBroadcast, "rank 0", ">>1 >>2", ">>0 >>2"), "sends to its own rank");
  ExpectFault(Change(kOnce, "rank 0", "^0 + ^1 + ^2", "^0 + ^1 + ^3"), "reads what is offered by rank 3 of 3 ranks");
  ExpectFault(Change(kOnce, "rank 0", "^^0 ^^1 ^^2", "^^0 ^^1 ^^1"), "sends to rank 1 twice");
  ExpectFault(
      "all_gather rank 0 of 2 in 1 out 2 slots 1\n in0 -> ^0 ^1\n ^0 + ^1 -> out0\n ^0 -> out1\n"
      "all_gather rank 1 of 2 in 1 out 2 slots 1\n in0 -> ^0 ^1\n ^0 + ^1 -> out0\n ^0 -> out1\n",
      "the collective only moves data");
}

TEST(SwitchesCanary, AReferenceThatIsReadTooLate) {
  constexpr std::string_view kOverwritten = R"(
all_reduce rank 0 of 2 in 1 out 1 slots 2
  in0 -> ^0 ^1
  @1 ^0 + ^1 -> out0
all_reduce rank 1 of 2 in 1 out 1 slots 2
  in0 -> ^0 ^1
  @1 ^0 + ^1 -> out0
)";
  EXPECT_TRUE(Check(PlansOf(kOverwritten)).ok());
  ExpectFault(kOverwritten, "may still read that place",
              {.placement = Placement::kInPlace, .in_place_by_reference = true});
}

TEST(Switches, PlantedFaultsAreReported) {
  int planted = 0;
  for (const std::string_view text : {kAllReduce, kOnce, kBroadcast}) {
    for (int kind = 0; kind < kFaultKinds; ++kind) {
      std::vector<RankPlan> plans = PlansOf(text);
      const auto what = PlantFault(static_cast<FaultKind>(kind), plans);
      if (!what) continue;
      ++planted;
      EXPECT_FALSE(Check(plans).ok()) << *what;
    }
  }
  EXPECT_GE(planted, 11);
}

// --- Figures ---

TEST(Switches, ValuesAreCountedOnceOnALink) {
  const Cost all_reduce = Evaluate(PlansOf(kAllReduce));
  EXPECT_EQ(all_reduce.hops, 2);
  EXPECT_DOUBLE_EQ(all_reduce.sent_max, 1 + 1.0 / 3);      // of ranks 0 and 1: all blocks offered, one multicast
  EXPECT_DOUBLE_EQ(all_reduce.received_max, 1.0 / 3 + 1);  // of rank 0, which also gets its own copy
  EXPECT_EQ(all_reduce.messages_max, 4);
  EXPECT_EQ(all_reduce.ends_max, 4 + 3);
  EXPECT_EQ(all_reduce.peers_max, 2);
  EXPECT_DOUBLE_EQ(all_reduce.folded_max, 2.0 / 3);  // rank 2 folds what the switch has made and its own
  EXPECT_FALSE(all_reduce.one_way);

  const Cost once = Evaluate(PlansOf(kOnce));
  EXPECT_DOUBLE_EQ(once.sent_max, 1);
  EXPECT_DOUBLE_EQ(once.received_max, 1);
  EXPECT_EQ(once.messages_max, 1);
  EXPECT_DOUBLE_EQ(once.folded_max, 0);

  const Cost broadcast = Evaluate(PlansOf(kBroadcast));
  EXPECT_DOUBLE_EQ(broadcast.sent_max, 1);
  EXPECT_DOUBLE_EQ(broadcast.received_max, 1);
  EXPECT_TRUE(broadcast.one_way);
  EXPECT_EQ(broadcast.hops, 1);
}

TEST(Switches, ValuesAreCountedOnceBetweenHosts) {
  const std::array<std::int32_t, 3> hosts = {0, 1, 2};
  const NetworkCost once = EvaluateNetwork(PlansOf(kOnce), hosts);
  EXPECT_DOUBLE_EQ(once.sent_max, 1);
  EXPECT_DOUBLE_EQ(once.received_max, 1);
  EXPECT_EQ(once.messages_max, 1);
  EXPECT_EQ(once.bursts_max, 1);
  EXPECT_EQ(once.links_max, 0);
  EXPECT_EQ(once.peers_max, 2);
  const NetworkCost broadcast = EvaluateNetwork(PlansOf(kBroadcast), hosts);
  EXPECT_DOUBLE_EQ(broadcast.host_sent_max, 1);
  EXPECT_DOUBLE_EQ(broadcast.host_received_max, 1);
  EXPECT_EQ(broadcast.hops, 1);
}

TEST(Switches, TheTimelineHasAMessageForEachEnd) {
  EXPECT_EQ(MakeTimeline(PlansOf(kBroadcast)).messages.size(), 2u);
  EXPECT_EQ(MakeTimeline(PlansOf(kOnce)).messages.size(), 9u);
  EXPECT_EQ(MakeTimeline(PlansOf(kAllReduce)).messages.size(), 8u + 6u);
}

TEST(Switches, WhatNeedsThemIsNotRunnable) {
  const std::vector<RankPlan> plans = PlansOf(kAllReduce);
  const Status status = CheckRunnable(plans[1]);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.message(),
            "all_reduce of 3 ranks: rank 1, step 2 '@1 ^0 + ^1 + ^2 -> out1 >>0 >>2' needs a switch that copies or "
            "folds; such plans "
            "are for the checker and the simulator only, so choose another algorithm");
  EXPECT_FALSE(CheckRunnable(PlansOf(kBroadcast)[0]).ok());
  EXPECT_TRUE(CheckRunnable(PlansOf(kBroadcast)[1]).ok());  // it only receives
  EXPECT_TRUE(UsesSwitches(PlansOf(kOnce)[0]));
  EXPECT_TRUE(CheckRunnable(PlansOf("all_reduce rank 0 of 1 in 1 out 1 slots 1\n in0 -> out0\n")[0]).ok());
}

}  // namespace
}  // namespace tutti::plan
