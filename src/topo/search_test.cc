// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/search.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/search_checks.h"

namespace tutti::topo {
namespace {

int CountRailChanges(const Graph& graph, const std::vector<RankRing>& rings) {
  int changes = 0;
  for (const RankRing& ring : rings) {
    for (const Crossing& crossing : ring.crossings) {
      if (crossing.out < 0) continue;
      changes += graph.node(crossing.out).port()->dev == graph.node(crossing.in).port()->dev ? 0 : 1;
    }
  }
  return changes;
}

// Rings come in at one GPU's card and go out at another's, so that each has one that is close, and every second host is passed the other
// way round. So no ring leaves its rails, but once where the hosts are an odd number.
TEST(Search, RingsStayOnTheirRails) {
  for (const int hosts : {2, 3, 4, 16}) {
    const Graph graph = BuildNamed("hgx-h100", hosts);
    const std::vector<int> gpus = graph.All(NodeKind::kGpu);
    const Placement placement = *Placement::Make(graph, gpus);
    for (const CrossNic cross : {CrossNic::kNever, CrossNic::kAlways, CrossNic::kWhereItPays}) {
      SearchOptions options;
      options.cross_nic = cross;
      const Result<SearchResult> found = SearchRings(placement, options);
      ASSERT_TRUE(found.ok()) << found.status().ToString();
      EXPECT_EQ(WrongWithRings(graph, gpus, placement, *found), "");
      EXPECT_NEAR(found->prediction.gb_per_s, 8 * 48, 1e-6);
      EXPECT_EQ(found->boxes[0].channels.cross_nic, cross != CrossNic::kNever);
      const std::vector<RankRing> rings = *MakeRings(placement, found->boxes);
      const bool changes = cross != CrossNic::kNever && hosts % 2 == 1;
      EXPECT_EQ(CountRailChanges(graph, rings), changes ? static_cast<int>(rings.size()) : 0) << hosts;
      EXPECT_EQ(found->boxes[0].channels.type_between == PathType::kPix, cross != CrossNic::kNever);
    }
  }
}

// Where nothing joins the rails, an odd number of hosts has to come in and go out by one card.
TEST(Search, RailsThatNothingJoinsAreNotLeft) {
  constexpr std::string_view kRails =
      "name rails\ngpu H100\nnvlink switch\ncpu Intel 6/143\npci gen5 x16\nnic 400 Gbit/s\nhost\n  2 sockets\n    2 "
      "switches\n"
      "      1 gpu\n      1 nic\nfabric rails\n";
  for (const int hosts : {2, 3, 5}) {
    const Graph graph = BuildText(kRails, hosts);
    const Both found = SearchAll(graph);
    EXPECT_GE(found.rings.prediction.gb_per_s, 4 * 48 * 0.95);
    EXPECT_EQ(found.rings.boxes[0].channels.cross_nic, hosts == 2);
    const Placement placement = *Placement::Make(graph, graph.All(NodeKind::kGpu));
    EXPECT_EQ(CountRailChanges(graph, *MakeRings(placement, found.rings.boxes)), 0);
  }
}

// Hosts of four leaves, listed so that neighbours are at different ones: a ring leaves each leaf once.
TEST(Search, HostsOfALeafFollowEachOther) {
  const Graph graph = BuildText(
      "name tree\ngpu H100\ncpu Intel 6/143\npci gen5 x16\nnic 400 Gbit/s\nhost\n  1 socket\n    1 gpu\n    1 nic\n"
      "fabric fat tree of 8 ports, 2 levels, 4 hosts per leaf\n",
      16);
  std::vector<int> gpus;
  const std::vector<int> all = graph.All(NodeKind::kGpu);
  for (std::size_t i = 0; i < 16; ++i) gpus.push_back(all[i % 4 * 4 + i / 4]);
  const Both found = SearchAndCheck(graph, gpus);
  const Placement placement = *Placement::Make(graph, gpus);
  int far = 0;
  const std::vector<RankRing> rings = *MakeRings(placement, found.rings.boxes);
  for (const Crossing& crossing : rings[0].crossings)
    far += *placement.network().Hops(crossing.out, crossing.in) > 2 ? 1 : 0;
  EXPECT_EQ(far, 4);
}

TEST(Search, ChannelsAreAsManyAsAskedFor) {
  const Graph graph = BuildNamed("hgx-h100", 1);
  SearchOptions options;
  options.min_channels = 16;
  options.max_channels = 24;
  const Both found = SearchAll(graph, options);
  EXPECT_EQ(ChannelsOf(found.rings), 16u);
  EXPECT_NEAR(found.rings.prediction.gb_per_s, 370.8, 1e-6);
  EXPECT_NEAR(found.rings.boxes[0].channels.gb_per_s_inside, 370.8 / 16, 1e-6);
  EXPECT_TRUE(found.rings.boxes[0].channels.same);
  const Placement placement = *Placement::Make(graph, graph.All(NodeKind::kGpu));
  for (const auto& [least, most] : {std::pair{0, 4}, {5, 4}, {1, 257}}) {
    options.min_channels = least;
    options.max_channels = most;
    EXPECT_EQ(SearchRings(placement, options).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(SearchTrees(placement, options).status().code(), Code::kInvalidArgument);
  }
}

TEST(Search, TheSameIsFoundAgainAndABudgetEndsIt) {
  const Graph graph = BuildNamed("p5", 2);
  const std::vector<int> gpus = graph.All(NodeKind::kGpu);
  const Placement one = *Placement::Make(graph, gpus), other = *Placement::Make(graph, gpus);
  SearchOptions options;
  const SearchResult first = *SearchRings(one, options), second = *SearchRings(other, options);
  EXPECT_EQ(first.visited, second.visited);
  ASSERT_EQ(ChannelsOf(first), ChannelsOf(second));
  for (std::size_t i = 0; i < ChannelsOf(first); ++i) {
    EXPECT_EQ(first.boxes[1].channels.channels[i].gpus, second.boxes[1].channels.channels[i].gpus);
    EXPECT_EQ(first.boxes[1].channels.channels[i].port_out, second.boxes[1].channels.channels[i].port_out);
  }
  EXPECT_TRUE(first.finished);
  options.budget = 20'000;
  const SearchResult ended = *SearchRings(one, options);
  EXPECT_FALSE(ended.finished);
  EXPECT_LT(ended.visited, 200'000);
  EXPECT_GT(ended.prediction.gb_per_s, 0);
  EXPECT_EQ(WrongWithRings(graph, gpus, one, ended), "");
}

// The search costs steps by the kinds of hosts, not by their number.
TEST(Search, AlikeHostsAreSearchedOnce) {
  const Graph two = BuildNamed("hgx-h100", 2), many = BuildNamed("hgx-h100", 128);
  const Placement of_two = *Placement::Make(two, two.All(NodeKind::kGpu)),
                  of_many = *Placement::Make(many, many.All(NodeKind::kGpu));
  const SearchResult few = *SearchRings(of_two), all = *SearchRings(of_many);
  EXPECT_EQ(few.visited, all.visited);
  EXPECT_LT(all.visited, 2'000'000);
  EXPECT_EQ(few.prediction.gb_per_s, all.prediction.gb_per_s);
}

// One host of eight has a card at a quarter of its rate: all have as many channels, and it takes part in as much as it can.
TEST(Search, ABadHostIsSearchedByItself) {
  const Graph graph = BuildText(
      "name one bad\ngpu H100\nnvlink switch\ncpu Intel 6/143\npci gen5 x16\nnic 400 Gbit/s\nhost\n  2 sockets\n    4 "
      "switches\n"
      "      1 gpu\n      1 nic\nbut host 3 nic 2: 100 Gbit/s\nfabric rail-optimised of 64 ports\n",
      8);
  const Both found = SearchAll(graph);
  EXPECT_NEAR(found.rings.bound_gb_per_s, 7 * 48 + 12.5, 1e-2);
  EXPECT_GE(found.rings.prediction.gb_per_s, 7 * 48 * 0.95);
  EXPECT_EQ(found.rings.boxes.size(), 8u);
}

// The canary of the checks above: they notice a rate that is a little too high, and a GPU that is visited twice.
TEST(Search, WrongResultsAreNoticed) {
  const Graph graph = BuildNamed("hgx-h100", 2);
  const std::vector<int> gpus = graph.All(NodeKind::kGpu);
  const Placement placement = *Placement::Make(graph, gpus);
  Both found = SearchAll(graph);
  found.rings.prediction.gb_per_s *= 1.001;
  EXPECT_NE(WrongWithRings(graph, gpus, placement, found.rings), "");
  found.trees.prediction.gb_per_s *= 1.001;
  EXPECT_NE(WrongWithTrees(graph, gpus, placement, found.trees), "");
  std::vector<int>& order = found.rings.boxes[0].channels.channels[0].gpus;
  order[0] = order[1];
  EXPECT_NE(WrongWithRings(graph, gpus, placement, found.rings), "");
  EXPECT_FALSE(IsTree({-1, 2, 1}));
  EXPECT_FALSE(IsTree({-1, -1, 0}));
  EXPECT_TRUE(IsTree({1, -1, 0}));
}

// Machines that nobody would build: whatever is found is valid, and is found again.
TEST(Search, RandomMachines) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Graph graph;
    std::vector<int> gpus, ports;
    const int hosts = 1 + static_cast<int>(random() % 3);
    const int leaf = graph.AddNode({.kind = NodeKind::kNetworkSwitch, .host = -1});
    const auto join = [&](int from, int to, LinkKind kind) {
      graph.AddLink(
          {.from = from, .to = to, .kind = kind, .rated_gb_per_s = 1 + static_cast<double>(random() % 40) / 3});
    };
    for (int host = 0; host < hosts; ++host) {
      graph.AddHost("host");
      const int near = graph.AddNode({.kind = NodeKind::kNumaNode, .host = host});
      const int far = graph.AddNode({.kind = NodeKind::kNumaNode, .host = host});
      join(near, far, LinkKind::kSocket);
      std::vector<int> own;
      const int count = 1 + static_cast<int>(random() % 6);
      for (int i = 0; i < count; ++i) {
        own.push_back(graph.AddNode(
            {.kind = NodeKind::kGpu, .host = host, .is = Gpu{.dev = i, .sm = 90, .gdr = random() % 2 == 0}}));
        join(own.back(), random() % 2 == 0 ? near : far, LinkKind::kPci);
        for (int other = 0; other < i; ++other) {
          if (random() % 3 == 0) join(own.back(), own[static_cast<std::size_t>(other)], LinkKind::kNvLink);
        }
      }
      const int cards = 1 + static_cast<int>(random() % 3);
      for (int i = 0; i < cards; ++i) {
        const int nic = graph.AddNode({.kind = NodeKind::kNic, .host = host});
        const int port = graph.AddNode(
            {.kind = NodeKind::kPort, .host = host, .is = Port{.dev = i, .gbit_per_s = 100, .gdr = true}});
        join(nic, random() % 2 == 0 ? near : far, LinkKind::kPci);
        join(nic, port, LinkKind::kLocal);
        join(port, leaf, LinkKind::kNetwork);
      }
      gpus.insert(gpus.end(), own.begin(), own.end());
    }
    const Both found = SearchAndCheck(graph, gpus);
    for (const SearchResult& result : {found.rings, found.trees}) {
      EXPECT_TRUE(result.finished);
      // Rates that share no divisor need more channels than there may be, and hosts that differ limit each other.
      EXPECT_GE(result.prediction.gb_per_s, 0.7 * result.bound_gb_per_s);
    }
  }
}

TEST(Search, WhatCannotBeReachedIsSaid) {
  Graph graph;
  graph.AddHost("host");
  std::vector<int> gpus;
  for (int i = 0; i < 4; ++i)
    gpus.push_back(graph.AddNode({.kind = NodeKind::kGpu, .host = 0, .is = Gpu{.dev = i, .sm = 90}}));
  // A chain of four GPUs: data go through one GPU at most, so the ends do not reach each other.
  for (std::size_t i = 1; i < 4; ++i) {
    graph.AddLink({.from = gpus[i - 1], .to = gpus[i], .kind = LinkKind::kNvLink, .rated_gb_per_s = 20});
  }
  const Placement chain = *Placement::Make(graph, gpus);
  EXPECT_TRUE(SearchTrees(chain).ok());
  const Placement ends = *Placement::Make(graph, std::vector{gpus[0], gpus[3]});
  EXPECT_EQ(SearchRings(ends).status().message(), "No path leads from the GPU of rank 0 to that of rank 1.");
  EXPECT_EQ(SearchTrees(ends).status().code(), Code::kUnsupported);

  // Two hosts whose networks nothing joins.
  Graph apart = BuildNamed("hgx-h100", 2);
  for (std::size_t i = 0; i < apart.links().size(); ++i) {
    Link& link = apart.link(static_cast<int>(i));
    const int host = apart.node(link.from).host >= 0 ? apart.node(link.from).host : apart.node(link.to).host;
    if (link.kind == LinkKind::kNetwork && host != 0) link.rated_gb_per_s = 0;
  }
  EXPECT_EQ(Placement::Make(apart, apart.All(NodeKind::kGpu)).status().code(), Code::kUnsupported);
}

TEST(Search, OneRankAndRanksOfOneGpu) {
  const Graph graph = BuildNamed("hgx-h100", 1);
  const int gpu = graph.All(NodeKind::kGpu)[0];
  const Placement alone = *Placement::Make(graph, std::vector{gpu});
  const SearchResult one = *SearchRings(alone);
  EXPECT_EQ(one.prediction.gb_per_s, 0);
  EXPECT_EQ(one.boxes[0].channels.channels[0].gpus, std::vector{gpu});
  const Placement shared = *Placement::Make(graph, std::vector{gpu, gpu, gpu});
  const SearchResult three = *SearchRings(shared);
  EXPECT_EQ(three.prediction.gb_per_s, std::numeric_limits<double>::infinity());
  EXPECT_EQ(three.prediction.link, -1);
}

}  // namespace
}  // namespace tutti::topo
