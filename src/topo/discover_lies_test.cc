// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is made of machines that say too little, or what cannot be.
#include "topo/discover.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/discovered.h"
#include "tests/support/rendered_machines.h"

namespace tutti::topo {
namespace {

Discovery DiscoverIt(const tests::RenderedHost& host) { return topo::DiscoverIt(host, TUTTI_FAKE_NVML); }

using namespace tests;

const RenderedPci kUnknownNuma{.numa = "-1"};

// Ports that are down, virtual functions, devices that are none of PCI, ports without a rate.
TEST(DiscoverLies, CardsThatAreLeftOut) {
  RenderedHost host;
  AddTwoSockets(host);
  const std::string card = "pci0000:80/0000:80:01.0/0000:81:00.";
  for (const char* function : {"0", "1", "2"}) host.AddPciBelow(card + function, {.numa = "1"}, CardDevice("1"));
  host.Link("/sys/devices/" + card + "2/physfn", "../0000:81:00.0");
  host.AddInfiniband("mlx5_0", card + "0", "200 Gb/sec (4X HDR)", "1: DOWN");
  host.AddInterface("ib0", card + "0", "200000");
  host.AddInterface("eth1", card + "1", "-1");
  host.AddInterface("eth2", card + "2", "100000");
  host.AddPciBelow("pci0000:80/0000:80:02.0/0000:82:00.0", {.numa = "1"}, CardDevice("1"));
  host.AddInterface("eth3", "pci0000:80/0000:80:02.0/0000:82:00.0", "1000", "down");
  host.Write("/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE");
  host.Write("/sys/class/infiniband/rxe0/ports/1/rate", "10 Gb/sec (4X)");
  const Discovery found = DiscoverIt(host);
  ExpectLinks(found.graph, TwoSocketLinks() + LinkLine("NUMA node 1", "NIC eth1", "PCI", 48) +
                               LinkLine("NIC eth1", "eth1", "local", 1.25));
  EXPECT_EQ(Joined(found.notes),
            "the port mlx5_0 has no link (its state is '1: DOWN'): it is left out\n"
            "rxe0 is no PCI device: it is left out\n"
            "the system does not say how fast eth1 is: 10 Gbit/s are assumed\n"
            "eth2 is a virtual function of a card that is here too: it is left out\n"
            "the network interface eth3 has no link: it is left out\n");
}

// A port that has fewer lanes, or less speed, than its device uses cannot be real; one that has less than that could
// use can.
TEST(DiscoverLies, PortsThatCannotBeReal) {
  struct Case {
    const char *port_speed, *port_width, *speed, *width;
    double gb_per_s;
    bool believed;
  };
  for (const Case& one : {Case{"16.0 GT/s PCIe", "4", "2.5 GT/s PCIe", "16", 48, false},
                          Case{"16.0 GT/s PCIe", "4", "2.5 GT/s PCIe", "4", 6, true},
                          Case{"8.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "16", 48, false},
                          Case{"8.0 GT/s PCIe", "16", "8.0 GT/s PCIe", "16", 12, true},
                          Case{"2.5 GT/s PCIe", "1", "Unknown", "0", 48, false},
                          Case{"2.5 GT/s PCIe", "1", "2.5 GT/s PCIe", "1", 0.1875, true}}) {
    RenderedHost host;
    AddTwoSockets(host);
    RenderedPci gpu = GpuDevice();
    gpu.speed = one.speed;
    gpu.width = one.width;
    const RenderedPci port{
        .speed = one.port_speed, .best_speed = one.port_speed, .width = one.port_width, .best_width = one.port_width};
    host.AddPciBelow("pci0000:00/0000:00:01.0/0000:01:00.0", port, gpu);
    host.AddGpu({.bus_id = "0000:01:00.0", .pcie = "0 0 0 0"});
    const Discovery found = DiscoverIt(host);
    ExpectLinks(found.graph, TwoSocketLinks() + LinkLine("NUMA node 0", "GPU 0", "PCI", one.gb_per_s));
    EXPECT_EQ(HasNote(found, "taken for emulated"), !one.believed) << one.port_speed << one.speed;
  }
}

// A container that is given some of the GPUs; one that has fallen off the bus; one that sysfs does not show.
TEST(DiscoverLies, GpusThatOnlyOneSideKnows) {
  RenderedHost host;
  AddPcieBox(host, GpuInAnOlderSlot());
  host.SetNvml("gpu 0000:41:00.0\nname A\nsm 9 0\npcie 4 16 4 16\n");
  const Discovery some = DiscoverIt(host);
  ASSERT_EQ(some.graph.All(NodeKind::kGpu).size(), 1u);
  EXPECT_EQ(some.graph.node(*some.graph.GpuOf(0, 0)).pci.bus_id, "0000:41:00.0");
  EXPECT_TRUE(HasNote(some, "NVML does not list 1 GPUs of sysfs, 0000:01:00.0 the first of them"));

  host.SetNvml(
      "gpu 0000:01:00.0\nfail nvmlDeviceGetHandleByIndex_v2 15\ngpu 0000:41:00.0\nname A\nsm 9 0\npcie 4 16 4 16\n");
  const Discovery lost = DiscoverIt(host);
  ASSERT_EQ(lost.graph.All(NodeKind::kGpu).size(), 2u);
  EXPECT_EQ(lost.graph.node(*lost.graph.GpuOf(0, 0)).pci.bus_id, "0000:01:00.0");
  EXPECT_TRUE(HasNote(lost, "NVML does not say where GPU 0 is: it is taken to be 0000:01:00.0"));

  host.SetNvml(
      "gpu 0000:01:00.0\nsm 9 0\npcie 4 16 4 16\ngpu 0000:41:00.0\nsm 9 0\npcie 4 16 4 16\ngpu 0000:77:00.0\nsm 9 "
      "0\npcie 5 16 5 16\n");
  const Discovery more = DiscoverIt(host);
  EXPECT_EQ(more.graph.node(*more.graph.GpuOf(0, 2)).pci.bus_id, "0000:77:00.0");
  EXPECT_TRUE(HasNote(more, "GPU 2 (0000:77:00.0) is not among the PCI devices of sysfs"));
  ExpectLinks(more.graph, PcieBoxLinks(24) + LinkLine("NUMA node 0", "GPU 2", "PCI", 48));
}

TEST(DiscoverLies, PairsThatMayNotReachEachOther) {
  RenderedHost host;
  AddPcieBox(host, GpuInAnOlderSlot());
  EXPECT_TRUE(DiscoverIt(host).peers_refused.empty());
  for (const auto& [status, refused] : {std::pair(1, true), {5, true}, {6, false}, {77, false}}) {
    host.SetNvml(fmt::format("gpu 0000:01:00.0\nsm 8 9\np2p 1 {}\ngpu 0000:41:00.0\nsm 8 9\n", status));
    const Discovery found = DiscoverIt(host);
    EXPECT_EQ(found.peers_refused.contains({*found.graph.GpuOf(0, 0), *found.graph.GpuOf(0, 1)}), refused) << status;
  }
}

// A bridge joins two of three GPUs; one of its links is down on one side.
TEST(DiscoverLies, AGpuWithoutABridgeMissesNothing) {
  RenderedHost host;
  AddPcieBox(host, GpuInAnOlderSlot());
  const std::string gpu = "name A\nsm 8 6\npcie 4 16 4 16\nlinks 2\n";
  host.SetNvml("gpu 0000:01:00.0\n" + gpu + "link 0 1 0 0000:41:00.0 1\nlink 1 1 0 0000:41:00.0 1\ngpu 0000:41:00.0\n" +
               gpu + "link 0 1 0 0000:01:00.0 1\ngpu 0000:77:00.0\n" + gpu);
  const Discovery found = DiscoverIt(host);
  std::vector<int> expected;
  for (int dev = 0; dev < 3; ++dev)
    expected.push_back(found.graph.node(*found.graph.GpuOf(0, dev)).gpu()->nvlinks_expected);
  EXPECT_EQ(expected, (std::vector<int>{2, 2, 0}));
  EXPECT_TRUE(HasNote(found, "1 of the 2 NVLinks that others of its model have are up on GPU 1 (down: 1)"));
  EXPECT_FALSE(HasNote(found, "GPU 2 (down"));
}

TEST(DiscoverLies, NvLinksThatLeadNowhere) {
  RenderedHost host;
  AddPcieBox(host, GpuInAnOlderSlot());
  host.SetNvml(
      "gpu 0000:01:00.0\nsm 8 6\npcie 4 16 4 16\nlinks 5\nlink 0 1 0 0000:01:00.0 1\nlink 1 1 0 0000:99:00.0 1\n"
      "link 2 1 0 0000:41:00.0 0\nlink 3 1 255 0000:41:00.0 1\nlink 4 1 255 ffffffff:ff:ff.0 1\n"
      "gpu 0000:41:00.0\nsm 8 6\npcie 4 16 4 16\nlinks 2\nlink 0 1 0 0000:01:00.0 1\nlink 1 1 0 0000:01:00.0 1\n");
  const Discovery found = DiscoverIt(host);
  ExpectLinks(found.graph, PcieBoxLinks(24) + LinkLine("GPU 0", "GPU 1", "NVLink", 12, 1) +
                               LinkLine("GPU 0", "NVSwitch", "NVLink", 12, 1));
  EXPECT_TRUE(HasNote(
      found, "NVLink 0 of GPU 0 leads to the GPU 0000:01:00.0, which is that GPU itself: it is left out (and 1 more"));
  EXPECT_TRUE(HasNote(found, "NVLink 2 of GPU 0 is up, but not for P2P: it is left out"));
  EXPECT_TRUE(HasNote(found, "nobody says where NVLink 4 of GPU 0 leads: to an NVSwitch is assumed"));
  EXPECT_TRUE(HasNote(found, "GPU 0 has 1 NVLinks to GPU 1, which has 2 to it"));
}

// A virtual machine with a socket for each core, and one that says nothing of NUMA nodes.
TEST(DiscoverLies, SocketsAndNumaNodesThatAreNotBelieved) {
  RenderedHost host;
  host.SetCpu("AuthenticAMD", 25, 1);
  host.AddNuma(0, 0, 3, "10", 0);
  host.Write("/sys/devices/system/cpu/cpu1/topology/physical_package_id", "1");
  const Discovery found = DiscoverIt(host);
  EXPECT_TRUE(found.graph.All(NodeKind::kCpu).empty());
  EXPECT_EQ(Joined(found.notes), "NUMA node 0 has cores of several sockets: sockets are left out\n");

  RenderedHost bare;
  bare.AddPci("pci0000:00/0000:00:01.0", GpuDevice("3"));
  bare.AddGpu({.bus_id = "0000:00:01.0"});
  const Discovery alone = DiscoverIt(bare);
  ExpectLinks(alone.graph, Lines{LinkLine("NUMA node", "GPU 0", "PCI", 48)});
  EXPECT_EQ(alone.graph.node(0).numa, -1);
  EXPECT_EQ(Joined(alone.notes),
            "the system names no NUMA nodes with cores: one is assumed\n"
            "0000:00:01.0 claims to belong to NUMA node 3, which is not there\n");
}

TEST(DiscoverLies, NumaNodesOfNeighbours) {
  RenderedHost host;
  AddTwoSockets(host);
  host.AddPciBelow("pci0000:80/0000:80:01.0/0000:81:00.0", kUnknownNuma, GpuDevice("1"));
  host.AddPciBelow("pci0000:80/0000:80:02.0/0000:82:00.0", kUnknownNuma, GpuDevice("-1"));
  host.AddPciBelow("pci0000:00/0000:00:01.0/0000:01:00.0", kUnknownNuma, GpuDevice("-1"));
  host.AddPciBelow("pci0000:40/0000:40:01.0/0000:41:00.0", kUnknownNuma, GpuDevice("-1"));
  for (const char* bus_id : {"0000:01:00.0", "0000:41:00.0", "0000:81:00.0", "0000:82:00.0"})
    host.AddGpu({.bus_id = bus_id});
  const Discovery found = DiscoverIt(host);
  std::vector<int> numas;
  for (int dev = 0; dev < 4; ++dev) numas.push_back(found.graph.node(*found.graph.GpuOf(0, dev)).numa);
  EXPECT_EQ(numas, (std::vector<int>{0, 1, 1, 1}));
  EXPECT_TRUE(HasNote(
      found, "does not say to which NUMA node GPU 3 belongs: it is taken to be 1, as of others below pci0000:80"));
  EXPECT_TRUE(HasNote(found, "2 GPUs and 0 network cards belong"));
}

// What hangs on one host bridge is not torn apart.
TEST(DiscoverLies, HostBridgesAreSpreadAsAWhole) {
  RenderedHost host;
  AddTwoSockets(host);
  for (const char* chain : {"pci0000:00/0000:00:01.0/0000:01:00.0", "pci0000:00/0000:00:02.0/0000:02:00.0",
                            "pci0000:00/0000:00:03.0/0000:03:00.0", "pci0000:40/0000:40:01.0/0000:41:00.0"}) {
    host.AddPciBelow(chain, kUnknownNuma, GpuDevice("-1"));
    host.AddGpu({.bus_id = std::string(chain).substr(std::string(chain).rfind('/') + 1)});
  }
  const Discovery found = DiscoverIt(host);
  std::vector<int> numas;
  for (const int gpu : found.graph.All(NodeKind::kGpu)) numas.push_back(found.graph.node(gpu).numa);
  EXPECT_EQ(numas, (std::vector<int>{0, 0, 0, 1}));
}

TEST(DiscoverLies, WithoutARoot) {
  const Result<Discovery> found = Discover({.root = "/none/at/all"});
  EXPECT_EQ(found.status().code(), Code::kInvalidArgument);
}

// The real one: at least a NUMA node, and links between nodes that are there.
TEST(DiscoverLies, ThisMachine) {
  const Result<Discovery> found = Discover();
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_FALSE(found->graph.All(NodeKind::kNumaNode).empty());
  for (const Link& link : found->graph.links()) EXPECT_GT(link.rated_gb_per_s, 0);
}

// Whatever single files or links are replaced by, there is a graph of it, in which all GPUs reach each other.
TEST(DiscoverLies, AnythingMayLie) {
  RenderedHost host;
  AddHgx(host);
  std::vector<std::filesystem::path> places;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(host.root() + "/sys")) {
    if (!entry.is_directory() || entry.is_symlink()) places.push_back(entry.path());
  }
  std::ranges::sort(places);
  const Lines texts = {"",    "-1",    "Unknown",        "4294967295",           "0x030200",
                       "0-3", "10 10", "64.0 GT/s PCIe", std::string(5000, 'x'), "ff,ff"};
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<std::filesystem::path, std::filesystem::path>> moved;
    for (int i = 0; i < 12; ++i) {
      const std::filesystem::path place = places[random() % places.size()];
      const std::filesystem::path kept = place.string() + ".kept";
      if (std::filesystem::exists(std::filesystem::symlink_status(kept))) continue;
      std::filesystem::rename(place, kept);
      moved.emplace_back(place, kept);
      const auto what = random() % 4;
      if (what == 0) std::filesystem::create_directory(place);
      if (what == 1) std::filesystem::create_symlink(places[random() % places.size()], place);
      if (what == 2) std::ofstream(place) << texts[random() % texts.size()] << '\n';
    }
    const Discovery found = DiscoverIt(host);
    const std::vector<int> gpus = found.graph.All(NodeKind::kGpu);
    EXPECT_EQ(gpus.size(), 8u) << "seed " << seed;
    for (const int gpu : gpus)
      EXPECT_EQ(Paths(found.graph, gpus[0]).type(gpu) == PathType::kDis, false) << "seed " << seed;
    for (const Link& link : found.graph.links()) EXPECT_GT(link.rated_gb_per_s, 0) << "seed " << seed;
    for (const auto& [place, kept] : moved) {
      std::filesystem::remove_all(place);
      std::filesystem::rename(kept, place);
    }
  }
  EXPECT_EQ(Joined(DiscoverIt(host).notes), "");  // all is as it was
}

}  // namespace
}  // namespace tutti::topo
