// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/ring_plans.h"

namespace tutti::sim {
namespace {

using algo::Algorithm;

// A step as seen from its rank's period: whom it meets, and in which order it sends.
struct Seen {
  std::vector<int> from, to;
  std::size_t locals;
  bool stores;
  int stage;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> Look(const plan::RankPlan& plan, int period) {
  std::vector<Seen> steps;
  const int turn = plan.rank / period;
  const auto place = [&](int peer) { return (peer - turn * period + plan.ranks) % plan.ranks; };
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    Seen seen{.locals = 0, .stores = step.out != plan::kNoBlock, .stage = step.stage};
    for (const plan::Operand& operand : step.operands) {
      operand.local() ? void(++seen.locals) : seen.from.push_back(place(operand.index));
    }
    for (const int peer : step.to) seen.to.push_back(place(peer));
    std::ranges::sort(
        seen.from);  // operands are in the order of ranks; which one is waited for first makes no difference
    steps.push_back(seen);
  }
  return steps;
}

std::string Check(Algorithm algorithm, Collective collective, const algo::Hosts& hosts, int channel) {
  const RegistryPlans source(algorithm, collective, hosts);
  const int period = source.Period(channel);
  if (period == 0) return {};
  if (hosts.ranks() % period != 0) return "the period does not divide the ranks";
  std::vector<std::vector<Seen>> first;
  for (int rank = 0; rank < hosts.ranks(); ++rank) {
    const std::vector<Seen> seen = Look(source.Build(rank, channel), period);
    if (rank < period) {
      first.push_back(seen);
    } else if (seen != first[static_cast<std::size_t>(rank % period)]) {
      return "rank " + std::to_string(rank) + " differs";
    }
  }
  return {};
}

std::vector<algo::Hosts> SomeHosts() {
  std::vector<algo::Hosts> all;
  for (int ranks = 1; ranks <= 19; ++ranks) all.emplace_back(ranks);
  for (const std::vector<int>& sizes :
       {std::vector{2, 2}, {3, 3, 3}, {4, 4, 4, 4, 4}, {1, 1, 1, 1}, {2, 3, 1}, {4, 4, 4, 3}}) {
    all.push_back(algo::Hosts::OfSizes(sizes));
  }
  const std::vector<int> scattered = {0, 1, 0, 1, 2, 2};
  all.push_back(algo::Hosts::ByRank(scattered));
  return all;
}

TEST(RegistryPlans, PlansOfAPeriodAreThoseOfAllOthers) {
  int alike = 0;
  for (const algo::Hosts& hosts : SomeHosts()) {
    for (const algo::Entry& entry : algo::Registry()) {
      for (int c = 0; c < kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        if (!entry.supports(collective, hosts)) continue;
        for (const int channel : {0, 1}) {
          EXPECT_EQ(Check(entry.algorithm, collective, hosts, channel), "")
              << entry.name << " " << Name(collective) << " " << hosts.ranks() << " ranks, " << hosts.count()
              << " hosts";
          alike += RegistryPlans(entry.algorithm, collective, hosts).Period(channel) > 0 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(alike, 300);
}

// The canary of the above: a tree's ranks are not alike.
TEST(RegistryPlans, ATreeHasNoPeriod) {
  EXPECT_EQ(RegistryPlans(Algorithm::kTree, Collective::kAllReduce, 8).Period(0), 0);
  const RegistryPlans tree(Algorithm::kTree, Collective::kAllReduce, 8);
  EXPECT_NE(Look(tree.Build(0, 0), 1), Look(tree.Build(1, 0), 1));
  EXPECT_EQ(RegistryPlans(Algorithm::kRing, Collective::kAllReduce, 8).Period(0), 1);
  EXPECT_EQ(RegistryPlans(Algorithm::kRing, Collective::kBroadcast, 8).Period(0), 0);
}

TEST(RegistryPlans, HostsAreEnteredAtAnotherRankOnEachPairOfChannels) {
  const std::vector<int> sizes = {4, 4, 4};
  const RegistryPlans plans(Algorithm::kRing, Collective::kAllReduce, algo::Hosts::OfSizes(sizes), 0,
                            Order::kTurnedInHosts);
  for (int channel = 0; channel < 10; ++channel) {
    EXPECT_EQ(plans.RankAt(0, channel), (channel / 2 + channel / 8) % 4);
    EXPECT_EQ(plans.RankAt(4, channel), 4 + (channel / 2 + channel / 8) % 4);
    for (int rank = 0; rank < 12; ++rank) EXPECT_EQ(plans.RankAt(plans.PositionOf(rank, channel), channel), rank);
  }
}

TEST(RingPlans, FollowTheirOrderAndTheirPorts) {
  const RingPlans plans(Collective::kAllReduce,
                        {{.ranks = {2, 0, 1, 3}, .crossings = {{}, {.out = 7, .in = 9}, {}, {.out = 8, .in = 6}}},
                         {.ranks = {3, 1, 0, 2}, .crossings = {}}});
  EXPECT_EQ(plans.RankAt(1, 0), 0);
  EXPECT_EQ(plans.PositionOf(0, 0), 1);
  EXPECT_EQ(plans.RankAt(1, 3), 1);  // the second ring again
  for (int channel = 0; channel < 2; ++channel) {
    for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(plans.RankAt(plans.PositionOf(rank, channel), channel), rank);
    EXPECT_EQ(plans.Build(1, channel).step(0).to[0], 2);  // both go to the next position
  }
  EXPECT_EQ(plans.PortsOf(1, 2, 0), (Ports{.out = 7, .in = 9}));
  EXPECT_EQ(plans.PortsOf(0, 1, 0), Ports{});
  EXPECT_EQ(plans.PortsOf(1, 2, 1), Ports{});
}

TEST(TransferPlans, EveryTransferHasTwoEnds) {
  const TransferPlans plans(3, {{.from = 0, .to = 2, .bytes = 100}, {.from = 2, .to = 1, .bytes = 50}});
  EXPECT_EQ(plans.Build(0, 0).in_sizes, (std::vector<std::size_t>{100}));
  EXPECT_EQ(plans.Build(2, 0).out_sizes, (std::vector<std::size_t>{100}));
  EXPECT_EQ(plans.Build(2, 0).in_sizes, (std::vector<std::size_t>{50}));
  EXPECT_EQ(plans.Build(1, 0).step_count(), 1);
}

}  // namespace
}  // namespace tutti::sim
