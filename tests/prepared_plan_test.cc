// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/prepared_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "algo/algorithm.h"

namespace tutti::exec::cpu {
namespace {

std::vector<std::unique_ptr<PreparedPlan>> Prepare(algo::Algorithm algorithm, Collective collective, int ranks,
                                                   int root = 0) {
  std::vector<std::unique_ptr<PreparedPlan>> all;
  for (plan::RankPlan& plan : algo::BuildAll(algorithm, collective, algo::Hosts(ranks), root))
    all.push_back(PreparePlan(std::move(plan), "plan"));
  return all;
}

int PutsOf(const PreparedPlan& plan) { return static_cast<int>(std::ranges::count(plan.puts, true)); }

TEST(PreparedPlan, EveryRankOfATwoShotPutsItsPartIntoAllOutputs) {
  for (const int ranks : {2, 3, 8}) {
    for (const auto& plan : Prepare(algo::Algorithm::kTwoShot, Collective::kAllReduce, ranks)) {
      EXPECT_TRUE(plan->takes_values);
      EXPECT_EQ(PutsOf(*plan), 1);
    }
  }
}

TEST(PreparedPlan, AllButTheRootPutTheirPartsIntoItsOutput) {
  const auto plans = Prepare(algo::Algorithm::kTwoShot, Collective::kReduce, 4, 2);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(plans[rank]->takes_values, rank == 2) << rank;
    EXPECT_EQ(PutsOf(*plans[rank]), rank == 2 ? 0 : 1) << rank;
  }
}

// Its peers have nothing else to do.
TEST(PreparedPlan, TheRootOfATreeLeavesItToOthersToFetchTheSum) {
  for (const auto& plan : Prepare(algo::Algorithm::kTree, Collective::kAllReduce, 2)) EXPECT_EQ(PutsOf(*plan), 0);
}

// What a value is written over must not be wanted any more, whatever the plan: so its maker is the only rank that this part of the
// input is sent to, and nothing else is written there.
TEST(PreparedPlan, ValuesArePutWhereNothingElseIsReadOrWritten) {
  int values = 0;
  for (const algo::Entry& entry : algo::Registry()) {
    for (const Collective collective : {Collective::kAllReduce, Collective::kReduce}) {
      for (const int ranks : {2, 3, 4, 5, 8}) {
        if (!entry.supports(collective, algo::Hosts(ranks))) continue;
        const auto plans = Prepare(entry.algorithm, collective, ranks);
        for (int maker = 0; maker < ranks; ++maker) {
          for (int i = 0; i < plans[maker]->plan.step_count(); ++i) {
            if (!plans[maker]->puts[i]) continue;
            const plan::Step step = plans[maker]->plan.step(i);
            const int block = std::ranges::find_if(step.operands, &plan::Operand::local)->index;
            for (const int taker : step.to) {
              if (!plans[taker]->takes_values) continue;
              ++values;
              int readers = 0, writers = 0;
              const plan::RankPlan& its = plans[taker]->plan;
              for (int s = 0; s < its.step_count(); ++s) {
                const plan::Step other = its.step(s);
                const bool reads = std::ranges::count(other.operands, plan::In(block)) > 0;
                if (reads) {
                  EXPECT_EQ(other.operands.size(), 1u) << entry.name;
                  ASSERT_EQ(other.to.size(), 1u) << entry.name;
                  EXPECT_EQ(other.to[0], maker) << entry.name;
                  ++readers;
                }
                if (other.out == block) {
                  ASSERT_EQ(other.operands.size(), 1u) << entry.name;
                  EXPECT_EQ(other.operands[0], plan::Recv(maker)) << entry.name;
                  ++writers;
                }
              }
              EXPECT_EQ(readers, 1) << fmt::format("{} of {} ranks", entry.name, ranks);
              EXPECT_EQ(writers, 1) << fmt::format("{} of {} ranks", entry.name, ranks);
            }
          }
        }
      }
    }
  }
  EXPECT_GT(values, 50);
}

}  // namespace
}  // namespace tutti::exec::cpu
