// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/check.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "plan/text.h"

namespace tutti::plan {
namespace {

// A one-shot all-gather of two ranks: right, and the ground for the faults below.
constexpr std::string_view kAllGather = R"(
all_gather rank 0 of 2 in 1 out 2 slots 1
  in0 -> >1
  in0 -> out0
  <1 -> out1
all_gather rank 1 of 2 in 1 out 2 slots 1
  in0 -> >0
  in0 -> out1
  <0 -> out0
)";

// Ring reduce-scatter of three ranks, partial sums in the order of the ring.
constexpr std::string_view kReduceScatter = R"(
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
)";

// One-shot all-reduce of three ranks in stages.
constexpr std::string_view kAllReduce = R"(
all_reduce rank 0 of 3 in 1 out 1 slots 2
  in0 -> >1 >2
  @1 in0 + <1 + <2 -> out0
all_reduce rank 1 of 3 in 1 out 1 slots 2
  in0 -> >2 >0
  @1 <0 + in0 + <2 -> out0
all_reduce rank 2 of 3 in 1 out 1 slots 2
  in0 -> >0 >1
  @1 <0 + <1 + in0 -> out0
)";

Status CheckText(std::string_view text, const CheckOptions& options = {}) {
  const Result<std::vector<RankPlan>> plans = Parse(text);
  EXPECT_TRUE(plans.ok()) << plans.status().message();
  return plans.ok() ? Check(*plans, options) : plans.status();
}

// `text` with the one place where `from` stands changed to `to`.
std::string Change(std::string_view text, std::string_view from, std::string_view to) {
  std::string changed(text);
  const std::size_t at = changed.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  EXPECT_EQ(changed.find(from, at + 1), std::string::npos) << from << " is there twice";
  return changed.replace(at, from.size(), to);
}

// The sentence of the error must hold `what`, and blame `rank`.
void ExpectFault(const Status& status, int rank, std::string_view what) {
  ASSERT_FALSE(status.ok()) << "not reported: " << what;
  EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
  EXPECT_EQ(status.peer(), rank) << status.message();
}

TEST(CheckTest, AcceptsWhatIsRight) {
  for (std::string_view text : {kAllGather, kReduceScatter, kAllReduce}) {
    for (int rounds : {1, 2, 3, 10}) EXPECT_TRUE(CheckText(text, {.rounds = rounds}).ok());
  }
  EXPECT_TRUE(CheckText(kAllReduce, {.rank_ordered = true}).ok());
  EXPECT_TRUE(CheckText(kReduceScatter, {.in_place_by_reference = true}).ok());
}

TEST(CheckTest, AcceptsOneRank) {
  EXPECT_TRUE(CheckText("all_reduce rank 0 of 1 in 1 out 1 slots 1\n in0 -> out0\n", {.rank_ordered = true}).ok());
  ExpectFault(CheckText("all_reduce rank 0 of 1 in 1 out 1 slots 1\n"), 0, "rank 0: its out0 is never stored");
}

TEST(CheckTest, AcceptsDeeperPlans) {
  for (std::string_view text : {kAllGather, kReduceScatter, kAllReduce}) {
    Result<std::vector<RankPlan>> plans = Parse(text);
    ASSERT_TRUE(plans.ok());
    const int slots = plans->front().link_slots;
    for (RankPlan& plan : *plans) plan.Deepen(3);
    EXPECT_EQ(plans->front().link_slots, 3 * slots);
    for (int rounds : {1, 2, 10}) EXPECT_TRUE(Check(*plans, {.rounds = rounds}).ok());
    EXPECT_EQ(text == kAllReduce, !Check(*plans, {.rounds = 10, .link_slots = slots}).ok());
  }
}

// --- Canaries: each plants one fault, which must be named. ---

TEST(CheckCanaryTest, DroppedSend) {
  ExpectFault(CheckText(Change(kAllGather, "in0 -> >0\n", "in0 ->\n")), 0,
              "rank 0, step 2 '<1 -> out1' of round 0 waits for ever for a message from rank 1, which has ended");
}

// Rank 0 sends its input to two ranks, and the first one sends it back, to where, in place, it lies.
TEST(CheckCanaryTest, PutUponWhatIsStillRead) {
  constexpr std::string_view kBack = R"(
all_gather rank 0 of 3 in 1 out 3 slots 2
  in0 -> >1
  in0 -> >2
  <1 -> out0
  <1 -> out1
  <2 -> out2
all_gather rank 1 of 3 in 1 out 3 slots 2
  <0 -> out0 >0
  in0 -> out1 >0 >2
  <2 -> out2
all_gather rank 2 of 3 in 1 out 3 slots 2
  <0 -> out0
  <1 -> out1
  in0 -> out2 >0 >1
)";
  EXPECT_TRUE(CheckText(kBack, {.rounds = 1}).ok());
  EXPECT_TRUE(CheckText(kBack, {.rounds = 1, .placement = Placement::kSeparate, .early = true}).ok());
  ExpectFault(
      CheckText(kBack, {.rounds = 1, .placement = Placement::kInPlace, .early = true}), 0,
      "rank 0, step 2 '<1 -> out0' may get its message into out0 while rank 0 may still read that place for step 1");
}

TEST(CheckCanaryTest, DroppedSendAmongMany) {
  ExpectFault(CheckText(Change(kAllReduce, "in0 -> >2 >0", "in0 -> >2")), 0,
              "rank 0, step 1 '@1 in0 + <1 + <2 -> out0' of round 0 waits for ever for a message from rank 1");
}

TEST(CheckCanaryTest, WrongBlockInMove) {
  ExpectFault(CheckText(Change(kAllGather, "<1 -> out1", "<1 -> out0")), 0,
              "rank 0, step 2 '<1 -> out0' leaves rank 1's");
}

TEST(CheckCanaryTest, WrongBlockInFold) {
  ExpectFault(CheckText(Change(kReduceScatter, "in1 -> >0", "in2 -> >0")), 0,
              "rank 0, step 1 '<2 + in1 -> >1' folds different blocks: rank 2's in2 (from rank 2) and rank 0's in1");
}

TEST(CheckCanaryTest, DoubleContribution) {
  ExpectFault(CheckText(Change(kAllReduce, "<0 + in0 + <2", "<0 + in0 + in0")), 1,
              "rank 1, step 1 '@1 <0 + in0 + in0 -> out0' folds the contribution of rank 1 to block 0 twice");
}

TEST(CheckCanaryTest, DoubleContributionIsBlamedOnItsMaker) {
  ExpectFault(CheckText(Change(kReduceScatter, "<0 + in2 -> >2", "<0 + in2 + in2 -> >2")), 1,
              "rank 1, step 1 '<0 + in2 + in2 -> >2' folds the contribution of rank 1 to block 2 twice");
}

TEST(CheckCanaryTest, MissingContribution) {
  ExpectFault(
      CheckText(Change(kReduceScatter, "<1 + in2 -> out0", "<1 -> out0")), 2,
      "rank 2, step 2 '<1 -> out0' leaves in2 of ranks 0 + 1 in out0, sent by rank 1's step 1; the contribution "
      "of rank 2 is missing");
}

TEST(CheckCanaryTest, SwappedOperands) {
  const std::string swapped = Change(kAllReduce, "<0 + in0 + <2", "<2 + in0 + <0");
  EXPECT_TRUE(CheckText(swapped).ok());
  ExpectFault(
      CheckText(swapped, {.rank_ordered = true}), 1,
      "rank 1, step 1 '@1 <2 + in0 + <0 -> out0' leaves in0 of ranks 2 + 1 + 0 in out0, which is not one fold in "
      "rank order");
}

TEST(CheckCanaryTest, NestedFoldIsNotOneFold) {
  ExpectFault(CheckText(kReduceScatter, {.rank_ordered = true}), 0, "in0 of ranks (1 + 2) + 0");
}

TEST(CheckCanaryTest, MissingReceive) {
  const std::string text = Change(kAllGather, "  <0 -> out0\n", "");
  ExpectFault(CheckText(text), 0,
              "rank 0, step 0 'in0 -> >1' of round 0 sends rank 1 a message that is never received");
}

TEST(CheckCanaryTest, TooFewSlots) {
  ExpectFault(CheckText(kReduceScatter, {.link_slots = 1}), 0,
              "rank 0, step 1 '<2 + in1 -> >1' of round 0 waits for ever for room on its link to rank 1 (1 of 1 slots");
  EXPECT_NE(CheckText(kReduceScatter, {.link_slots = 1}).message().find("a circle"), std::string::npos);
}

TEST(CheckCanaryTest, MoreMessagesAtOnceThanALinkHolds) {
  ExpectFault(CheckText("send_recv rank 0 of 2 in 2 out 0 slots 1\n in_sizes 4 4\n in0 -> >1\n in1 -> >1\n"
                        "send_recv rank 1 of 2 in 0 out 1 slots 1\n out_sizes 4\n <0 + <0 -> out0\n"),
              0, "waits for ever for room");
}

TEST(CheckCanaryTest, StageDifferenceNotConstant) {
  ExpectFault(
      CheckText("all_gather rank 0 of 2 in 2 out 4 slots 2\n in0 -> >1\n in1 -> >1\n in0 -> out0\n in1 -> out1\n"
                " <1 -> out2\n <1 -> out3\n"
                "all_gather rank 1 of 2 in 2 out 4 slots 2\n in0 -> >0\n in1 -> >0\n in0 -> out2\n in1 -> out3\n"
                " <0 -> out0\n @1 <0 -> out1\n"),
      1,
      "rank 1, step 5 '@1 <0 -> out1' is 1 stages behind rank 0's step 1, whose message it receives; earlier "
      "ones of this link were 0 behind");
}

TEST(CheckCanaryTest, StageDifferenceNegative) {
  ExpectFault(CheckText(Change(kAllGather, "in0 -> >0", "@1 in0 -> >0")), 0,
              "rank 0, step 2 '<1 -> out1' is -1 stages behind rank 1's step 0");
}

TEST(CheckCanaryTest, ReferenceToWhatIsOverwritten) {
  EXPECT_TRUE(CheckText(kAllReduce, {.placement = Placement::kInPlace}).ok());
  EXPECT_TRUE(CheckText(kAllReduce, {.placement = Placement::kSeparate, .in_place_by_reference = true}).ok());
  const Status status = CheckText(kAllReduce, {.placement = Placement::kInPlace, .in_place_by_reference = true});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("stores to out0 while rank"), std::string::npos) << status.message();
}

// The reader has read, in this run, before the owner stores; but only by luck.
TEST(CheckCanaryTest, ReferenceReadByLuck) {
  const char* text = R"(
broadcast rank 0 of 2 root 0 in 1 out 1 slots 1
  in0 -> >1
  in0 -> out0
broadcast rank 1 of 2 root 0 in 0 out 1 slots 1
  <0 -> out0
)";
  EXPECT_TRUE(CheckText(text, {.in_place_by_reference = true}).ok());
  const char* overwrites = R"(
all_to_all rank 0 of 2 in 2 out 2 slots 1
  in1 -> >1
  in0 -> out0
  <1 -> out1
all_to_all rank 1 of 2 in 2 out 2 slots 1
  in0 -> >0
  in1 -> out1
  <0 -> out0
)";
  EXPECT_TRUE(CheckText(overwrites).ok());
  ExpectFault(CheckText(overwrites, {.in_place_by_reference = true}), 1,
              "rank 1, step 2 '<0 -> out0' stores to out0 while rank 0 may still read that place by the reference that "
              "step 0 sent");
}

TEST(CheckCanaryTest, InputOverwrittenInPlace) {
  const char* text = R"(
all_to_all rank 0 of 2 in 2 out 2 slots 1
  in0 -> out0
  <1 -> out1
  in1 -> >1
all_to_all rank 1 of 2 in 2 out 2 slots 1
  in0 -> >0
  in1 -> out1
  <0 -> out0
)";
  EXPECT_TRUE(CheckText(text, {.placement = Placement::kSeparate}).ok());
  ExpectFault(CheckText(text), 0,
              "rank 0, step 2 'in1 -> >1' reads in1, where, in place, step 1 has stored its output");
}

TEST(CheckCanaryTest, BarrierThatDoesNotHold) {
  constexpr std::string_view kBarrier = R"(
barrier rank 0 of 3 in 1 out 1 slots 1
  in0 -> >1
  <2 -> >2
  <1 -> out0
barrier rank 1 of 3 in 1 out 1 slots 1
  in0 -> >2
  <0 -> >0
  <2 -> out0
barrier rank 2 of 3 in 1 out 1 slots 1
  in0 -> >0
  <1 -> >1
  <0 -> out0
)";
  EXPECT_TRUE(CheckText(kBarrier).ok());
  ExpectFault(CheckText("barrier rank 0 of 3 in 1 out 1 slots 1\n in0 -> >1\n <2 -> out0\n"
                        "barrier rank 1 of 3 in 1 out 1 slots 1\n in0 -> >2\n <0 -> out0\n"
                        "barrier rank 2 of 3 in 1 out 1 slots 1\n in0 -> >0\n <1 -> out0\n"),
              0, "rank 0: it may end before rank 1 has begun");
}

TEST(CheckCanaryTest, Shapes) {
  ExpectFault(CheckText(Change(kAllGather, "in0 -> >0", "in1 -> >0")), 1, "reads block 1 of an input of 1 blocks");
  ExpectFault(CheckText(Change(kAllGather, "<1 -> out1", "<1 -> out2")), 0,
              "stores to block 2 of an output of 2 blocks");
  ExpectFault(CheckText(Change(kAllGather, "in0 -> >0", "in0 -> >1")), 1, "step 0 'in0 -> >1' sends to its own rank");
  ExpectFault(CheckText(Change(kAllGather, "in0 -> >0", "in0 -> >0 >0")), 1, "sends to rank 0 twice");
  ExpectFault(CheckText(Change(kAllGather, "in0 -> >0", "in0 -> >2")), 1, "sends to rank 2 of 2 ranks");
  ExpectFault(CheckText(Change(kAllGather, "<0 -> out0", "<1 -> out0")), 1, "receives from its own rank");
  ExpectFault(CheckText(Change(kAllGather, "<0 -> out0", "<5 -> out0")), 1, "receives from rank 5 of 2 ranks");
  ExpectFault(CheckText(Change(kAllGather, "rank 1 of 2 in 1 out 2 slots 1", "rank 1 of 2 in 1 out 2 slots 2")), 1,
              "it has 2 link slots, rank 0 1");
  ExpectFault(CheckText(Change(kAllGather, "rank 1 of 2 in 1 out 2", "rank 1 of 2 in 2 out 2")), 1,
              "a piece of its input has 2 blocks");
  ExpectFault(CheckText(Change(kAllGather, "in0 -> out1", "in0 + in0 -> out1")), 1, "the collective only moves data");
  ExpectFault(CheckText(Change(kAllGather, "in0 -> out1", "out1 -> out1")), 1, "reads out1 before anything was stored");
  ExpectFault(CheckText("broadcast rank 0 of 2 root 0 in 1 out 1 slots 1\n in0 -> out0 >1\n"
                        "broadcast rank 1 of 2 root 0 in 1 out 1 slots 1\n <0 -> out0\n"),
              1, "it has 1 input blocks, but no such buffer");
  ExpectFault(CheckText("broadcast rank 0 of 2 root 0 in 2 out 2 slots 1\n in0 -> out1 >1\n in1 -> out1 >1\n"
                        "broadcast rank 1 of 2 root 0 in 0 out 2 slots 1\n <0 -> out0\n <0 -> out1\n"),
              0, "has blocks of different sizes");
  ExpectFault(CheckText("broadcast rank 0 of 2 root 0 in 2 out 2 slots 1\n in0 -> out0 >1\n in1 -> out1 >1\n"
                        "broadcast rank 1 of 2 root 0 in 0 out 2 slots 1\n <0 -> out0\n <0 ->\n"),
              1, "passes on a block without naming one");
  EXPECT_EQ(CheckText("").code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckText("barrier rank 1 of 2 in 1 out 1 slots 1\n").code(), Code::kInvalidArgument);
}

TEST(CheckCanaryTest, GroupedSendReceive) {
  constexpr std::string_view kGroup = R"(
send_recv rank 0 of 2 in 3 out 1 slots 1
  in_sizes 100 7 100
  out_sizes 7
  in0 -> >1
  in1 -> out0
  in2 -> >1
send_recv rank 1 of 2 in 0 out 2 slots 1
  out_sizes 100 100
  <0 -> out0
  <0 -> out1
)";
  EXPECT_TRUE(CheckText(kGroup).ok());
  ExpectFault(CheckText(Change(kGroup, "out_sizes 100 100", "out_sizes 100 99")), 1,
              "leaves rank 0's in2, of 100 elements, in out1, of 99");
  ExpectFault(CheckText(Change(Change(kGroup, "<0 -> out0", "<0 -> outX"), "<0 -> outX\n  <0 -> out1",
                               "<0 -> out1\n  <0 -> out0")),
              1, "leaves rank 0's in0 in out1, but an earlier block holds in2 of that rank");
  ExpectFault(CheckText(Change(kGroup, "in2 -> >1", "in0 -> >1")), 1, "but an earlier block holds in0 of that rank");
}

// Ranks 0 and 1 fold on rank 0, which folds that with rank 2's input.
constexpr std::string_view kByHosts = R"(
reduce rank 0 of 3 root 0 in 1 out 1 slots 1
  in0 + <1 -> out0
  out0 + <2 -> out0
reduce rank 1 of 3 root 0 in 1 out 0 slots 1
  in0 -> >0
reduce rank 2 of 3 root 0 in 1 out 0 slots 1
  in0 -> >0
)";

TEST(CheckTest, OrderOfHosts) {
  const std::vector<RankPlan> plans = *Parse(kByHosts);
  const auto check = [&](std::vector<std::int32_t> host_of) {
    return Check(plans, {.rank_ordered = true, .host_of = host_of});
  };
  EXPECT_TRUE(check({0, 0, 1}).ok());
  for (const std::vector<std::int32_t>& host_of :
       {std::vector<std::int32_t>{0, 1, 1}, {0, 1, 0}, {1, 1, 0}, {0, 1, 2}}) {
    ExpectFault(check(host_of), 0, "which is not one fold in rank order, inside hosts and then of hosts");
  }
  ExpectFault(check({}), 0, "which is not one fold in rank order");
  EXPECT_FALSE(check({0, 0, 0}).ok());
}

// Executors refer to what a step stores, too, and so its sender must not store there again before it has been read.
TEST(CheckTest, WhatIsStoredMayBeReferredTo) {
  constexpr std::string_view kPartialSumSent = R"(
all_reduce rank 0 of 3 in 1 out 1 slots 1
  in0 + <1 -> out0 >2
  out0 + <2 -> out0 >1
all_reduce rank 1 of 3 in 1 out 1 slots 1
  in0 -> >0
  <0 -> out0
all_reduce rank 2 of 3 in 1 out 1 slots 1
  in0 -> >0
  <0 + in0 -> out0
)";
  const std::vector<RankPlan> plans = *Parse(kPartialSumSent);
  EXPECT_TRUE(Check(plans).ok());
  for (const Placement placement : {Placement::kSeparate, Placement::kInPlace}) {
    ExpectFault(Check(plans, {.placement = placement, .in_place_by_reference = true}), 0,
                "stores to out0 while rank 2 may still read that place by the reference that step 0 sent");
  }
}

TEST(CheckTest, HostsMustBeOfAllRanks) {
  const std::vector<RankPlan> plans = *Parse(kByHosts);
  for (const std::vector<std::int32_t>& host_of :
       {std::vector<std::int32_t>{0, 0}, {0, 0, 1, 1}, {0, -1, 0}, {0, 0, 3}}) {
    const Status status = Check(plans, {.host_of = host_of});
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find("the host of each of the 3 ranks"), std::string::npos) << status.message();
  }
}

TEST(CheckTest, MoreMessagesThanALinkHoldsNameTheStep) {
  ExpectFault(CheckText("all_reduce rank 0 of 2 in 1 out 1 slots 1\n in0 -> >1\n in0 -> >1\n in0 + <1 -> out0\n"
                        "all_reduce rank 1 of 2 in 1 out 1 slots 1\n in0 -> >0\n <0 + <0 + in0 -> out0\n"),
              0, "rank 0, step 1 'in0 -> >1' of round 0 waits for ever for room on its link to rank 1");
}

}  // namespace
}  // namespace tutti::plan
