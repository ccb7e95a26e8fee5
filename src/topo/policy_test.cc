// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/policy.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "topo/machine_text.h"

namespace tutti::topo {
namespace {

Graph Build(const std::string& text, int hosts = 1) {
  const Result<Machine> machine = ReadMachineText(text, "the machine");
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  Result<Graph> graph = BuildGraph(*machine, hosts);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *graph;
}

// A host by the numbers of its GPUs and ports.
struct Host {
  Graph graph;
  HostPaths paths;

  explicit Host(const std::string& text, const PolicyOptions& options = {}) : Host(Build(text), options) {}
  Host(Graph built, const PolicyOptions& options, std::vector<int> hosts = {0})
      : graph(std::move(built)), paths(graph, hosts, options) {}

  int Gpu(int dev, int host = 0) const { return *graph.GpuOf(host, dev); }
  int Port(int dev) const { return *graph.PortOf(0, dev); }
  bool Peers(int a, int b) const { return paths.PeerToPeer(Gpu(a), Gpu(b)); }
  bool Sends(int gpu, int port) const { return paths.DirectToNetwork(Gpu(gpu), Port(port), Direction::kSend); }
  bool Receives(int gpu, int port) const { return paths.DirectToNetwork(Gpu(gpu), Port(port), Direction::kReceive); }
  std::vector<int> PortsOf(int gpu, int channels) const {
    std::vector<int> ports;
    for (int channel = 0; channel < channels; ++channel) {
      ports.push_back(graph.node(*paths.PortOf(Gpu(gpu), channel)).port()->dev);
    }
    return ports;
  }
};

// GPUs 0 and 1 below one switch, 2 below another one of the same socket, 3 at the other socket.
const std::string kPciBox = R"(
gpu A100
cpu Intel 6/106
host
  socket
    switch
      2 gpus
    switch
      gpu
  socket
    gpu
)";

TEST(Policy, LevelsAreReadAsNcclDoes) {
  EXPECT_EQ(LevelFrom("SYS"), PathType::kSys);
  EXPECT_EQ(LevelFrom("nvl"), PathType::kNvl);
  EXPECT_EQ(LevelFrom("LOC"), PathType::kLoc);
  EXPECT_EQ(LevelFrom("P2C"), PathType::kP2c);
  EXPECT_EQ(LevelFrom("0"), PathType::kLoc);
  EXPECT_EQ(LevelFrom("1"), PathType::kPix);
  EXPECT_EQ(LevelFrom("2"), PathType::kPxb);
  EXPECT_EQ(LevelFrom("3"), PathType::kPhb);
  EXPECT_EQ(LevelFrom("4"), PathType::kSys);
  EXPECT_EQ(LevelFrom("99"), PathType::kSys);
  for (const char* wrong : {"", "NET", "DIS", "-1", "1x", "pci"}) EXPECT_EQ(LevelFrom(wrong), std::nullopt) << wrong;
}

TEST(Policy, PeersAreAsCloseAsTheLevelSays) {
  const auto peers = [](std::optional<PathType> level) {
    const Host host(kPciBox, {.peer_level = level});
    return std::array{host.Peers(0, 0), host.Peers(0, 1), host.Peers(0, 2), host.Peers(3, 0)};
  };
  EXPECT_EQ(peers({}), (std::array{true, true, false, false}));
  EXPECT_EQ(peers(PathType::kLoc), (std::array{true, false, false, false}));
  EXPECT_EQ(peers(PathType::kNvl), (std::array{true, false, false, false}));
  EXPECT_EQ(peers(PathType::kPix), (std::array{true, true, false, false}));
  EXPECT_EQ(peers(PathType::kPhb), (std::array{true, true, true, false}));
  EXPECT_EQ(peers(PathType::kSys), (std::array{true, true, true, true}));
}

TEST(Policy, TwoGpusOfAnAmdHostReachEachOtherAnyWay) {
  const auto box = [](const std::string& cpu, int gpus) {
    return "gpu RTX-4090\ncpu " + cpu + "\nhost\n socket\n  1 gpu\n socket\n  " + std::to_string(gpus - 1) + " gpus\n";
  };
  EXPECT_TRUE(Host(box("AMD 25/17", 2)).Peers(0, 1));
  EXPECT_FALSE(Host(box("AMD 25/17", 3)).Peers(0, 1));
  EXPECT_FALSE(Host(box("Intel 6/143", 2)).Peers(0, 1));
}

TEST(Policy, WhatTheDriverRefusesGoesThroughHostMemory) {
  Graph graph = Build(kPciBox);
  const int a = *graph.GpuOf(0, 0), b = *graph.GpuOf(0, 1);
  const Host host(std::move(graph), {.peers_refused = {{a, b}}});
  EXPECT_FALSE(host.Peers(0, 1));
  EXPECT_FALSE(host.Peers(1, 0));
  const DecidedPath& way = host.paths.Between(a, b);
  EXPECT_TRUE(way.staged);
  EXPECT_EQ(way.path.type, PathType::kPhb);
  EXPECT_EQ(way.path.hops.size(), 4u);  // up to the CPU and down again
  EXPECT_EQ(host.paths.Direct(a, b).hops.size(), 2u);
}

// 24 GB/s of PCI carry 20 of what GPUs exchange through an Intel CPU; the socket's 10 are no PCI.
TEST(Policy, IntelCountsPeersThroughTheCpuSixFifths) {
  const Host host(kPciBox, {.peer_level = PathType::kSys});
  EXPECT_EQ(host.paths.Between(host.Gpu(0), host.Gpu(2)).pci_charge, 1.2);
  EXPECT_NEAR(host.paths.Between(host.Gpu(0), host.Gpu(2)).path.gb_per_s, 20, 1e-9);
  EXPECT_EQ(host.paths.Between(host.Gpu(0), host.Gpu(1)).pci_charge, 1);
  EXPECT_EQ(host.paths.Between(host.Gpu(0), host.Gpu(1)).path.gb_per_s, 24);
  EXPECT_EQ(host.paths.Between(host.Gpu(0), host.Gpu(3)).pci_charge, 1);  // SYS is not charged
  EXPECT_EQ(host.paths.Between(host.Gpu(0), host.Gpu(3)).path.gb_per_s, 10);
  const Host amd("gpu A100\ncpu AMD 25/1\nhost\n socket\n  2 gpus\n");
  EXPECT_EQ(amd.paths.Between(amd.Gpu(0), amd.Gpu(1)).pci_charge, 1);
  EXPECT_EQ(amd.paths.Between(amd.Gpu(0), amd.Gpu(1)).path.gb_per_s, 24);
}

// Card 0 is below the switch of GPU 0, card 1 at the CPU, card 2 at the other socket.
const std::string kCards = R"(
gpu A100
cpu Intel 6/106
nic 200 Gbit/s
host
  socket
    switch
      gpu
      nic
    nic
  socket
    gpu
    nic
)";

TEST(Policy, CardsReachGpusThatAreCloseEnough) {
  const auto reach = [](const PolicyOptions& options) {
    const Host host(kCards, options);
    return std::array{host.Receives(0, 0), host.Receives(0, 1), host.Receives(0, 2)};
  };
  EXPECT_EQ(reach({}), (std::array{true, false, false}));
  EXPECT_EQ(reach({.gdr_level = PathType::kLoc}), (std::array{false, false, false}));
  EXPECT_EQ(reach({.gdr_level = PathType::kPhb}), (std::array{true, true, false}));
  EXPECT_EQ(reach({.gdr_level = PathType::kSys}), (std::array{true, true, true}));
  const Host host(kCards);
  EXPECT_TRUE(host.paths.ToPort(host.Gpu(0), host.Port(1), Direction::kReceive).staged);
  EXPECT_FALSE(host.paths.ToPort(host.Gpu(0), host.Port(0), Direction::kReceive).staged);
}

TEST(Policy, GpuAndNetworkBothMustAllowIt) {
  const Host gpu(kCards + "but gpu 0: gpudirect off\n"), nic(kCards + "but nic 0: gpudirect off\n");
  EXPECT_FALSE(gpu.Receives(0, 0));
  EXPECT_FALSE(nic.Receives(0, 0));
  // Through host memory the way leads over the CPU.
  EXPECT_EQ(nic.paths.ToPort(nic.Gpu(0), nic.Port(0), Direction::kSend).path.type, PathType::kPhb);
  EXPECT_EQ(nic.paths.Direct(nic.Gpu(0), nic.Port(0)).type, PathType::kPix);
}

// Before Ampere cards read GPU memory only where GPUs have NVLinks, or there is one.
TEST(Policy, OlderGpusAreReadOnlyWherePciIsQuiet) {
  const std::string two = "gpu V100\nnic 100 Gbit/s\nhost\n socket\n  switch\n   2 gpus\n   nic\n";
  EXPECT_FALSE(Host(two).Sends(0, 0));
  EXPECT_TRUE(Host(two).Receives(0, 0));
  EXPECT_TRUE(Host(two + "nvlink groups of 2\n").Sends(0, 0));
  EXPECT_TRUE(Host("gpu V100\nnic 100 Gbit/s\nhost\n socket\n  switch\n   gpu\n   nic\n").Sends(0, 0));
}

// NCCL_NET_GDR_READ speaks of reads only, and the level holds all the same.
TEST(Policy, ReadingOfGpuMemoryMayBeAskedForOrForbidden) {
  const std::string two = "gpu V100\nnic 100 Gbit/s\nhost\n socket\n  switch\n   2 gpus\n   nic\n";
  EXPECT_TRUE(Host(two, {.gdr_read = true}).Sends(0, 0));
  EXPECT_FALSE(Host(two, {.gdr_level = PathType::kLoc, .gdr_read = true}).Sends(0, 0));
  const Host never(kCards, {.gdr_read = false});
  EXPECT_FALSE(never.Sends(0, 0));
  EXPECT_TRUE(never.Receives(0, 0));
}

const std::string kGrace = R"(
gpu GB200
cpu arm64
c2c 5 lines of 44712 MB/s
nvlink switch across 2 hosts
nic 400 Gbit/s gen5
host
  2 sockets
    2 gpus
    1 nic
)";

TEST(Policy, C2cMakesTheCardsOfACpuNear) {
  const Host host(kGrace);
  EXPECT_EQ(host.paths.Direct(host.Gpu(0), host.Port(0)).type, PathType::kP2c);
  EXPECT_EQ(host.paths.Direct(host.Gpu(0), host.Port(1)).type, PathType::kSys);
  EXPECT_TRUE(host.Receives(0, 0));
  EXPECT_FALSE(host.Receives(0, 1));
  const Host without(kGrace, {.gdr_c2c = false});
  EXPECT_FALSE(without.Receives(0, 0));
}

TEST(Policy, OthersSendThroughTheGpuNextToACard) {
  const std::string text = R"(
gpu H100
nvlink switch
cpu Intel 6/143
nic 400 Gbit/s
host
  2 sockets
    2 switches
      gpu
      nic
)";
  const Host host(text);
  const DecidedPath& way = host.paths.ToPort(host.Gpu(0), host.Port(3), Direction::kSend);
  EXPECT_EQ(way.path.type, PathType::kPxn);
  EXPECT_EQ(way.relay, host.Gpu(3));
  EXPECT_EQ(way.path.gb_per_s, 48);
  EXPECT_EQ(way.path.hops.front().to, host.graph.All(NodeKind::kNvSwitch)[0]);
  EXPECT_EQ(way.path.hops.back().to, host.Port(3));
  EXPECT_TRUE(host.Sends(0, 3));
  EXPECT_FALSE(host.Receives(0, 3));  // only sends are relayed
  EXPECT_EQ(host.paths.ToPort(host.Gpu(0), host.Port(3), Direction::kReceive).path.type, PathType::kSys);
  EXPECT_EQ(host.paths.ToPort(host.Gpu(3), host.Port(3), Direction::kSend).relay, -1);
  const Host off(text, {.pxn = false});
  EXPECT_EQ(off.paths.ToPort(off.Gpu(0), off.Port(3), Direction::kSend).path.type, PathType::kSys);
  EXPECT_FALSE(off.Sends(0, 3));
  const Host closed(text + "but gpu 0: gpudirect off\n");
  EXPECT_TRUE(closed.paths.ToPort(closed.Gpu(0), closed.Port(3), Direction::kSend).staged);  // as NCCL has it
  // Without NVLinks, and without GPUDirect, nobody relays.
  const Host alone(text + "but gpu 0: 0 nvlinks\n"), staged(text + "but nic 3: gpudirect off\n");
  EXPECT_EQ(alone.paths.ToPort(alone.Gpu(0), alone.Port(3), Direction::kSend).path.type, PathType::kSys);
  EXPECT_EQ(staged.paths.ToPort(staged.Gpu(0), staged.Port(3), Direction::kSend).relay, -1);
}

TEST(Policy, PortsAreSharedOutAmongGpusAndChannels) {
  const std::string head = "gpu A100\nnvlink switch\nnic 200 Gbit/s\nhost\n 2 sockets\n  switch\n";
  const Host two_each(head + "   2 gpus\n   4 nics\n");
  // The starts are spread by reversed bits: 0 and 2.
  EXPECT_EQ(two_each.PortsOf(0, 4), (std::vector{0, 1, 0, 1}));
  EXPECT_EQ(two_each.PortsOf(1, 4), (std::vector{2, 3, 2, 3}));
  EXPECT_EQ(two_each.PortsOf(3, 4), (std::vector{6, 7, 6, 7}));
  const Host three(head + "   2 gpus\n   3 nics\n");
  EXPECT_EQ(three.PortsOf(0, 3), (std::vector{0, 1, 0}));
  EXPECT_EQ(three.PortsOf(1, 3), (std::vector{1, 2, 1}));
  const Host one(head + "   3 gpus\n   1 nic\n");
  EXPECT_EQ(one.PortsOf(4, 3), (std::vector{1, 1, 1}));
  const Host most(Build(head + "   2 gpus\n   4 nics\n"), {.ports_per_gpu = 1});
  EXPECT_EQ(most.PortsOf(1, 3), (std::vector{2, 2, 2}));
  const Host all(Build(head + "   2 gpus\n   4 nics\n"), {.ports_per_gpu = kAllPorts});
  EXPECT_EQ(all.PortsOf(1, 5), (std::vector{2, 3, 0, 1, 2}));
}

TEST(Policy, AFasterPortIsTakenBeforeACloserOne) {
  const Host host("gpu A100\nnic 200 Gbit/s\nhost\n socket\n  switch\n   gpu\n   1 nic 50 Gbit/s\n  nic\n");
  EXPECT_EQ(host.PortsOf(0, 2), (std::vector{1, 1}));
  const Host none("gpu A100\nhost\n socket\n  gpu\n");
  EXPECT_EQ(none.paths.PortOf(none.Gpu(0), 0), std::nullopt);
}

TEST(Policy, HostsOfARackReachEachOthersGpus) {
  const Graph graph = Build(kGrace, 3);
  EXPECT_EQ(HostsJoinedByNvLinks(graph, 0), (std::vector{0, 1}));
  EXPECT_EQ(HostsJoinedByNvLinks(graph, 2), (std::vector{2}));
  const HostPaths rack(graph, HostsJoinedByNvLinks(graph, 0));
  ASSERT_EQ(rack.gpus().size(), 8u);
  EXPECT_TRUE(rack.PeerToPeer(*graph.GpuOf(0, 0), *graph.GpuOf(1, 3)));
  EXPECT_EQ(rack.PortOf(*graph.GpuOf(1, 3), 0), graph.PortOf(1, 1));
  EXPECT_EQ(rack.ToPort(*graph.GpuOf(0, 0), *graph.PortOf(1, 1), Direction::kSend).path.type, PathType::kDis);
  const HostPaths two(graph, std::array{0, 2});
  EXPECT_FALSE(two.PeerToPeer(*graph.GpuOf(0, 0), *graph.GpuOf(2, 0)));
  const HostPaths off(graph, HostsJoinedByNvLinks(graph, 0), {.peer_level = PathType::kLoc});
  EXPECT_FALSE(off.PeerToPeer(*graph.GpuOf(0, 0), *graph.GpuOf(1, 3)));
}

}  // namespace
}  // namespace tutti::topo
