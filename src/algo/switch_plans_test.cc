// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The algorithms in switches, through the checker: every collective and root, one host and several.

#include "algo/switches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "plan/check.h"
#include "plan/cost.h"
#include "plan/network.h"
#include "plan/plant_fault.h"
#include "plan/switches.h"
#include "plan/text.h"

namespace tutti::algo {
namespace {

using plan::Check;
using plan::RankPlan;

Hosts Sizes(std::vector<int> sizes) { return Hosts::OfSizes(sizes); }

std::vector<Hosts> Shapes() {
  std::vector<Hosts> shapes;
  for (int ranks = 1; ranks <= 17; ++ranks) shapes.emplace_back(ranks);
  shapes.emplace_back(72);
  for (const std::vector<int>& sizes : {std::vector{1, 1},
                                        {2, 2},
                                        {3, 1},
                                        {1, 3},
                                        {2, 1},
                                        {1, 1, 1},
                                        {2, 2, 2},
                                        {3, 1, 2},
                                        {2, 3, 3},
                                        {4, 4, 4, 4},
                                        {1, 4, 2, 3, 1},
                                        {8, 8, 5},
                                        {6, 4, 4, 3},
                                        {2, 2, 2, 2, 2, 2, 2}}) {
    shapes.push_back(Hosts::OfSizes(sizes));
  }
  const std::vector<int> scattered = {0, 1, 0, 2, 1, 0, 2};
  shapes.push_back(Hosts::ByRank(scattered));
  return shapes;
}

std::string NameOf(const Hosts& hosts) {
  if (hosts.count() == 1) return std::to_string(hosts.ranks());
  std::string name;
  for (int host = 0; host < hosts.count(); ++host) name += (host == 0 ? "" : "+") + std::to_string(hosts.SizeOf(host));
  return name;
}

struct Case {
  Algorithm algorithm;
  Collective collective;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Entry& entry : WholeRegistry().subspan(kAlgorithms)) {
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (entry.supports(collective, Sizes({2, 2}))) cases.push_back({entry.algorithm, collective});
    }
  }
  return cases;
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return std::string(Get(info.param.algorithm).name) + "_" + std::string(Name(info.param.collective));
}

class SwitchAlgorithmTest : public testing::TestWithParam<Case> {
 protected:
  const Entry& entry() const { return Get(GetParam().algorithm); }
  Collective collective() const { return GetParam().collective; }
  std::vector<int> Roots(const Hosts& hosts) const {
    std::vector<int> roots = {0};
    if (!HasRoot(collective())) return roots;
    for (int root = 1; root<hosts.ranks(); root += hosts.ranks()> 17 ? 17 : 1) roots.push_back(root);
    return roots;
  }
  plan::CheckOptions Claims(const Hosts& hosts) const {
    return {.rank_ordered = entry().rank_ordered(collective(), hosts),
            .in_place_by_reference = entry().in_place_by_reference(collective(), hosts),
            .host_of = hosts.host_of()};
  }
};

TEST_P(SwitchAlgorithmTest, IsCorrectForAllRanksHostsAndRoots) {
  int shapes = 0;
  for (const Hosts& hosts : Shapes()) {
    if (!entry().supports(collective(), hosts)) continue;
    ++shapes;
    for (const int root : Roots(hosts)) {
      for (const int channel : {0, 1, 3}) {
        const Status status = Check(BuildAll(entry().algorithm, collective(), hosts, root, channel), Claims(hosts));
        ASSERT_TRUE(status.ok()) << NameOf(hosts) << ", channel " << channel << ": " << status.message();
      }
    }
  }
  EXPECT_GE(shapes, 15);
}

TEST_P(SwitchAlgorithmTest, IsCorrectDeeperAndEarly) {
  for (const Hosts& hosts : {Hosts(5), Hosts(8), Sizes({2, 2}), Sizes({3, 1, 2}), Sizes({4, 4, 4, 4})}) {
    if (!entry().supports(collective(), hosts)) continue;
    std::vector<RankPlan> plans = BuildAll(entry().algorithm, collective(), hosts, hosts.ranks() - 1);
    plan::CheckOptions options = Claims(hosts);
    options.early = true;
    for (const int times : {1, 6}) {
      for (RankPlan& plan : plans) plan.Deepen(times);
      options.rounds = plan::Evaluate(plans).stages + 2;
      const Status status = Check(plans, options);
      ASSERT_TRUE(status.ok()) << NameOf(hosts) << ": " << status.message();
    }
  }
}

TEST_P(SwitchAlgorithmTest, FaultsAreReported) {
  int planted = 0;
  for (const Hosts& hosts : {Hosts(2), Hosts(3), Hosts(7), Sizes({2, 2}), Sizes({3, 1, 2}), Sizes({4, 4, 4})}) {
    if (!entry().supports(collective(), hosts)) continue;
    for (int kind = 0; kind < plan::kFaultKinds; ++kind) {
      std::vector<RankPlan> plans = BuildAll(entry().algorithm, collective(), hosts, HasRoot(collective()) ? 1 : 0);
      const std::optional<std::string> what = plan::PlantFault(static_cast<plan::FaultKind>(kind), plans);
      if (!what) continue;
      ++planted;
      EXPECT_FALSE(Check(plans).ok()) << NameOf(hosts) << ": " << *what;
    }
  }
  EXPECT_GE(planted, 6);
}

// Where a switch folds no order is claimed, and none would hold.
TEST_P(SwitchAlgorithmTest, ClaimsNoOrderThatIsNotThere) {
  for (const Hosts& hosts : {Hosts(2), Hosts(8), Sizes({2, 2}), Sizes({1, 1, 1})}) {
    if (!entry().supports(collective(), hosts)) continue;
    const std::vector<RankPlan> plans = BuildAll(entry().algorithm, collective(), hosts);
    EXPECT_EQ(entry().rank_ordered(collective(), hosts), !Reduces(collective()));
    if (plan::FoldsInSwitches(plans) && Reduces(collective())) {
      EXPECT_FALSE(Check(plans, {.rank_ordered = true, .host_of = hosts.host_of()}).ok()) << NameOf(hosts);
    }
  }
}

TEST_P(SwitchAlgorithmTest, NobodyCanRunIt) {
  const std::vector<RankPlan> plans = BuildAll(entry().algorithm, collective(), Sizes({2, 2}));
  EXPECT_TRUE(std::ranges::any_of(plans, plan::UsesSwitches));
}

INSTANTIATE_TEST_SUITE_P(All, SwitchAlgorithmTest, testing::ValuesIn(Cases()), CaseName);

TEST(SwitchRegistry, IsNotWhatChoosersChooseFrom) {
  ASSERT_EQ(WholeRegistry().size(), static_cast<std::size_t>(kAlgorithms + kSwitchAlgorithms));
  EXPECT_EQ(Registry().size(), static_cast<std::size_t>(kAlgorithms));
  for (std::size_t i = 0; i < WholeRegistry().size(); ++i) {
    const Entry& entry = WholeRegistry()[i];
    EXPECT_EQ(static_cast<std::size_t>(entry.algorithm), i);
    EXPECT_EQ(NeedsSwitches(entry.algorithm), i >= Registry().size());
    EXPECT_EQ(ParseAlgorithm(entry.name), entry.algorithm);
    for (int c = 0; c < kCollectives; ++c) {
      EXPECT_FALSE(NeedsSwitches(entry.algorithm) && entry.few_links(static_cast<Collective>(c)));
    }
  }
  for (const Entry& entry : Registry()) {
    for (int c = 0; c < kCollectives; ++c) {
      if (!entry.supports(static_cast<Collective>(c), 4)) continue;
      const std::vector<RankPlan> plans = BuildAll(entry.algorithm, static_cast<Collective>(c), 4);
      EXPECT_TRUE(std::ranges::none_of(plans, plan::UsesSwitches)) << entry.name;
    }
  }
  EXPECT_EQ(ParseAlgorithm("NVLS"), Algorithm::kNvls);
  EXPECT_EQ(ParseAlgorithm("NVLSTree"), Algorithm::kNvlsTree);
  EXPECT_EQ(ParseAlgorithm("CollNetDirect"), Algorithm::kCollnetDirect);
}

// --- What each link carries ---

TEST(SwitchCost, OfNvls) {
  for (const int ranks : {2, 4, 8, 72}) {
    const double part = 1.0 / ranks;
    const plan::Cost all_reduce = plan::Evaluate(BuildAll(Algorithm::kNvls, Collective::kAllReduce, ranks));
    EXPECT_NEAR(all_reduce.sent_max, 1 + part, 1e-9);
    EXPECT_NEAR(all_reduce.received_max, 1 + part, 1e-9);
    EXPECT_EQ(all_reduce.hops, 2);
    const plan::Cost scatter = plan::Evaluate(BuildAll(Algorithm::kNvls, Collective::kReduceScatter, ranks));
    EXPECT_EQ(scatter.sent_max, ranks);  // of shares, all that a rank has
    EXPECT_EQ(scatter.received_max, 1);
    const plan::Cost gather = plan::Evaluate(BuildAll(Algorithm::kNvls, Collective::kAllGather, ranks));
    EXPECT_EQ(gather.sent_max, 1);
    EXPECT_EQ(gather.received_max, ranks);
  }
}

TEST(SwitchCost, OfSharp) {
  for (const int ranks : {2, 8, 64}) {
    const plan::Cost cost = plan::Evaluate(BuildAll(Algorithm::kSharp, Collective::kAllReduce, ranks));
    EXPECT_EQ(cost.sent_max, 1);
    EXPECT_EQ(cost.received_max, 1);
    EXPECT_EQ(cost.hops, 1);
  }
}

// Over a rank's network interface, and by the NVLinks of a rank.
TEST(SwitchCost, OfSeveralHosts) {
  const auto cards = [](Algorithm a, const Hosts& hosts) {
    const plan::NetworkCost cost = plan::EvaluateNetwork(BuildAll(a, Collective::kAllReduce, hosts), hosts.host_of());
    return std::max(cost.sent_max, cost.received_max);
  };
  const Hosts two = Sizes({4, 4}), four = Sizes({4, 4, 4, 4}), eight = Sizes({4, 4, 4, 4, 4, 4, 4, 4});
  for (const Hosts& hosts : {two, four, eight}) {
    EXPECT_DOUBLE_EQ(cards(Algorithm::kNvlsSharp, hosts), 0.25);
    EXPECT_DOUBLE_EQ(cards(Algorithm::kCollnetDirect, hosts), 0.25);
    EXPECT_DOUBLE_EQ(cards(Algorithm::kCollnetChain, hosts), 1);  // of one channel, whose head has all
  }
  EXPECT_DOUBLE_EQ(cards(Algorithm::kNvlsTree, two), 0.25);
  EXPECT_LE(cards(Algorithm::kNvlsTree, four), 0.5);
  EXPECT_LE(cards(Algorithm::kNvlsTree, eight), 0.5);
  EXPECT_GT(cards(Algorithm::kHierRing, eight), 0.43);  // 2 (k-1)/k of a part
}

TEST(SwitchPlans, AsDrawn) {
  EXPECT_EQ(plan::Print(BuildAll(Algorithm::kNvls, Collective::kAllReduce, 3)[1]),
            "all_reduce rank 1 of 3 in 3 out 3 slots 4\n"
            "  in2 -> ^2\n"
            "  in0 -> ^0\n"
            "  in1 -> ^1\n"
            "  @1 ^0 + ^1 + ^2 -> >>out1 >>2 >>0\n"
            "  @2 <0 -> out0\n"
            "  @2 <2 -> out2\n");
  EXPECT_EQ(plan::Print(BuildAll(Algorithm::kCollnetChain, Collective::kAllReduce, Sizes({2, 2}), 0, 1)[1]),
            "all_reduce rank 1 of 4 in 1 out 1 slots 2\n"
            "  @1 <0 + in0 -> ^^1 ^^3\n"
            "  @2 ^1 + ^3 -> out0 >0\n");
}

// Each channel's chains begin at other ranks.
TEST(SwitchPlans, ChainsTakeTurnsAtTheNetwork) {
  const Hosts hosts = Sizes({4, 4});
  std::set<int> heads;
  for (int channel = 0; channel < 4; ++channel) {
    const std::vector<RankPlan> plans = BuildAll(Algorithm::kCollnetChain, Collective::kAllReduce, hosts, 0, channel);
    for (const RankPlan& plan : plans) {
      if (plan::UsesSwitches(plan)) heads.insert(plan.rank);
    }
  }
  EXPECT_EQ(heads.size(), 8u);
}

}  // namespace
}  // namespace tutti::algo
