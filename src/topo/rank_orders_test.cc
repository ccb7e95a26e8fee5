// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/rank_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "topo/prediction.h"

namespace tutti::topo {
namespace {

// Hosts of three GPUs at one NVSwitch and two ports, whose ranks are spread: rank 0 is on host 0, rank 1 on host 1, and so on.
struct Hosts {
  Graph graph;
  std::vector<int> gpus, ports;  // by rank; by host, two each
  explicit Hosts(int hosts) {
    std::vector<std::vector<int>> own(static_cast<std::size_t>(hosts));
    for (int host = 0; host < hosts; ++host) {
      graph.AddHost("host");
      const int numa = graph.AddNode({.kind = NodeKind::kNumaNode, .host = host});
      const int nvswitch = graph.AddNode({.kind = NodeKind::kNvSwitch, .host = host});
      const int bus = graph.AddNode({.kind = NodeKind::kPciSwitch, .host = host});
      graph.AddLink({.from = numa, .to = bus, .kind = LinkKind::kPci, .rated_gb_per_s = 50});
      for (int i = 0; i < 3; ++i) {
        const int gpu =
            graph.AddNode({.kind = NodeKind::kGpu, .host = host, .is = Gpu{.dev = i, .sm = 90, .gdr = true}});
        graph.AddLink({.from = gpu, .to = nvswitch, .kind = LinkKind::kNvLink, .rated_gb_per_s = 100});
        graph.AddLink({.from = gpu, .to = bus, .kind = LinkKind::kPci, .rated_gb_per_s = 50});
        own[static_cast<std::size_t>(host)].push_back(gpu);
      }
      for (int i = 0; i < 2; ++i) {
        const int nic = graph.AddNode({.kind = NodeKind::kNic, .host = host});
        const int port = graph.AddNode(
            {.kind = NodeKind::kPort, .host = host, .is = Port{.dev = i, .gbit_per_s = 200, .gdr = true}});
        graph.AddLink({.from = bus, .to = nic, .kind = LinkKind::kPci, .rated_gb_per_s = 50});
        graph.AddLink({.from = nic, .to = port, .kind = LinkKind::kLocal, .rated_gb_per_s = 25});
        ports.push_back(port);
      }
    }
    for (int i = 0; i < 3; ++i) {
      for (const std::vector<int>& host : own) gpus.push_back(host[static_cast<std::size_t>(i)]);
    }
  }

  Placement Place() const { return *Placement::Make(graph, gpus); }
  // The order of a host's GPUs, by number, with the ports in and out.
  BoxChannels Channel(int host, std::vector<int> order, int in, int out) const {
    const int hosts = static_cast<int>(graph.hosts().size());
    BoxChannels box{.box = host, .channels = {}};
    ChannelOrder& channel = box.channels.channels.emplace_back();
    for (const int dev : order) channel.gpus.push_back(gpus[static_cast<std::size_t>(dev * hosts + host)]);
    channel.port_in = PortOf(host, in);
    channel.port_out = PortOf(host, out);
    return box;
  }
  int PortOf(int host, int dev) const { return ports[static_cast<std::size_t>(2 * host + dev)]; }
};

TEST(RankOrders, RingsGoFromBoxToBox) {
  const Hosts hosts(2);
  const Placement placement = hosts.Place();
  ASSERT_EQ(placement.boxes().size(), 2u);
  const std::vector<BoxChannels> boxes = {hosts.Channel(0, {0, 2, 1}, 0, 1), hosts.Channel(1, {1, 0, 2}, 1, 0)};
  const Result<std::vector<RankRing>> rings = MakeRings(placement, boxes);
  ASSERT_TRUE(rings.ok()) << rings.status().ToString();
  ASSERT_EQ(rings->size(), 1u);
  EXPECT_EQ((*rings)[0].ranks, (std::vector{0, 4, 2, 3, 1, 5}));
  const Crossing inside, there{.out = hosts.PortOf(0, 1), .in = hosts.PortOf(1, 1)},
      back{.out = hosts.PortOf(1, 0), .in = hosts.PortOf(0, 0)};
  EXPECT_EQ((*rings)[0].crossings, (std::vector{inside, inside, there, inside, inside, back}));
  // 25 GB/s of a port bind; the card's own link comes first.
  const Prediction prediction = PredictRings(placement, *rings);
  EXPECT_EQ(prediction.gb_per_s, 25);
  EXPECT_EQ(hosts.graph.link(prediction.link).kind, LinkKind::kLocal);
}

TEST(RankOrders, TreesHangOnATreeOfBoxes) {
  const Hosts hosts(2);
  const Placement placement = hosts.Place();
  const std::vector<BoxChannels> boxes = {hosts.Channel(0, {0, 2, 1}, 0, 0), hosts.Channel(1, {1, 0, 2}, 1, 1)};
  const auto chains = MakeTrees(placement, boxes, TreesPerChannel::kTwo, TreeShape::kChain);
  ASSERT_TRUE(chains.ok()) << chains.status().ToString();
  ASSERT_EQ(chains->size(), 2u);
  // Chains 0 - 4 - 2 and 3 - 1 - 5. The second box is at the top of the first tree, and the first one of the second tree.
  EXPECT_EQ((*chains)[0].parents, (std::vector{3, 3, 4, -1, 0, 1}));
  EXPECT_EQ((*chains)[0].crossings[0], (Crossing{.out = hosts.PortOf(0, 0), .in = hosts.PortOf(1, 1)}));
  EXPECT_EQ((*chains)[1].parents, (std::vector{-1, 3, 4, 0, 0, 1}));
  EXPECT_EQ((*chains)[1].crossings[3], (Crossing{.out = hosts.PortOf(1, 1), .in = hosts.PortOf(0, 0)}));
  const auto binary = MakeTrees(placement, boxes, TreesPerChannel::kOne, TreeShape::kBinary);
  ASSERT_TRUE(binary.ok());
  ASSERT_EQ(binary->size(), 1u);
  EXPECT_EQ((*binary)[0].parents, (std::vector{3, 3, 0, -1, 0, 3}));
  // Each tree has half of the data, and each port sends all of it: 25 GB/s, which a bus bandwidth counts 2 * 5 / 6 times.
  EXPECT_NEAR(PredictTrees(placement, *chains).gb_per_s, 25 * 10.0 / 6, 1e-9);
}

TEST(RankOrders, AnOrderThatIsNoChainKeepsItsShape) {
  const Hosts hosts(1);
  const Placement placement = hosts.Place();
  BoxChannels box = hosts.Channel(0, {1, 0, 2}, 0, 0);
  box.channels.channels[0].parents = {-1, 0, 0};
  for (const TreeShape shape : {TreeShape::kChain, TreeShape::kBinary}) {
    const auto trees = MakeTrees(placement, std::vector{box}, TreesPerChannel::kOne, shape);
    ASSERT_TRUE(trees.ok()) << trees.status().ToString();
    EXPECT_EQ((*trees)[0].parents, (std::vector{1, -1, 1}));
  }
  // The middle of it sends twice what it has: 50 of 100 GB/s, times 2 * 2 / 3.
  const auto trees = MakeTrees(placement, std::vector{box}, TreesPerChannel::kOne, TreeShape::kChain);
  EXPECT_NEAR(PredictTrees(placement, *trees).gb_per_s, 50 * 4.0 / 3, 1e-9);
  box.channels.channels[0].parents = {-1, 2, 0};
  EXPECT_NE(MakeTrees(placement, std::vector{box}, TreesPerChannel::kOne, TreeShape::kChain)
                .status()
                .message()
                .find("parents"),
            std::string::npos);
}

// Two trees over any number of boxes: each joins all, nobody has more than two children, and together no box has more than four
// neighbours and the data of two. Of an even number every box is a leaf of one of them.
TEST(RankOrders, TreesOfBoxesComplementEachOther) {
  EXPECT_EQ(TreesOfBoxes(1, TreesPerChannel::kTwo), (std::vector<std::vector<int>>{{-1}, {-1}}));
  EXPECT_EQ(TreesOfBoxes(4, TreesPerChannel::kOne), (std::vector<std::vector<int>>{{1, 3, 1, -1}}));
  for (int boxes = 1; boxes <= 130; ++boxes) {
    const std::vector<std::vector<int>> trees = TreesOfBoxes(boxes, TreesPerChannel::kTwo);
    std::vector<int> inner(static_cast<std::size_t>(boxes), 0), edges(static_cast<std::size_t>(boxes), 0);
    for (const std::vector<int>& parents : trees) {
      std::vector<int> children(static_cast<std::size_t>(boxes), 0);
      for (int box = 0; box < boxes; ++box) {
        int root = box, depth = 0;
        while (parents[static_cast<std::size_t>(root)] >= 0) {
          root = parents[static_cast<std::size_t>(root)];
          ASSERT_LE(++depth, 8);
        }
        EXPECT_EQ(parents[static_cast<std::size_t>(root)], -1);
        const int parent = parents[static_cast<std::size_t>(box)];
        if (parent < 0) continue;
        ++children[static_cast<std::size_t>(parent)];
        ++edges[static_cast<std::size_t>(parent)];
        ++edges[static_cast<std::size_t>(box)];
      }
      EXPECT_EQ(std::ranges::count(parents, -1), 1);
      for (std::size_t box = 0; box < children.size(); ++box) {
        EXPECT_LE(children[box], 2);
        inner[box] += children[box] > 0 ? 1 : 0;
      }
    }
    EXPECT_LE(std::ranges::max(edges), 4) << boxes;
    EXPECT_LE(std::ranges::max(inner), boxes % 2 == 0 ? 1 : 2) << boxes;
  }
}

TEST(RankOrders, RanksMayShareAGpu) {
  Hosts hosts(1);
  hosts.gpus = {hosts.gpus[0], hosts.gpus[1], hosts.gpus[0]};
  const Placement placement = hosts.Place();
  BoxChannels box{.box = 0, .channels = {}};
  box.channels.channels.push_back({.gpus = {hosts.gpus[0], hosts.gpus[1], hosts.gpus[0]}});
  const auto rings = MakeRings(placement, std::vector{box});
  ASSERT_TRUE(rings.ok()) << rings.status().ToString();
  EXPECT_EQ((*rings)[0].ranks, (std::vector{0, 1, 2}));
}

TEST(RankOrders, WrongChannelsAreSaid) {
  const Hosts hosts(2);
  const Placement placement = hosts.Place();
  const auto why = [&](std::vector<BoxChannels> boxes) { return MakeRings(placement, boxes).status().message(); };
  const BoxChannels good = hosts.Channel(1, {0, 1, 2}, 0, 0);
  EXPECT_EQ(why({good}), "There are channels for 1 boxes of 2.");
  EXPECT_NE(why({hosts.Channel(0, {0, 1}, 0, 0), good}).find("misses node"), std::string::npos);
  EXPECT_NE(why({hosts.Channel(0, {0, 1, 1, 2}, 0, 0), good}).find("once too often"), std::string::npos);
  BoxChannels without = hosts.Channel(0, {0, 1, 2}, 0, 0);
  without.channels.channels[0].port_out.reset();
  EXPECT_NE(why({without, good}).find("needs a port"), std::string::npos);
  BoxChannels two = hosts.Channel(0, {0, 1, 2}, 0, 0);
  two.channels.channels.push_back(two.channels.channels[0]);
  EXPECT_EQ(why({two, good}), "Boxes have 2 and 1 channels: all need the same number.");
}

TEST(Placement, SaysWhatIsWrong) {
  const Hosts hosts(2);
  const auto why = [&](std::vector<int> gpus) { return Placement::Make(hosts.graph, gpus).status().message(); };
  EXPECT_EQ(why({}), "There are no ranks: name at least one GPU.");
  EXPECT_EQ(why({hosts.gpus[0], 1000}), "Rank 1 has node 1000 of the machine, which is no GPU of a host.");
  EXPECT_EQ(why({hosts.ports[0]}),
            "Rank 0 has node " + std::to_string(hosts.ports[0]) + " of the machine, which is no GPU of a host.");
  Graph bare;
  for (int host = 0; host < 2; ++host) {
    bare.AddHost("node" + std::to_string(host));
    bare.AddNode({.kind = NodeKind::kGpu, .host = host, .is = Gpu{}});
  }
  EXPECT_EQ(Placement::Make(bare, std::vector{0, 1}).status().message(),
            "Rank 0 cannot reach ranks of other hosts: host node0 has no port with a network link. Describe its "
            "network card, or bring "
            "its link up.");
}

TEST(Placement, HostsThatNvLinksJoinAreOneBox) {
  Hosts hosts(3);
  const int shared = hosts.graph.AddNode({.kind = NodeKind::kNvSwitch, .host = -1});
  for (const int rank : {0, 1}) {
    hosts.graph.AddLink({.from = hosts.gpus[static_cast<std::size_t>(rank)],
                         .to = shared,
                         .kind = LinkKind::kNvLink,
                         .rated_gb_per_s = 9});
  }
  const Placement placement = hosts.Place();
  ASSERT_EQ(placement.boxes().size(), 2u);
  EXPECT_EQ(placement.boxes()[0].ranks, (std::vector{0, 1, 3, 4, 6, 7}));
  EXPECT_EQ(placement.BoxOf(5), 1);
  EXPECT_EQ(placement.PositionOf(8), 2);
}

TEST(Placement, BoxesThatAreAlikeAreFound) {
  Hosts hosts(4);
  hosts.graph.link(static_cast<int>(hosts.graph.links().size()) - 1).measured_gb_per_s =
      20;  // of the last host's second card
  const Placement placement = hosts.Place();
  std::vector<int> firsts;
  for (const Box& box : placement.boxes()) firsts.push_back(box.first_alike);
  EXPECT_EQ(firsts, (std::vector{0, 0, 0, 3}));
}

}  // namespace
}  // namespace tutti::topo
