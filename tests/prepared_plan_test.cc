// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/prepared_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
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

// The steps of a plan that fold in place, with the operand that does.
std::vector<std::pair<plan::Step, int>> FoldsInPlace(const PreparedPlan& plan) {
  std::vector<std::pair<plan::Step, int>> folds;
  for (int i = 0; i < plan.plan.step_count(); ++i) {
    if (plan.folds_in_place[i] >= 0) folds.emplace_back(plan.plan.step(i), plan.folds_in_place[i]);
  }
  return folds;
}

TEST(PreparedPlan, WhatIsReceivedIsFoldedWhereTheSumWillBe) {
  for (const Collective collective : {Collective::kAllReduce, Collective::kReduce}) {
    for (const auto& plan : Prepare(algo::Algorithm::kTwoShot, collective, 2)) {
      const auto folds = FoldsInPlace(*plan);
      ASSERT_EQ(folds.size(), 1u);
      const auto& [step, operand] = folds[0];
      EXPECT_EQ(step.operands[operand], plan::Recv(1 - plan->plan.rank));
    }
  }
  // Of several the last one.
  for (const auto& plan : Prepare(algo::Algorithm::kOneShot, Collective::kReduceScatter, 4)) {
    const auto folds = FoldsInPlace(*plan);
    ASSERT_EQ(folds.size(), 1u);
    EXPECT_EQ(folds[0].second, plan->plan.rank == 3 ? 2 : 3);
  }
}

// What is received is written over a block of the output before the fold: nothing may lie there that anyone wants.
TEST(PreparedPlan, NothingIsFoldedWhereTheOutputIsUsedTwice) {
  int folds = 0;
  for (const algo::Entry& entry : algo::Registry()) {
    for (const Collective collective : {Collective::kAllReduce, Collective::kReduce, Collective::kReduceScatter}) {
      for (const int ranks : {2, 3, 4, 5, 8}) {
        if (!entry.supports(collective, algo::Hosts(ranks))) continue;
        SCOPED_TRACE(fmt::format("{} of {} ranks", entry.name, ranks));
        for (const auto& prepared : Prepare(entry.algorithm, collective, ranks)) {
          for (const auto& [step, operand] : FoldsInPlace(*prepared)) {
            ++folds;
            EXPECT_GE(step.operands.size(), 2u);
            EXPECT_EQ(step.operands[operand].kind, plan::Operand::Kind::kRecv);
            if (step.out == plan::kNoBlock) continue;
            int uses = 0;
            for (int i = 0; i < prepared->plan.step_count(); ++i) {
              const plan::Step other = prepared->plan.step(i);
              uses += (other.out == step.out ? 1 : 0) +
                      static_cast<int>(std::ranges::count(other.operands, plan::Out(step.out)));
            }
            EXPECT_EQ(uses, 1);
          }
        }
      }
    }
  }
  EXPECT_GT(folds, 100);
}

// That of time slots: by stage, and by the list within a stage.
TEST(PreparedPlan, ASingleRoundRunsEachStepOnceInTheOrderOfItsStages) {
  for (const algo::Entry& entry : algo::Registry()) {
    for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduce}) {
      if (!entry.supports(collective, algo::Hosts(5))) continue;
      SCOPED_TRACE(entry.name);
      for (const auto& prepared : Prepare(entry.algorithm, collective, 5)) {
        std::vector<int> in_slots;
        for (int slot = 0; slot <= prepared->max_stage; ++slot) {
          for (int i = 0; i < prepared->plan.step_count(); ++i) {
            if (prepared->plan.step(i).stage == slot) in_slots.push_back(i);
          }
        }
        EXPECT_EQ(prepared->by_stage, in_slots);
      }
    }
  }
}

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

// Whether rank `maker` alone gets to read this block of a rank's input, and nothing but what it sends is written to the same block of the
// output.
void ExpectForOneMaker(const plan::RankPlan& plan, int block, int maker) {
  int readers = 0, writers = 0;
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    if (std::ranges::count(step.operands, plan::In(block)) > 0) {
      EXPECT_EQ(step.operands.size(), 1u);
      ASSERT_EQ(step.to.size(), 1u);
      EXPECT_EQ(step.to[0], maker);
      ++readers;
    }
    if (step.out == block) {
      ASSERT_EQ(step.operands.size(), 1u);
      EXPECT_EQ(step.operands[0], plan::Recv(maker));
      ++writers;
    }
  }
  EXPECT_EQ(readers, 1);
  EXPECT_EQ(writers, 1);
}

// Looks at all values that ranks of these plans put into others' outputs. Returns how many there are.
int ExpectPutsAreSafe(const std::vector<std::unique_ptr<PreparedPlan>>& plans) {
  int values = 0;
  for (std::size_t maker = 0; maker < plans.size(); ++maker) {
    const PreparedPlan& own = *plans[maker];
    for (int i = 0; i < own.plan.step_count(); ++i) {
      if (!own.puts[i]) continue;
      const plan::Step step = own.plan.step(i);
      const int block = std::ranges::find_if(step.operands, &plan::Operand::local)->index;
      for (const int taker : step.to) {
        if (!plans[taker]->takes_values) continue;
        ++values;
        ExpectForOneMaker(plans[taker]->plan, block, static_cast<int>(maker));
      }
    }
  }
  return values;
}

// What a value is written over must not be wanted any more, whatever the plan.
TEST(PreparedPlan, ValuesArePutWhereNothingElseIsReadOrWritten) {
  int values = 0;
  for (const algo::Entry& entry : algo::Registry()) {
    for (const Collective collective : {Collective::kAllReduce, Collective::kReduce}) {
      for (const int ranks : {2, 3, 4, 5, 8}) {
        if (!entry.supports(collective, algo::Hosts(ranks))) continue;
        SCOPED_TRACE(fmt::format("{} of {} ranks", entry.name, ranks));
        values += ExpectPutsAreSafe(Prepare(entry.algorithm, collective, ranks));
      }
    }
  }
  EXPECT_GT(values, 50);
}

}  // namespace
}  // namespace tutti::exec::cpu
