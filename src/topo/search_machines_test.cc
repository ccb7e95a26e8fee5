// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/search.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/search_checks.h"

namespace tutti::topo {
namespace {

// On all of them the channels are within 2 % of what no channels can be better than, which is a proof that they are good.
TEST(SearchMachines, NamedMachinesComeCloseToTheirBound) {
  for (const NamedMachine& machine : NamedMachines()) {
    const std::string name(machine.name);
    for (const int hosts : {1, 2, 3}) {
      if (name == "rtx-pro-6000-x8" && hosts > 1) continue;  // has no network
      SCOPED_TRACE(name + " x " + std::to_string(hosts));
      const Graph graph = BuildNamed(name, hosts);
      const Both found = SearchAll(graph);
      for (const SearchResult& result : {found.rings, found.trees}) {
        EXPECT_TRUE(result.finished);
        if (name == "gb300-dead-nvlink" && hosts == 3) continue;  // of twelve GPUs nothing is proven
        EXPECT_GE(result.prediction.gb_per_s, 0.98 * result.bound_gb_per_s);
        EXPECT_EQ(result.prediction.link >= 0, graph.All(NodeKind::kGpu).size() > 1);
      }
    }
  }
}

TEST(SearchMachines, FindsTheRingsOfCubesAndOfWhatIsLeftOfThem) {
  const Graph graph = BuildNamed("dgx-1", 1);
  const std::vector<int> gpus = graph.All(NodeKind::kGpu);
  const Both all = SearchAndCheck(graph, gpus);
  EXPECT_NEAR(all.rings.prediction.gb_per_s, 120, 1e-6);  // six NVLinks of 20 into each GPU
  EXPECT_EQ(ChannelsOf(all.rings), 6u);
  const std::map<int, double> best = {{7, 80}, {6, 60}, {5, 40}, {4, 80}, {3, 40}, {2, 20}};
  for (const auto& [ranks, gb_per_s] : best) {
    const std::vector<int> some(gpus.begin(), gpus.begin() + ranks);
    const Both part = SearchAndCheck(graph, some);
    EXPECT_NEAR(part.rings.prediction.gb_per_s, gb_per_s, 1e-6) << ranks;
    EXPECT_NEAR(part.rings.bound_gb_per_s, gb_per_s, 1e-3) << ranks;
  }
}

TEST(SearchMachines, AnyNumberOfGpusOfASwitchHasItsLinks) {
  const Graph graph = BuildNamed("hgx-h100", 1);
  const std::vector<int> all = graph.All(NodeKind::kGpu);
  for (const int ranks : {2, 3, 5, 6, 7}) {
    const Both found = SearchAndCheck(graph, std::vector(all.end() - ranks, all.end()));
    EXPECT_NEAR(found.rings.prediction.gb_per_s, 370.8, 1e-6);
    EXPECT_GE(found.trees.prediction.gb_per_s, 370.8 * 0.99);
  }
}

// What NCCL reached where its search went wrong, in GB/s of bus bandwidth as measured, and what these channels allow.
TEST(SearchMachines, IsBetterWhereNcclGoesWrong) {
  // A GB300 tray, one of whose GPUs has lost its NVLinks: 684.9 fell to 51.6. It is a leaf, by its 223.6 GB/s of C2C.
  const Both dead = SearchAll(BuildNamed("gb300-dead-nvlink", 1));
  EXPECT_GT(dead.trees.prediction.gb_per_s, 51.6);
  EXPECT_NEAR(dead.trees.prediction.gb_per_s, 223.56 * 3 / 2, 1e-6);

  // Three of the GPUs of a host with NVLink bridges between pairs: 208 fell to 20.
  const Graph pairs = BuildText(
      "name pairs\ngpu A100-PCIe\nnvlink groups of 2\ncpu Intel 6/106\npci gen4 x16\nhost\n  2 sockets\n    4 "
      "gpus\nfabric none\n",
      1);
  std::vector<int> three = pairs.All(NodeKind::kGpu);
  three.resize(3);
  const Both odd = SearchAndCheck(pairs, three);
  EXPECT_GT(odd.trees.prediction.gb_per_s, 20);
  EXPECT_NEAR(odd.trees.prediction.gb_per_s, 20 * 4.0 / 3, 1e-6);  // 24 of PCI, which Intel's CPUs make 20
  EXPECT_NEAR(odd.rings.prediction.gb_per_s, 20, 1e-6);

  // Two H200 hosts as flat virtual machines: 488 fell to 55. As the graph has it their PCI links bind, which say 24 each.
  const Both flat = SearchAll(BuildNamed("hgx-h200-vm", 2));
  EXPECT_NEAR(flat.rings.prediction.gb_per_s, 192, 1e-6);
  EXPECT_EQ(ChannelsOf(flat.rings), 8u);
  EXPECT_GT(flat.trees.prediction.gb_per_s, 192);

  // One GPU and four cards: a tree made 41 of 200. The GPU's own PCI link has 48.
  const Both one = SearchAll(BuildNamed("one-gpu-four-nics", 2));
  EXPECT_NEAR(one.trees.prediction.gb_per_s, 48, 1e-6);
  EXPECT_NEAR(one.rings.prediction.gb_per_s, 48, 1e-6);
}

int CountSocketCrossings(const Graph& graph, const std::vector<int>& gpus, const RankRing& ring) {
  int crossings = 0;
  for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
    const int from = gpus[static_cast<std::size_t>(ring.ranks[i])];
    const int to = gpus[static_cast<std::size_t>(ring.ranks[(i + 1) % ring.ranks.size()])];
    crossings += Paths(graph, from).type(to) == PathType::kSys ? 1 : 0;
  }
  return crossings;
}

TEST(SearchMachines, RingsOfPciBoxesCrossTheSocketsOnceEachWay) {
  for (const std::string_view name : {"rtx-4090-x8", "rtx-pro-6000-x8", "l40s-x8", "g5"}) {
    SCOPED_TRACE(std::string(name));
    const Graph graph = BuildNamed(name, 1);
    // In an order that is bad as it stands: one GPU of each socket in turn.
    std::vector<int> gpus = graph.All(NodeKind::kGpu);
    for (std::size_t i = 1; i < 4; i += 2) std::swap(gpus[i], gpus[i + 4]);
    const Both found = SearchAndCheck(graph, gpus);
    const Placement placement = *Placement::Make(graph, gpus);
    const std::vector<RankRing> rings = *MakeRings(placement, found.rings.boxes);
    for (const RankRing& ring : rings) EXPECT_EQ(CountSocketCrossings(graph, gpus, ring), 2);
    EXPECT_GE(found.trees.prediction.gb_per_s, found.rings.prediction.gb_per_s * 0.99);
  }
}

constexpr std::string_view kTwoCards =
    "name two cards\ngpu H100\nnvlink switch\ncpu Intel 6/143\npci gen5 x16\nhost\n  2 sockets\n    switch\n      2 "
    "gpus\n      1 nic\n"
    "but nic 0: 100 Gbit/s\nbut nic 1: 400 Gbit/s\nfabric one switch\n";

// 12.5 and 48 GB/s (the PCI link of the second card): as many channels as share them well. NCCL would take two equal ones.
TEST(SearchMachines, UnequalCardsCarryUnequalParts) {
  const Both found = SearchAll(BuildText(kTwoCards, 2));
  EXPECT_NEAR(found.rings.bound_gb_per_s, 60.5, 1e-3);
  EXPECT_GE(found.rings.prediction.gb_per_s, 0.99 * 60.5);
  SearchOptions few;
  few.max_channels = 4;
  EXPECT_NEAR(SearchAll(BuildText(kTwoCards, 2), few).rings.prediction.gb_per_s, 4 * 12.5, 1e-6);
}

// A rate below 1 GB/s is a limit as others are, where NCCL counts in whole GB/s.
TEST(SearchMachines, SlowCardsAreNotFree) {
  const Graph graph = BuildText(
      "name slow\ngpu H100\nnvlink switch\ncpu Intel 6/143\npci gen5 x16\nnic 4 Gbit/s\nhost\n  1 socket\n    4 gpus\n "
      "   1 nic\n"
      "fabric one switch\n",
      2);
  EXPECT_NEAR(SearchAll(graph).rings.prediction.gb_per_s, 0.5, 1e-9);
}

// Eight GPUs that go out by one card of 50 GB/s behind a PCI link of 48; and one GPU that has four cards to itself at its CPU.
TEST(SearchMachines, OneCardForManyAndManyForOne) {
  const Graph many = BuildText(
      "name many\ngpu H100\nnvlink switch\ncpu Intel 6/143\npci gen5 x16\nnic 400 Gbit/s\nhost\n  1 socket\n    8 "
      "gpus\n    switch\n"
      "      1 nic\nfabric one switch\n",
      2);
  EXPECT_NEAR(SearchAll(many).rings.prediction.gb_per_s, 48, 1e-6);
  const Both one =
      SearchAll(BuildText("name one\ngpu GH200\ncpu arm64\nc2c 10 lines of 37000 MB/s\npci gen5 x16\nnic 400 "
                          "Gbit/s\nhost\n  1 socket\n    1 gpu\n    4 nics\n"
                          "fabric one switch\n",
                          2));
  EXPECT_NEAR(one.rings.prediction.gb_per_s, 4 * 48, 1e-6);
  EXPECT_EQ(ChannelsOf(one.rings), 4u);
  EXPECT_NEAR(one.trees.prediction.gb_per_s, 4 * 48, 1e-6);
}

// Three GPUs without NVLinks among twelve: a chain has two ends, so one of them hangs in its middle, and nobody waits for it twice.
TEST(SearchMachines, GpusWithoutNvLinksHangOnOthers) {
  const Graph graph = BuildNamed("gb300-dead-nvlink", 3);
  const Both found = SearchAll(graph);
  EXPECT_NEAR(found.trees.prediction.gb_per_s, 223.56 * 2 * 11 / 12, 1e-6);
  EXPECT_FALSE(found.trees.boxes[0].channels.channels[0].parents.empty());
}

}  // namespace
}  // namespace tutti::topo
