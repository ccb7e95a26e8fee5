// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/ring_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "topo/channels_xml.h"
#include "topo/machine_text.h"
#include "topo/named_machines.h"
#include "topo/paths.h"
#include "topo/placement.h"
#include "topo/prediction.h"
#include "topo/rank_orders.h"

namespace tutti::topo {
namespace {

Graph BuildText(const std::string& text) {
  const Result<Machine> machine = ReadMachineText(text, "the machine");
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  return *BuildGraph(*machine, 1);
}

Graph BuildNamed(const std::string& name) { return *BuildGraph(*FindMachine(name), 1); }

// Two GPUs at each socket, and NVLinks from each to one of the other socket: only by these a ring need not cross the sockets' link.
const std::string kPairs = R"(
gpu RTX-3090
cpu Intel 6/106
nvlink 4 per pair: 0-2 1-3
host
  socket
    2 gpus
  socket
    2 gpus
)";

double RateOf(const Graph& graph, const std::vector<int>& gpus, const std::vector<int>& ring) {
  const Placement placement = *Placement::Make(graph, gpus);
  const RankRing one{.ranks = ring, .crossings = std::vector<Crossing>(ring.size())};
  return PredictRings(placement, std::span(&one, 1)).gb_per_s;
}

TEST(RingChoice, FollowsTheNvLinks) {
  const Graph graph = BuildText(kPairs);
  const std::vector<int> gpus = graph.All(NodeKind::kGpu);
  const Result<std::vector<int>> ring = ChooseRing(graph, gpus, {}, {});
  ASSERT_TRUE(ring.ok()) << ring.status().message();
  ASSERT_EQ(ring->size(), 4u);
  std::vector<int> in_order(4);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_GT(RateOf(graph, gpus, *ring), 1.05 * RateOf(graph, gpus, in_order));
  const auto next = [&](int rank) {
    const auto at = std::ranges::find(*ring, rank) - ring->begin();
    return std::vector{(*ring)[static_cast<std::size_t>((at + 1) % 4)],
                       (*ring)[static_cast<std::size_t>((at + 3) % 4)]};
  };
  EXPECT_EQ(std::ranges::count(next(0), 2), 1) << "0 and 2 are neighbours";
  EXPECT_EQ(std::ranges::count(next(1), 3), 1);
}

// The same GPUs with ranks that follow the NVLinks already.
TEST(RingChoice, LeavesAGoodOrderAlone) {
  const Graph graph = BuildText(kPairs);
  const std::vector<int> gpus = {*graph.GpuOf(0, 0), *graph.GpuOf(0, 2), *graph.GpuOf(0, 3), *graph.GpuOf(0, 1)};
  EXPECT_EQ(ChooseRing(graph, gpus, {}, {})->size(), 0u);
  const Graph alike = BuildNamed("hgx-h100");
  EXPECT_EQ(ChooseRing(alike, alike.All(NodeKind::kGpu), {}, {})->size(), 0u);
}

// With a budget of nothing there is no order to be had but that of an error, if all pairs were searched.
TEST(RingChoice, SearchesNothingWhereAllPairsAreAlike) {
  const Graph graph = BuildNamed("hgx-h100");
  const std::vector<int> gpus = graph.All(NodeKind::kGpu);
  const ChannelBounds wrong{.min_channels = 4, .max_channels = 2};
  EXPECT_TRUE(ChooseRing(graph, gpus, {}, wrong).ok());
  EXPECT_FALSE(SearchChannels(graph, gpus, {}, wrong).ok());
}

// NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS.
TEST(RingChoice, BoundsOfChannelsHold) {
  const Graph graph = BuildNamed("hgx-h100");
  const std::vector<int> gpus = graph.All(NodeKind::kGpu);
  const auto count = [&](const ChannelBounds& bounds) {
    const Result<std::vector<Channels>> found = SearchChannels(graph, gpus, {}, bounds);
    EXPECT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->size(), 2u);
    EXPECT_EQ((*found)[0].id, GraphId::kRing);
    EXPECT_EQ((*found)[1].id, GraphId::kTree);
    return (*found)[0].channels.size();
  };
  EXPECT_EQ(count({.min_channels = 1, .max_channels = 1}), 1u);
  EXPECT_EQ(count({.min_channels = 6, .max_channels = 6}), 6u);
  EXPECT_GE(count({.min_channels = 3}), 3u);
}

TEST(RingChoice, ChannelsOfAFileBecomeRanks) {
  const Graph graph = BuildText(kPairs);
  const std::vector<int> gpus = graph.All(NodeKind::kGpu);
  const ChannelOrder order{.gpus = {gpus[2], gpus[0], gpus[1], gpus[3]}};
  EXPECT_EQ(RanksAlong(order, gpus), (std::vector{2, 0, 1, 3}));
  const std::vector<int> turned = {gpus[3], gpus[2], gpus[1], gpus[0]};
  EXPECT_EQ(RanksAlong(order, turned), (std::vector{1, 3, 2, 0}));
  EXPECT_TRUE(RanksAlong(order, std::vector(gpus.begin(), gpus.begin() + 3)).empty()) << "fewer ranks";
  EXPECT_TRUE(RanksAlong(order, std::vector{gpus[0], gpus[0], gpus[1], gpus[2]}).empty()) << "two ranks on a GPU";
  EXPECT_TRUE(RanksAlong({.gpus = {gpus[0], gpus[0], gpus[1], gpus[2]}}, gpus).empty());
}

// What is written can be read again, and says the same.
TEST(RingChoice, FoundChannelsCrossAFile) {
  const Graph graph = BuildText(kPairs);
  const std::vector<Channels> found = *SearchChannels(graph, graph.All(NodeKind::kGpu), {}, {});
  const Result<std::vector<Channels>> read = ReadChannelsXml(WriteChannelsXml(found, graph), "graph.xml", graph);
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ((*read)[i].channels.size(), found[i].channels.size());
    for (std::size_t c = 0; c < found[i].channels.size(); ++c) {
      EXPECT_EQ((*read)[i].channels[c].gpus, found[i].channels[c].gpus);
    }
  }
}

}  // namespace
}  // namespace tutti::topo
