// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Groups of sends and receives: the plans that BuildSendRecv makes, through the checker.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "algo/algorithm.h"
#include "plan/check.h"
#include "plan/text.h"

namespace tutti::algo {
namespace {

// All transfers of a job; rank's lists in this order.
struct Message {
  int from, to;
  std::size_t count;
};

std::vector<plan::RankPlan> BuildGroup(int ranks, const std::vector<Message>& messages) {
  std::vector<plan::RankPlan> plans;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Transfer> sends, receives;
    for (const Message& m : messages) {
      if (m.from == rank) sends.push_back({m.to, m.count});
      if (m.to == rank) receives.push_back({m.from, m.count});
    }
    plans.push_back(BuildSendRecv(rank, ranks, sends, receives));
  }
  return plans;
}

TEST(SendRecvTest, Exchange) {
  const auto plans = BuildGroup(2, {{0, 1, 8}, {1, 0, 4}, {1, 1, 2}});
  EXPECT_EQ(plan::Print(plans[1]),
            "send_recv rank 1 of 2 in 2 out 2 slots 1\n"
            "  in_sizes 4 2\n"
            "  out_sizes 8 2\n"
            "  in0 -> >0\n"
            "  in1 -> out1\n"
            "  <0 -> out0\n");
  EXPECT_TRUE(plan::Check(plans).ok());
}

TEST(SendRecvTest, Nothing) { EXPECT_TRUE(plan::Check(BuildGroup(3, {})).ok()); }

TEST(SendRecvTest, ManyBetweenTwo) {
  std::vector<Message> messages;
  for (int i = 0; i < 20; ++i) messages.push_back({0, 1, static_cast<std::size_t>(i)});
  for (int i = 0; i < 3; ++i) messages.push_back({1, 0, 1000});
  const Status status = plan::Check(BuildGroup(2, messages));
  EXPECT_TRUE(status.ok()) << status.message();
}

// Any graph of transfers, sizes from nothing to a lot, so that blocks run out in different rounds.
TEST(SendRecvTest, RandomGroups) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const int ranks = 1 + static_cast<int>(random() % 12);
    std::vector<Message> messages;
    for (int i = static_cast<int>(random() % 80); i > 0; --i) {
      messages.push_back({static_cast<int>(random() % ranks), static_cast<int>(random() % ranks),
                          random() % 4 == 0 ? 0 : random() % 1000});
    }
    const Status status = plan::Check(BuildGroup(ranks, messages), {.rounds = 4});
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
  }
}

TEST(SendRecvTest, FullExchangeOfManyRanks) {
  std::vector<Message> messages;
  for (int from = 0; from < 48; ++from) {
    for (int to = 0; to < 48; ++to) messages.push_back({from, to, 10});
  }
  const Status status = plan::Check(BuildGroup(48, messages));
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace tutti::algo
