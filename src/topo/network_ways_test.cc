// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/network_ways.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tutti::topo {
namespace {

int AddPort(Graph& graph, int host, int dev, double gbit_per_s) {
  Node node{.kind = NodeKind::kPort, .host = host};
  node.is = Port{.dev = dev, .gbit_per_s = gbit_per_s};
  return graph.AddNode(node);
}

int AddSwitch(Graph& graph) { return graph.AddNode({.kind = NodeKind::kNetworkSwitch, .host = -1}); }

int Join(Graph& graph, int from, int to, double gb_per_s) {
  return graph.AddLink({.from = from, .to = to, .kind = LinkKind::kNetwork, .rated_gb_per_s = gb_per_s});
}

// Ports a and b at one leaf, c at another; two spines, of which the second has links twice as fast.
struct Tree {
  Graph graph;
  int a, b, c, left, right, slow, fast;
  int a_left, b_left, c_right, left_slow, left_fast, right_slow, right_fast;
  Tree() {
    a = AddPort(graph, 0, 0, 400);
    b = AddPort(graph, 1, 0, 400);
    c = AddPort(graph, 2, 0, 400);
    left = AddSwitch(graph);
    right = AddSwitch(graph);
    slow = AddSwitch(graph);
    fast = AddSwitch(graph);
    a_left = Join(graph, a, left, 50);
    b_left = Join(graph, left, b, 50);
    c_right = Join(graph, c, right, 25);
    left_slow = Join(graph, left, slow, 50);
    left_fast = Join(graph, left, fast, 100);
    right_slow = Join(graph, right, slow, 50);
    right_fast = Join(graph, right, fast, 100);
  }
};

TEST(NetworkWays, RatesAndDistances) {
  Tree tree;
  const int lonely = AddPort(tree.graph, 3, 0, 400);
  const NetworkWays ways(tree.graph);
  EXPECT_EQ(ways.gb_per_s(tree.a), 50);
  EXPECT_EQ(ways.gb_per_s(tree.c), 25);
  EXPECT_EQ(ways.gb_per_s(lonely), 0);
  EXPECT_EQ(ways.Hops(tree.a, tree.b), 2);
  EXPECT_EQ(ways.Hops(tree.a, tree.c), 4);
  EXPECT_EQ(ways.Hops(tree.c, tree.a), 4);
  EXPECT_EQ(ways.Hops(tree.a, lonely), std::nullopt);
  EXPECT_EQ(ways.NextTo(tree.a), std::vector<int>{tree.left});
}

TEST(NetworkWays, DataIsSplitByRates) {
  const Tree tree;
  const NetworkWays ways(tree.graph);
  std::vector<double> loads(2 * tree.graph.links().size(), 0);
  ways.Charge(tree.a, tree.c, 3, loads);
  const auto load = [&](int link, int direction) { return loads[static_cast<std::size_t>(2 * link + direction)]; };
  EXPECT_EQ(load(tree.a_left, 0), 3);
  EXPECT_EQ(load(tree.left_slow, 0), 1);
  EXPECT_EQ(load(tree.left_fast, 0), 2);
  EXPECT_EQ(load(tree.right_slow, 1), 1);
  EXPECT_EQ(load(tree.right_fast, 1), 2);
  EXPECT_EQ(load(tree.c_right, 1), 3);
  double sum = 0;
  for (const double one : loads) sum += one;
  EXPECT_EQ(sum, 12);
  ways.Charge(tree.a, tree.b, 1, loads);
  EXPECT_EQ(load(tree.a_left, 0), 4);
  EXPECT_EQ(load(tree.b_left, 0), 1);
}

TEST(NetworkWays, CablesNeedNoSwitch) {
  Graph graph;
  const int a = AddPort(graph, 0, 0, 200), b = AddPort(graph, 1, 0, 0);
  const int cable = Join(graph, a, b, 20);
  const NetworkWays ways(graph);
  EXPECT_EQ(ways.Hops(a, b), 1);
  EXPECT_EQ(ways.gb_per_s(a), 20);
  EXPECT_EQ(ways.gb_per_s(b), 20);
  std::vector<double> loads(2, 0);
  ways.Charge(b, a, 2, loads);
  EXPECT_EQ(loads[static_cast<std::size_t>(2 * cable + 1)], 2);
}

TEST(NetworkWays, WithoutAnyLinksAllIsReachedAndRailsAreCloser) {
  Graph graph;
  const int a = AddPort(graph, 0, 0, 200), b = AddPort(graph, 1, 0, 0), c = AddPort(graph, 1, 1, 200);
  const NetworkWays ways(graph);
  EXPECT_EQ(ways.Hops(a, b), 2);
  EXPECT_EQ(ways.Hops(a, c), 4);
  EXPECT_EQ(ways.gb_per_s(a), 25);
  EXPECT_EQ(ways.gb_per_s(b), std::numeric_limits<double>::infinity());
}

// A link that joins something else than ports and switches is no link of the network.
TEST(NetworkWays, OtherNodesAreNoPartOfIt) {
  Graph graph;
  const int a = AddPort(graph, 0, 0, 200);
  const int gpu = graph.AddNode({.kind = NodeKind::kGpu, .host = 0});
  const int leaf = AddSwitch(graph);
  Join(graph, a, gpu, 50);
  Join(graph, gpu, leaf, 50);
  const NetworkWays ways(graph);
  EXPECT_EQ(ways.gb_per_s(a), 0);
  EXPECT_TRUE(ways.NextTo(a).empty());
}

}  // namespace
}  // namespace tutti::topo
