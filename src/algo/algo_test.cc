// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Every algorithm, every collective it supports, every root worth it, 1 to 64 ranks, through the checker.

#include "algo/algorithm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "plan/check.h"
#include "plan/cost.h"
#include "plan/plant_fault.h"
#include "plan/seats.h"

namespace tutti::algo {
namespace {

using plan::Check;
using plan::RankPlan;

constexpr int kMostRanks = 64;

std::vector<int> Roots(Collective collective, int ranks) {
  if (!HasRoot(collective)) return {0};
  std::vector<int> roots;
  if (ranks <= 9) {
    for (int root = 0; root < ranks; ++root) roots.push_back(root);
    return roots;
  }
  return {0, 1, ranks / 2, ranks - 1};
}

// What holds of plans holds of deeper ones, and nothing is put early upon what is still read.
Status CheckDeeper(const Entry& entry, Collective collective, int ranks, int root) {
  std::vector<RankPlan> plans = BuildAll(entry.algorithm, collective, ranks, root);
  for (const int times : {1, 6}) {
    for (RankPlan& plan : plans) plan.Deepen(times);
    TUTTI_RETURN_IF_ERROR(Check(plans, {.rounds = plan::Evaluate(plans).stages + 2,
                                        .rank_ordered = entry.rank_ordered(collective, ranks),
                                        .in_place_by_reference = entry.in_place_by_reference(collective, ranks),
                                        .early = true}));
  }
  return Status::Ok();
}

// Whether both claims of an entry about (collective, ranks) hold, or what is wrong with the plan.
Status CheckClaims(const Entry& entry, Collective collective, int ranks, int root, int channel) {
  return Check(BuildAll(entry.algorithm, collective, ranks, root, channel),
               {.rank_ordered = entry.rank_ordered(collective, ranks),
                .in_place_by_reference = entry.in_place_by_reference(collective, ranks)});
}

struct Case {
  Algorithm algorithm;
  Collective collective;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Entry& entry : Registry()) {
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (entry.supports(collective, 2)) cases.push_back({entry.algorithm, collective});
    }
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return std::string(Get(info.param.algorithm).name) + "_" + std::string(Name(info.param.collective));
}

std::set<std::int32_t> PeersOf(const RankPlan& plan) {
  std::set<std::int32_t> peers;
  for (int s = 0; s < plan.step_count(); ++s) {
    const plan::Step step = plan.step(s);
    peers.insert(step.to.begin(), step.to.end());
    for (const plan::Operand& operand : step.operands) {
      if (operand.kind == plan::Operand::Kind::kRecv) peers.insert(operand.index);
    }
  }
  return peers;
}

void ExpectFixedLinks(const Entry& entry, Collective collective) {
  for (const int ranks : {2, 3, 4, 7, 16, 17, 20, 31, 32, 33, 63, 64, 71, 72}) {
    const std::vector<RankPlan> links = BuildAllOverFixedLinks(entry.algorithm, Collective::kAllReduce, ranks);
    std::vector<int> roots = Roots(collective, ranks);
    if (HasRoot(collective)) roots.push_back(ranks / 3);
    for (const int root : roots) {
      const std::vector<RankPlan> plans = BuildAllOverFixedLinks(entry.algorithm, collective, ranks, root);
      const Status status = Check(plans, {.in_place_by_reference = entry.in_place_by_reference(collective, ranks)});
      ASSERT_TRUE(status.ok()) << entry.name << " of " << ranks << ", root " << root << ": " << status.message();
      for (int rank = 0; rank < ranks; ++rank) {
        const std::set<std::int32_t> all = PeersOf(links[rank]), own = PeersOf(plans[rank]);
        EXPECT_LE(std::ssize(all), kMostFixedPeers);
        EXPECT_TRUE(std::ranges::includes(all, own)) << entry.name << " of " << ranks << ", rank " << rank;
      }
    }
  }
}

class AlgorithmTest : public testing::TestWithParam<Case> {
 protected:
  const Entry& entry() const { return Get(GetParam().algorithm); }
  Collective collective() const { return GetParam().collective; }
};

TEST_P(AlgorithmTest, IsCorrectDeeperAndEarly) {
  for (const int ranks : {2, 3, 4, 5, 7, 8, 16}) {
    for (const int root : Roots(collective(), ranks)) {
      const Status status = CheckDeeper(entry(), collective(), ranks, root);
      ASSERT_TRUE(status.ok()) << entry().name << ": " << status.message();
    }
  }
}

TEST_P(AlgorithmTest, IsCorrectForAllRanksAndRoots) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    ASSERT_TRUE(entry().supports(collective(), ranks));
    for (int root : Roots(collective(), ranks)) {
      for (int channel : {0, 1}) {
        const Status status = CheckClaims(entry(), collective(), ranks, root, channel);
        ASSERT_TRUE(status.ok()) << entry().name << ", channel " << channel << ": " << status.message();
      }
    }
  }
}

// What executors that know few peers go by: the same links whatever the collective and the root.
TEST(FixedLinks, AreThoseOfTheAllReduce) {
  int collectives = 0;
  for (const Entry& entry : Registry()) {
    for (int c = 0; c < kCollectives; ++c) {
      if (!entry.few_links(static_cast<Collective>(c))) continue;
      ++collectives;
      ExpectFixedLinks(entry, static_cast<Collective>(c));
    }
  }
  EXPECT_EQ(collectives, 12);  // of ring, tree and double_tree
}

// Whoever meets somebody tells all whom it meets, and itself, apart by their seats.
TEST(FixedLinks, TakeFewSeats) {
  constexpr int kSeats[] = {5, 4, 8};  // by FixedLinks; kLinkSeats in transport/p2p/sections.h counts on it
  for (const Entry& entry : Registry()) {
    if (!entry.few_links(Collective::kAllReduce)) continue;
    for (int ranks = 2; ranks <= 128; ++ranks) {
      const std::vector<RankPlan> plans = BuildAllOverFixedLinks(entry.algorithm, Collective::kAllReduce, ranks);
      const std::vector<int> seats = plan::SeatRanks(plans);
      for (int rank = 0; rank < ranks; ++rank) {
        const std::set<std::int32_t> peers = PeersOf(plans[rank]);
        std::set<int> met = {seats[rank]};
        for (const std::int32_t peer : peers) met.insert(seats[peer]);
        ASSERT_EQ(met.size(), peers.size() + 1) << entry.name << " of " << ranks << ", rank " << rank;
        ASSERT_LT(*met.rbegin(), kSeats[static_cast<int>(entry.fixed_links)]) << entry.name << " of " << ranks;
        ASSERT_GE(*met.begin(), 0);
      }
    }
  }
}

TEST(Registry, LongReducesOfSeveralHostsHaveOneOrder) {
  const auto count = [](Collective c, std::initializer_list<int> hosts) {
    return std::ranges::count_if(Registry(), [&](const Entry& entry) {
      return entry.orders_long != nullptr && entry.orders_long(c, Hosts::OfSizes(hosts));
    });
  };
  EXPECT_EQ(count(Collective::kReduce, {2, 2, 3}), 1);
  EXPECT_EQ(count(Collective::kReduce, {2, 2}), 0);
  EXPECT_EQ(count(Collective::kReduce, {1, 1, 1}), 0);
  EXPECT_EQ(count(Collective::kAllReduce, {2, 2, 3}), 0);
}

// A claim that could be made everywhere should be made.
TEST_P(AlgorithmTest, ClaimsNoLessThanHolds) {
  bool ordered = true, by_reference = true, ordered_holds = true, by_reference_holds = true;
  for (int ranks = 1; ranks <= 8; ++ranks) {
    ordered = ordered && entry().rank_ordered(collective(), ranks);
    by_reference = by_reference && entry().in_place_by_reference(collective(), ranks);
    const std::vector<RankPlan> plans = BuildAll(entry().algorithm, collective(), ranks);
    ordered_holds = ordered_holds && Check(plans, {.rank_ordered = true}).ok();
    by_reference_holds = by_reference_holds && Check(plans, {.in_place_by_reference = true}).ok();
  }
  EXPECT_EQ(ordered, ordered_holds);
  EXPECT_EQ(by_reference, by_reference_holds);
}

// Whether plans and deeper ones run to their end with so many slots.
bool RunWith(int slots, std::vector<RankPlan> plans) {
  for (const int times : {1, 6}) {
    for (RankPlan& plan : plans) plan.Deepen(times);
    const int rounds = plan::Evaluate(plans).stages + 2;
    if (!Check(plans, {.rounds = rounds, .link_slots = slots * times}).ok()) return false;
  }
  return true;
}

// link_slots is not more than it takes.
TEST_P(AlgorithmTest, NeedsItsLinkSlots) {
  for (int ranks : {2, 3, 4, 5, 8, 13, 16, 31, 64}) {
    const std::vector<RankPlan> plans = BuildAll(entry().algorithm, collective(), ranks);
    const int slots = plans[0].link_slots;
    if (slots > 1) {
      EXPECT_FALSE(RunWith(slots - 1, plans)) << ranks << " ranks can do with fewer than " << slots << " slots";
    }
    EXPECT_LE(slots, 17) << ranks << " ranks";
  }
}

// The canary of all of the above: damaged plans must be reported.
TEST_P(AlgorithmTest, FaultsAreReported) {
  for (int ranks : {2, 3, 4, 7, 16}) {
    for (int k = 0; k < plan::kFaultKinds; ++k) {
      const auto kind = static_cast<plan::FaultKind>(k);
      std::vector<RankPlan> plans = BuildAll(entry().algorithm, collective(), ranks, HasRoot(collective()) ? 1 : 0);
      const std::optional<std::string> planted = plan::PlantFault(kind, plans);
      if (kind == plan::FaultKind::kDropSend) {
        ASSERT_TRUE(planted.has_value());
      }
      if (!planted) continue;
      EXPECT_FALSE(Check(plans, {.rank_ordered = entry().rank_ordered(collective(), ranks)}).ok())
          << ranks << " ranks, " << plan::Name(kind) << ": " << *planted;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AlgorithmTest, testing::ValuesIn(Cases()), CaseName);

TEST(AlgorithmLongTest, IsCorrectForManyRanks) {
  for (const Case& c : Cases()) {
    const Entry& entry = Get(c.algorithm);
    for (int ranks : {129, 300, 1024}) {
      const bool most = ranks == 1024;  // millions of messages: once is enough
      const int root = HasRoot(c.collective) ? ranks / 3 : 0;
      const bool by_reference = ranks < 200 && entry.in_place_by_reference(c.collective, ranks);
      const Status status = Check(BuildAll(c.algorithm, c.collective, ranks, root),
                                  {.rounds = most ? 1 : 2,
                                   .placement = most ? plan::Placement::kInPlace : plan::Placement::kBoth,
                                   .rank_ordered = entry.rank_ordered(c.collective, ranks),
                                   .in_place_by_reference = by_reference});
      ASSERT_TRUE(status.ok()) << entry.name << ": " << status.message();
    }
  }
}

TEST(RegistryTest, IsInTheOrderOfTheEnum) {
  ASSERT_EQ(Registry().size(), static_cast<std::size_t>(kAlgorithms));
  for (int i = 0; i < kAlgorithms; ++i) EXPECT_EQ(static_cast<int>(Registry()[i].algorithm), i);
}

TEST(RegistryTest, FindsNames) {
  for (const Entry& entry : Registry()) EXPECT_EQ(ParseAlgorithm(entry.name), entry.algorithm);
  EXPECT_EQ(ParseAlgorithm("RING"), Algorithm::kRing);
  EXPECT_EQ(ParseAlgorithm("Pat"), Algorithm::kPat);
  EXPECT_EQ(ParseAlgorithm("TREE"), Algorithm::kTree);
  EXPECT_EQ(ParseAlgorithm(""), std::nullopt);
  EXPECT_EQ(ParseAlgorithm("rin"), std::nullopt);
}

TEST(RegistryTest, EveryCollectiveHasAnAlgorithm) {
  std::set<Collective> found;
  for (const Case& c : Cases()) found.insert(c.collective);
  EXPECT_EQ(found.size(), static_cast<std::size_t>(kCollectives) - 1);
  EXPECT_FALSE(found.contains(Collective::kSendRecv));
}

void ExpectOnlyInputsAreSent(const std::vector<plan::RankPlan>& plans) {
  for (const plan::RankPlan& plan : plans) {
    for (int i = 0; i < plan.step_count(); ++i) {
      const plan::Step step = plan.step(i);
      if (step.to.empty()) continue;
      ASSERT_EQ(step.operands.size(), 1u);
      EXPECT_EQ(step.operands[0].kind, plan::Operand::Kind::kIn);
    }
  }
}

// Where inputs may be read as long as nobody's output overlaps them, nothing else is sent.
TEST(ApartByReference, OnlyInputsAreSent) {
  int found = 0;
  for (const Entry& entry : Registry()) {
    for (int i = 0; i < kCollectives && entry.apart_by_reference != nullptr; ++i) {
      const auto collective = static_cast<Collective>(i);
      for (int ranks = 2; ranks <= 9; ++ranks) {
        if (!entry.supports(collective, ranks) || !entry.apart_by_reference(collective, ranks)) continue;
        SCOPED_TRACE(testing::Message() << entry.name << ", " << ranks << " ranks");
        ++found;
        EXPECT_TRUE(MayRefer(entry, collective, ranks));
        EXPECT_FALSE(entry.in_place_by_reference(collective, ranks)) << "then it needs no such exception";
        const std::vector<plan::RankPlan> plans = BuildAll(entry.algorithm, collective, ranks);
        const Status status = Check(plans, {.placement = plan::Placement::kSeparate, .in_place_by_reference = true});
        EXPECT_TRUE(status.ok()) << status.message();
        ExpectOnlyInputsAreSent(plans);
      }
    }
  }
  EXPECT_GT(found, 0);
}

// What MayRefer relies on.
TEST(AllToAll, NothingButInputsIsSent) {
  for (const Entry& entry : Registry()) {
    for (int ranks = 2; ranks <= 17; ++ranks) {
      if (!entry.supports(Collective::kAllToAll, ranks)) continue;
      SCOPED_TRACE(testing::Message() << entry.name << ", " << ranks << " ranks");
      ExpectOnlyInputsAreSent(BuildAll(entry.algorithm, Collective::kAllToAll, ranks));
    }
  }
}

}  // namespace
}  // namespace tutti::algo
