// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace tutti::plan {
namespace {

TEST(TextTest, PrintsAsInTheHeader) {
  RankPlan plan(Collective::kReduce, 1, 4);
  plan.in_blocks = 2;
  plan.out_blocks = 0;
  plan.link_slots = 3;
  plan.Add({In(0)}, {2, 3}, kNoBlock);
  plan.Add({Recv(2)}, {}, 1);
  plan.Add({Recv(0), In(0), Recv(2)}, {3}, 0, 5);
  plan.Add({Out(1)}, {}, kNoBlock);
  EXPECT_EQ(Print(plan),
            "reduce rank 1 of 4 root 0 in 2 out 0 slots 3\n"
            "  in0 -> >2 >3\n"
            "  <2 -> out1\n"
            "  @5 <0 + in0 + <2 -> out0 >3\n"
            "  out1 ->\n");
}

TEST(TextTest, PrintsWhatGoesThroughSwitches) {
  RankPlan plan(Collective::kAllReduce, 1, 3);
  plan.in_blocks = plan.out_blocks = 3;
  const std::vector<std::int32_t> others = {2, 0}, all = {2, 0, 1};
  plan.Add(std::vector{In(0)}, all, kNoBlock, 0, Sending::kOffer);
  plan.Add(std::vector{In(1)}, all, kNoBlock, 0, Sending::kOfferOnce);
  plan.Add(std::vector{Offered(0), Recv(2), Offered(1)}, others, 1, 1, Sending::kMulticastBack);
  plan.Add(std::vector{Out(1)}, others, 2, 2, Sending::kMulticast);
  plan.Add(std::vector{In(2)}, {}, 2, 0, Sending::kMulticastBack);
  const std::string text =
      "all_reduce rank 1 of 3 in 3 out 3 slots 1\n"
      "  in0 -> ^2 ^0 ^1\n"
      "  in1 -> ^^2 ^^0 ^^1\n"
      "  @1 ^0 + <2 + ^1 -> >>out1 >>2 >>0\n"
      "  @2 out1 -> out2 >>2 >>0\n"
      "  in2 -> >>out2\n";
  EXPECT_EQ(Print(plan), text);
  const auto parsed = Parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->front(), plan);
}

// What goes nowhere, or comes back to be thrown away, is the plain step that it is.
TEST(TextTest, StepsAreWhatTheyDo) {
  RankPlan plan(Collective::kBroadcast, 0, 2);
  for (const Sending sending : {Sending::kMulticast, Sending::kOffer, Sending::kOfferOnce})
    plan.Add({In(0)}, {}, 0, 0, sending);
  plan.Add({In(0)}, {1}, kNoBlock, 0, Sending::kMulticastBack);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(plan.step(i).sending, Sending::kEach);
  EXPECT_EQ(plan.step(3).sending, Sending::kMulticast);
}

TEST(TextTest, PrintsSizes) {
  RankPlan plan(Collective::kSendRecv, 0, 2);
  plan.in_blocks = 2;
  plan.out_blocks = 0;
  plan.in_sizes = {5, 1u << 31};
  EXPECT_EQ(Print(plan), "send_recv rank 0 of 2 in 2 out 0 slots 1\n  in_sizes 5 2147483648\n");
}

RankPlan RandomPlan(std::mt19937* random) {
  auto below = [&](int n) { return static_cast<int>((*random)() % static_cast<unsigned>(n)); };
  RankPlan plan(static_cast<Collective>(below(kCollectives)), below(100), below(100));
  plan.root = below(3);
  plan.in_blocks = below(10);
  plan.out_blocks = below(10);
  plan.link_slots = below(20);
  for (int i = below(3); i > 0; --i) plan.in_sizes.push_back((*random)());
  for (int i = below(3); i > 0; --i) plan.out_sizes.push_back((*random)());
  for (int steps = below(20); steps > 0; --steps) {
    std::vector<Operand> operands;
    for (int i = 1 + below(4); i > 0; --i) {
      operands.push_back({static_cast<Operand::Kind>(below(4)), below(100)});
    }
    std::vector<std::int32_t> to;
    for (int i = below(4); i > 0; --i) to.push_back(below(100));
    const int out = below(5) - 1, stage = below(3);
    plan.Add(operands, to, out, stage, static_cast<Sending>(below(5)));
  }
  return plan;
}

TEST(TextTest, RoundTripIsExact) {
  std::mt19937 random(20260101);
  for (int i = 0; i < 500; ++i) {
    std::vector<RankPlan> plans;
    for (int k = 0; k < i % 4; ++k) plans.push_back(RandomPlan(&random));
    const std::string text = Print(plans);
    const auto parsed = Parse(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message() << "\n" << text;
    EXPECT_EQ(*parsed, plans) << text;
  }
}

TEST(TextTest, IgnoresSpaceAndComments) {
  const auto plans =
      Parse("# a plan\n\n  all_reduce   rank 0 of 1 in 1 out 1 slots 1  # header\r\n\tin0   ->\tout0 # a copy\n#end");
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  EXPECT_EQ(Print(*plans), "all_reduce rank 0 of 1 in 1 out 1 slots 1\n  in0 -> out0\n");
}

struct Bad {
  const char* text;
  const char* error;
};

TEST(TextTest, ErrorsNameTheLine) {
  constexpr const char* kHeader = "\nall_reduce rank 0 of 4 in 1 out 1 slots 1\n";
  const Bad bad[] = {
      {"in0 -> out0", "line 3"},
      {"in0 out0", "line 3 of the plan: expected '+' or '->' after an operand, found 'out0'"},
      {"in0 + -> out0",
       "line 3 of the plan: expected an operand: in and out with a block's number, or < and ^ with a rank, "
       "found '->'"},
      {"in0\nin0", "line 3 of the plan: expected '+' or '->'"},
      {"in0 -> out0\n\n<9x -> out0", "line 5"},
      {"in0 -> out0 out0", "line 3 of the plan: expected targets"},
      {"in0 -> >1 out0",
       "line 3 of the plan: expected targets: >, >>, ^ or ^^ with a rank, after at most one block such as out0, "
       "found 'out0'"},
      {"in0 -> >1 >>2", "line 3 of the plan: expected targets of one kind, found '>>2'"},
      {"in0 -> ^1 ^^2", "line 3 of the plan: expected targets of one kind, found '^^2'"},
      {"in0 -> >>out0 >1",
       "line 3 of the plan: expected targets of the multicast that comes back as >>out: >> with a rank"},
      {"in0 -> >>>1", "line 3 of the plan: expected targets"},
      {"^ -> out0", "line 3 of the plan: expected an operand"},
      {"in0 -> >-1", "line 3"},
      {"in-1 -> >1", "line 3"},
      {"in99999999999 -> >1", "line 3"},
      {"@ in0 -> >1", "line 3 of the plan: expected a stage such as '@1', found '@'"},
      {"in_sizes 1 x", "line 3 of the plan: expected a number of elements, found 'x'"},
      {"in_sizes 1\nin_sizes 1", "line 4 of the plan: the sizes were given before"},
      {"all_reduce rank 0 of 4 in 1 out 1", "line 3 of the plan: expected 'slots' and a number, found ''"},
      {"all_reduce rank 0 of 99999999 in 1 out 1 slots 1",
       "line 3 of the plan: 'of' wants a number up to 65536, found "
       "'99999999'"},
      {"all_reduce rank 0 of 4 in 1 out 1 slots 1 x", "line 3 of the plan: expected the end of the line"},
      {"all_fold rank 0 of 4 in 1 out 1 slots 1", "line 3 of the plan: expected an operand"},
  };
  for (const Bad& b : bad) {
    const auto plans = Parse(std::string(kHeader) + b.text);
    if (std::string_view(b.text) == "in0 -> out0") {
      EXPECT_TRUE(plans.ok());
      continue;
    }
    ASSERT_FALSE(plans.ok()) << b.text;
    EXPECT_NE(plans.status().message().find(b.error), std::string::npos) << plans.status().message();
  }
  EXPECT_EQ(Parse("in0 -> out0").status().message(),
            "line 1 of the plan: expected a header such as 'all_gather rank 0 of 4 in 1 out 4 slots 2', found 'in0'");
}

TEST(TextTest, EndlessWordsAreCut) {
  const auto plans = Parse(std::string(100000, 'x'));
  ASSERT_FALSE(plans.ok());
  EXPECT_LT(plans.status().message().size(), 300u);
}

}  // namespace
}  // namespace tutti::plan
