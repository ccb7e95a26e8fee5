// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Every algorithm of several hosts, every collective and root, even and uneven hosts, through the checker.

#include "algo/hierarchy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "algo/algorithm.h"
#include "plan/check.h"
#include "plan/network.h"
#include "plan/plant_fault.h"

namespace tutti::algo {
namespace {

using plan::Check;
using plan::RankPlan;

Hosts Sizes(std::vector<int> sizes) { return Hosts::OfSizes(sizes); }

// Ranks dealt out to the hosts in turn, while they have room: 0, 1, 2, 0, 1, 2, ...
Hosts Interleaved(std::vector<int> sizes) {
  std::vector<int> host_of;
  while (std::accumulate(sizes.begin(), sizes.end(), 0) > 0) {
    for (std::size_t host = 0; host < sizes.size(); ++host) {
      if (sizes[host]-- > 0) host_of.push_back(static_cast<int>(host));
      sizes[host] = std::max(sizes[host], 0);
    }
  }
  return Hosts::ByRank(host_of);
}

std::string Shape(const Hosts& hosts) {
  std::string text;
  for (int host = 0; host < hosts.count(); ++host) {
    text += (host == 0 ? "" : "+") + std::to_string(hosts.SizeOf(host));
  }
  return text;
}

std::vector<Hosts> Small() {
  return {Sizes({1, 1}),       Sizes({2, 2}),          Sizes({3, 1}),
          Sizes({1, 3}),       Sizes({2, 1}),          Sizes({1, 1, 1}),
          Sizes({2, 2, 2}),    Sizes({3, 1, 2}),       Sizes({2, 3, 3}),
          Sizes({4, 4, 4, 4}), Sizes({1, 4, 2, 3, 1}), Sizes({8, 8, 5}),
          Interleaved({2, 2}), Interleaved({3, 1}),    Interleaved({3, 3, 2}),
          Sizes({6, 4, 4, 3}), Interleaved({4, 1, 4}), Sizes({2, 2, 2, 2, 2, 2, 2})};
}

struct Case {
  Algorithm algorithm;
  Collective collective;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const Entry& entry : Registry()) {
    if (entry.algorithm < Algorithm::kHierLeader) continue;
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

class HierarchyTest : public testing::TestWithParam<Case> {
 protected:
  const Entry& entry() const { return Get(GetParam().algorithm); }
  Collective collective() const { return GetParam().collective; }
  int Roots(const Hosts& hosts) const { return HasRoot(collective()) ? hosts.ranks() : 1; }
  plan::CheckOptions Claims(const Hosts& hosts) const {
    return {.rank_ordered = entry().rank_ordered(collective(), hosts),
            .in_place_by_reference = entry().in_place_by_reference(collective(), hosts),
            .host_of = hosts.host_of()};
  }
  std::vector<RankPlan> Plans(const Hosts& hosts, int root = 0, int channel = 0) const {
    return BuildAll(entry().algorithm, collective(), hosts, root, channel);
  }
};

TEST_P(HierarchyTest, IsCorrectForAllShapesAndRoots) {
  for (const Hosts& hosts : Small()) {
    for (int root = 0; root < Roots(hosts); ++root) {
      for (const int channel : {0, 1}) {
        const Status status = Check(Plans(hosts, root, channel), Claims(hosts));
        ASSERT_TRUE(status.ok()) << Shape(hosts) << ", channel " << channel << ": " << status.message();
      }
    }
  }
}

TEST_P(HierarchyTest, IsCorrectDeeperAndEarly) {
  for (const Hosts& hosts : Small()) {
    std::vector<RankPlan> plans = Plans(hosts, Roots(hosts) - 1);
    plan::CheckOptions options = Claims(hosts);
    options.early = true;
    for (const int times : {1, 6}) {
      for (RankPlan& plan : plans) plan.Deepen(times);
      options.rounds = 6 * times;
      const Status status = Check(plans, options);
      ASSERT_TRUE(status.ok()) << Shape(hosts) << ": " << status.message();
    }
  }
}

// A claim that could be made for even hosts should be made.
TEST_P(HierarchyTest, ClaimsNoLessThanHoldsForEvenHosts) {
  for (const Hosts& hosts : {Sizes({2, 2}), Sizes({2, 2, 2}), Sizes({4, 4, 4, 4}), Sizes({3, 3, 3, 3, 3})}) {
    const std::vector<RankPlan> plans = Plans(hosts);
    EXPECT_EQ(entry().rank_ordered(collective(), hosts),
              Check(plans, {.rank_ordered = true, .host_of = hosts.host_of()}).ok())
        << Shape(hosts);
    if (collective() == Collective::kBarrier) continue;  // which has nothing to refer to
    EXPECT_EQ(entry().in_place_by_reference(collective(), hosts), Check(plans, {.in_place_by_reference = true}).ok())
        << Shape(hosts);
  }
}

// Among even hosts a link holds what the plan between hosts wants, or what has to leave at once. Pieces that go one way could
// do with links of one message, but a gate would then wait for the network after each.
TEST_P(HierarchyTest, NeedsItsLinkSlots) {
  const bool one_way = collective() == Collective::kGather || collective() == Collective::kScatter;
  for (const Hosts& hosts : {Sizes({2, 2}), Sizes({3, 3, 3}), Sizes({4, 4, 4, 4}), Sizes({2, 2, 2, 2, 2, 2, 2, 2})}) {
    const std::vector<RankPlan> plans = Plans(hosts);
    const int slots = plans[0].link_slots;
    EXPECT_LE(slots, hosts.most() * hosts.most());
    if (slots == 1 || one_way) continue;
    EXPECT_FALSE(Check(plans, {.link_slots = slots - 1}).ok())
        << Shape(hosts) << " can do with fewer than " << slots << " slots";
  }
}

// Links are made once, for every root.
TEST_P(HierarchyTest, WantsTheSameOfLinksWhateverTheRoot) {
  for (const Hosts& hosts : Small()) {
    for (int root = 1; root < Roots(hosts); ++root) {
      const RankPlan first = Plans(hosts)[0], other = Plans(hosts, root)[0];
      EXPECT_EQ(first.link_slots, other.link_slots) << Shape(hosts) << ", root " << root;
    }
  }
}

// The canary of all of the above: damaged plans must be reported.
TEST_P(HierarchyTest, FaultsAreReported) {
  for (const Hosts& hosts : {Sizes({2, 2}), Sizes({3, 1}), Sizes({3, 3, 2}), Interleaved({3, 2})}) {
    for (int k = 0; k < plan::kFaultKinds; ++k) {
      const auto kind = static_cast<plan::FaultKind>(k);
      std::vector<RankPlan> plans = Plans(hosts, HasRoot(collective()) ? 1 : 0);
      const std::optional<std::string> planted = plan::PlantFault(kind, plans);
      if (kind == plan::FaultKind::kDropSend) {
        ASSERT_TRUE(planted.has_value());
      }
      if (!planted) continue;
      EXPECT_FALSE(Check(plans, Claims(hosts)).ok()) << Shape(hosts) << ", " << plan::Name(kind) << ": " << *planted;
    }
  }
}

// Hosts of one rank each have nothing to do inside: what is left is the plan among hosts. Where pieces go one by one there is no
// such plan, but as many messages.
TEST_P(HierarchyTest, IsTheOuterPlanWhereHostsHaveOneRank) {
  const bool leader = GetParam().algorithm == Algorithm::kHierLeader;
  const auto outer = ParseAlgorithm(leader ? "one_shot" : entry().name.substr(std::string_view("hier_").size()));
  ASSERT_TRUE(outer.has_value());
  const bool of_pieces = collective() == Collective::kGather || collective() == Collective::kScatter ||
                         collective() == Collective::kAllToAll;
  for (const int root : {0, 3}) {
    if (root > 0 && !HasRoot(collective())) continue;
    const Hosts hosts = Sizes({1, 1, 1, 1, 1});
    const std::vector<RankPlan> plans = Plans(hosts, root), alone = BuildAll(*outer, collective(), 5, root);
    EXPECT_EQ(plan::EvaluateNetwork(plans, hosts.host_of()), plan::EvaluateNetwork(alone, hosts.host_of()));
    if (!of_pieces) {
      EXPECT_EQ(plans, alone);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HierarchyTest, testing::ValuesIn(Cases()), CaseName);

// 512 ranks on even hosts, 1024 on uneven ones. docs/hierarchy.md has the command for others.
TEST(HierarchyLongTest, IsCorrectForManyRanks) {
  std::vector<int> uneven;
  for (int left = 1024, i = 0; left > 0; ++i) {
    const int sizes[] = {8, 8, 5, 8, 1, 7};
    uneven.push_back(std::min(left, sizes[i % 6]));
    left -= uneven.back();
  }
  for (const Hosts& hosts : {Sizes(std::vector<int>(64, 8)), Interleaved(uneven)}) {
    for (const Case& c : Cases()) {
      const Entry& entry = Get(c.algorithm);
      const Status status = Check(BuildAll(c.algorithm, c.collective, hosts, HasRoot(c.collective) ? 341 : 0),
                                  {.rounds = 1,
                                   .placement = plan::Placement::kInPlace,
                                   .rank_ordered = entry.rank_ordered(c.collective, hosts),
                                   .host_of = hosts.host_of()});
      ASSERT_TRUE(status.ok()) << entry.name << ": " << status.message();
    }
  }
}

plan::NetworkCost NetworkOf(Algorithm algorithm, Collective collective, const Hosts& hosts, int root = 0) {
  return plan::EvaluateNetwork(BuildAll(algorithm, collective, hosts, root), hosts.host_of());
}

// Whatever the collective, there is a way for small messages whose data cross the network once.
TEST(HierarchyNetworkTest, SmallMessagesTakeOneHop) {
  for (const Hosts& hosts :
       {Sizes({2, 2}), Sizes({3, 1}), Sizes({8, 8, 5}), Interleaved({4, 4, 4, 4}), Sizes(std::vector<int>(16, 4))}) {
    std::set<Collective> found;
    for (const Case& c : Cases()) {
      if (c.algorithm != Algorithm::kHierLeader && c.algorithm != Algorithm::kHierOneShot) continue;
      const plan::NetworkCost cost = NetworkOf(c.algorithm, c.collective, hosts, HasRoot(c.collective) ? 2 : 0);
      EXPECT_EQ(cost.hops, 1) << Get(c.algorithm).name << ' ' << Name(c.collective) << ' ' << Shape(hosts);
      found.insert(c.collective);
    }
    EXPECT_EQ(found.size(), static_cast<std::size_t>(kCollectives) - 1);
  }
}

TEST(HierarchyNetworkTest, LeadersTalkAlone) {
  const Hosts hosts = Sizes({8, 8, 5});
  for (const Case& c : Cases()) {
    if (c.algorithm != Algorithm::kHierLeader) continue;
    const plan::NetworkCost cost = NetworkOf(c.algorithm, c.collective, hosts);
    EXPECT_EQ(cost.links_max, 1) << Name(c.collective);
    EXPECT_LE(cost.peers_max, 2) << Name(c.collective);
  }
}

// Of 4 hosts with 4 ranks: hops; and bytes of a rank and a host in units of S, against the least there can be.
TEST(HierarchyNetworkTest, SendsNoMoreThanTheOptimum) {
  struct Expected {
    Algorithm algorithm;
    Collective collective;
    int hops;
    double rank, host;
  };
  const Hosts hosts = Sizes({4, 4, 4, 4});
  const double share = 2.0 * 3 / 4;  // of an all_reduce, as of any among 4
  for (const Expected& e : {
           Expected{Algorithm::kHierTwoShot, Collective::kAllReduce, 2, share / 4, share},
           Expected{Algorithm::kHierRing, Collective::kAllReduce, 6, share / 4, share},
           Expected{Algorithm::kHierHalvingDoubling, Collective::kAllReduce, 4, share / 4, share},
           Expected{Algorithm::kHierOneShot, Collective::kAllReduce, 1, 3.0 / 4, 3},
           Expected{Algorithm::kHierRecursiveDoubling, Collective::kAllReduce, 2, 2.0 / 4, 2},
           Expected{Algorithm::kHierOneShot, Collective::kReduceScatter, 1, 3, 12},
           Expected{Algorithm::kHierRing, Collective::kReduceScatter, 3, 3, 12},
           Expected{Algorithm::kHierHalvingDoubling, Collective::kReduceScatter, 2, 3, 12},
           Expected{Algorithm::kHierOneShot, Collective::kAllGather, 1, 3, 12},
           Expected{Algorithm::kHierRing, Collective::kAllGather, 3, 3, 12},
           Expected{Algorithm::kHierHalvingDoubling, Collective::kAllGather, 2, 3, 12},
           Expected{Algorithm::kHierTwoShot, Collective::kBroadcast, 2, 1.0 / 4, 1},
           Expected{Algorithm::kHierRing, Collective::kBroadcast, 3, 1.0 / 4, 1},
           Expected{Algorithm::kHierRing, Collective::kReduce, 3, 1.0 / 4, 1},
           Expected{Algorithm::kHierOneShot, Collective::kReduce, 1, 1.0 / 4, 1},
           Expected{Algorithm::kHierOneShot, Collective::kAllToAll, 1, 12, 48},
       }) {
    const plan::NetworkCost cost = NetworkOf(e.algorithm, e.collective, hosts);
    const std::string what = std::string(Get(e.algorithm).name) + ' ' + std::string(Name(e.collective));
    EXPECT_EQ(cost.hops, e.hops) << what;
    EXPECT_DOUBLE_EQ(cost.sent_max, e.rank) << what;
    EXPECT_DOUBLE_EQ(cost.host_sent_max, e.host) << what;
  }
}

// Uneven hosts send no more either, whoever owns the rails.
TEST(HierarchyNetworkTest, UnevenHostsSendNoMore) {
  for (const Hosts& hosts : {Sizes({3, 1, 2}), Sizes({8, 8, 5}), Interleaved({5, 1, 4})}) {
    for (const Algorithm a : {Algorithm::kHierTwoShot, Algorithm::kHierRing, Algorithm::kHierHalvingDoubling}) {
      EXPECT_DOUBLE_EQ(NetworkOf(a, Collective::kAllReduce, hosts).host_sent_max, 2.0 * 2 / 3) << Get(a).name;
    }
  }
  const Hosts hosts = Sizes({3, 1});
  EXPECT_DOUBLE_EQ(NetworkOf(Algorithm::kHierRing, Collective::kAllGather, hosts).host_sent_max, 3);
  EXPECT_DOUBLE_EQ(NetworkOf(Algorithm::kHierRing, Collective::kReduceScatter, hosts).host_sent_max, 3);
}

// A rank has one link to another host, so from host to host there are as many as the sender's host has ranks; without hosts in
// mind, every rank has one to each rank there. No byte more crosses the network.
TEST(HierarchyNetworkTest, AllToAllHasOneLinkPerRail) {
  struct Expected {
    Hosts hosts;
    int links, flat_links;
  };
  for (const Expected& e : {Expected{Sizes({4, 4}), 4, 16}, Expected{Sizes({8, 8, 5}), 8, 64},
                            Expected{Sizes({3, 1}), 3, 3}, Expected{Interleaved({2, 2, 2}), 2, 4}}) {
    const plan::NetworkCost rails = NetworkOf(Algorithm::kHierOneShot, Collective::kAllToAll, e.hosts);
    const plan::NetworkCost flat = NetworkOf(Algorithm::kOneShot, Collective::kAllToAll, e.hosts);
    EXPECT_EQ(rails.links_max, e.links) << Shape(e.hosts);
    EXPECT_EQ(flat.links_max, e.flat_links) << Shape(e.hosts);
    EXPECT_DOUBLE_EQ(rails.host_sent_max, flat.host_sent_max) << Shape(e.hosts);
  }
}

// What the checker asks of orders among hosts can fail: two_shot folds in rank order, not by hosts.
TEST(HierarchyOrderTest, OfFlatAlgorithmsIsAnother) {
  const Hosts hosts = Sizes({2, 2});
  for (const Algorithm a : {Algorithm::kOneShot, Algorithm::kTwoShot}) {
    const std::vector<RankPlan> plans = BuildAll(a, Collective::kAllReduce, hosts);
    EXPECT_TRUE(Check(plans, {.rank_ordered = true}).ok());
    EXPECT_FALSE(Check(plans, {.rank_ordered = true, .host_of = hosts.host_of()}).ok());
  }
  const std::vector<RankPlan> plans = BuildAll(Algorithm::kHierTwoShot, Collective::kAllReduce, hosts);
  EXPECT_FALSE(Check(plans, {.rank_ordered = true}).ok());
  EXPECT_TRUE(Check(plans, {.rank_ordered = true, .host_of = hosts.host_of()}).ok());
  const Hosts others = Interleaved({2, 2});
  EXPECT_FALSE(Check(plans, {.rank_ordered = true, .host_of = others.host_of()}).ok());
}

// All algorithms, those that know of no hosts too, are honest about their order among hosts.
TEST(HierarchyOrderTest, ClaimsHold) {
  for (const Hosts& hosts : {Sizes({1, 1}), Sizes({2, 1}), Sizes({1, 2}), Sizes({1, 1, 1}), Sizes({2, 2})}) {
    for (const Entry& entry : Registry()) {
      for (const Collective c : {Collective::kAllReduce, Collective::kReduceScatter, Collective::kReduce}) {
        if (!entry.supports(c, hosts) || !entry.rank_ordered(c, hosts)) continue;
        const Status status =
            Check(BuildAll(entry.algorithm, c, hosts), {.rank_ordered = true, .host_of = hosts.host_of()});
        EXPECT_TRUE(status.ok()) << entry.name << ' ' << Shape(hosts) << ": " << status.message();
      }
    }
  }
}

// What MayRefer relies on.
TEST(HierarchyAllToAllTest, NothingStoredIsSent) {
  for (const Case& c : Cases()) {
    if (c.collective != Collective::kAllToAll) continue;
    for (const Hosts& hosts : Small()) {
      for (const RankPlan& plan : BuildAll(c.algorithm, c.collective, hosts)) {
        for (int i = 0; i < plan.step_count(); ++i) {
          const plan::Step step = plan.step(i);
          if (step.to.empty()) continue;
          ASSERT_EQ(step.operands.size(), 1u);
          EXPECT_NE(step.operands[0].kind, plan::Operand::Kind::kOut) << Get(c.algorithm).name << ' ' << Shape(hosts);
        }
      }
    }
  }
}

// Whatever may be referred to is read before it is overwritten: in place where there is such a form, with several rounds, for
// every root. What goes over the network is read even before: when it is sent, not when its receiver's step happens.
TEST(HierarchyReferenceTest, NothingIsOverwrittenThatMayBeRead) {
  for (const Hosts& hosts : Small()) {
    for (const Entry& entry : Registry()) {
      for (int i = 0; i < kCollectives; ++i) {
        const auto c = static_cast<Collective>(i);
        if (c == Collective::kSendRecv || c == Collective::kBarrier) continue;
        if (!entry.supports(c, hosts) || !MayRefer(entry, c, hosts)) continue;
        const bool in_place = c != Collective::kAllToAll;
        for (int root = 0; root < (HasRoot(c) ? hosts.ranks() : 1); ++root) {
          const Status status = Check(BuildAll(entry.algorithm, c, hosts, root),
                                      {.placement = in_place ? plan::Placement::kBoth : plan::Placement::kSeparate,
                                       .in_place_by_reference = true,
                                       .host_of = hosts.host_of()});
          ASSERT_TRUE(status.ok()) << entry.name << ' ' << Name(c) << ' ' << Shape(hosts) << ": " << status.message();
        }
      }
    }
  }
}

// The host's value is stored in the output, sent to other hosts, and stored over with the result.
TEST(HierarchyReferenceTest, OneShotOverwritesWhatItHasSent) {
  for (const Hosts& hosts : {Sizes({2, 2}), Sizes({3, 1}), Sizes({8, 8, 5})}) {
    for (const Algorithm a : {Algorithm::kHierOneShot, Algorithm::kHierLeader}) {
      EXPECT_FALSE(MayRefer(Get(a), Collective::kAllReduce, hosts));
      const Status status = Check(BuildAll(a, Collective::kAllReduce, hosts),
                                  {.placement = plan::Placement::kSeparate, .in_place_by_reference = true});
      EXPECT_FALSE(status.ok()) << Get(a).name << ' ' << Shape(hosts);
    }
  }
}

TEST(HierarchyRegistryTest, OneHostHasNone) {
  for (const Entry& entry : Registry()) {
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (entry.algorithm >= Algorithm::kHierLeader) {
        EXPECT_FALSE(entry.supports(collective, 8));
        EXPECT_FALSE(entry.supports(collective, Sizes({8})));
      } else {
        EXPECT_EQ(entry.supports(collective, 8), entry.supports(collective, Sizes({4, 4})));
      }
    }
  }
}

TEST(HostsTest, AreNumberedByTheirFirstRanks) {
  const Hosts hosts = Hosts::ByRank(std::vector<int>{7, 3, 7, 9, 3});
  EXPECT_EQ(hosts.ranks(), 5);
  EXPECT_EQ(hosts.count(), 3);
  EXPECT_EQ(hosts.most(), 2);
  EXPECT_EQ(hosts.fewest(), 1);
  EXPECT_FALSE(hosts.flat());
  EXPECT_EQ(hosts.HostOf(4), 1);
  EXPECT_EQ(hosts.IndexOf(4), 1);
  EXPECT_EQ(std::vector(hosts.RanksOf(0).begin(), hosts.RanksOf(0).end()), (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(Hosts(4).count(), 1);
  EXPECT_TRUE(Hosts(4).flat());
  EXPECT_EQ(Sizes({4}).count(), 1);
  EXPECT_TRUE(Sizes({1, 1, 1}).flat());
}

}  // namespace
}  // namespace tutti::algo
