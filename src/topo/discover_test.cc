// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Machines that are made of files and of a library in NVML's place, and the graphs that are to come of them.
#include "topo/discover.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/discovered.h"
#include "tests/support/rendered_machines.h"

namespace tutti::topo {
namespace {

Discovery DiscoverIt(const tests::RenderedHost& host) { return topo::DiscoverIt(host, TUTTI_FAKE_NVML); }

using namespace tests;

const RenderedPci kBridge;  // 32 GT/s with 16 lanes

Lines HgxLinks() {
  Lines lines = TwoSocketLinks();
  for (int s = 0; s < 4; ++s) {
    const std::string name = fmt::format("PCI switch 0000:{:x}1:00.0", s + 1);
    lines.push_back(LinkLine(fmt::format("NUMA node {}", s / 2), name, "PCI", 48));
    for (int i = s * 2; i < s * 2 + 2; ++i) {
      lines.push_back(LinkLine(name, fmt::format("GPU {}", i), "PCI", 48));
      lines.push_back(LinkLine(name, fmt::format("NIC mlx5_{}", i), "PCI", 48));
      lines.push_back(LinkLine(fmt::format("NIC mlx5_{}", i), fmt::format("mlx5_{}", i), "local", 50));
      lines.push_back(LinkLine(fmt::format("GPU {}", i), "NVSwitch", "NVLink", 370.8, 18));
    }
  }
  lines.push_back(LinkLine("NUMA node 0", "NIC eno1", "PCI", 6));
  lines.push_back(LinkLine("NIC eno1", "eno1", "local", 3.125));
  return lines;
}

TEST(Discover, HgxH100) {
  RenderedHost host;
  AddHgx(host);
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "");
  const Graph& graph = found.graph;
  ASSERT_EQ(graph.hosts().size(), 1u);
  EXPECT_EQ(graph.hosts()[0], "rendered");
  ExpectLinks(graph, HgxLinks());
  EXPECT_EQ(graph.All(NodeKind::kNvSwitch).size(), 1u);
  EXPECT_EQ(graph.All(NodeKind::kPciSwitch).size(), 4u);
  const Node& gpu = graph.node(*graph.GpuOf(0, 5));
  EXPECT_EQ(gpu.name, "GPU 5");
  EXPECT_EQ(gpu.numa, 1);
  EXPECT_EQ(gpu.pci.bus_id, "0000:34:00.0");
  EXPECT_EQ(gpu.pci.class_id, "0x030200");
  EXPECT_EQ(gpu.pci.vendor, "0x10de");
  EXPECT_EQ(gpu.pci.device, "0x2330");
  EXPECT_EQ(gpu.pci.link_speed, "32.0 GT/s PCIe");
  EXPECT_EQ(gpu.pci.best_link_width, 16);
  EXPECT_EQ(gpu.gpu()->sm, 90);
  EXPECT_EQ(gpu.gpu()->name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.gpu()->uuid, "GPU-0000:34:00.0");
  EXPECT_EQ(gpu.gpu()->nvlinks_expected, 18);
  EXPECT_TRUE(gpu.gpu()->gdr);
  const Node& port = graph.node(*graph.PortOf(0, 5));
  EXPECT_EQ(port.name, "mlx5_5");
  EXPECT_EQ(port.numa, 1);
  EXPECT_EQ(port.port()->gbit_per_s, 400);
  EXPECT_EQ(port.port()->guid, 0xa088c20300ab0000u);
  EXPECT_TRUE(port.port()->gdr);
  EXPECT_EQ(graph.node(*graph.PortOf(0, 8)).port()->name, "eno1");
  EXPECT_FALSE(graph.node(*graph.PortOf(0, 8)).port()->gdr);
  const Node& numa = graph.node(NodeOf(graph, "NUMA node 1"));
  EXPECT_EQ(numa.cpu()->vendor, "GenuineIntel");
  EXPECT_EQ(numa.cpu()->model, 143);
  EXPECT_EQ(numa.cpu()->affinity, "000000f0");
  EXPECT_EQ(TypeBetween(graph, "GPU 0", "mlx5_1"), PathType::kPix);
  EXPECT_EQ(TypeBetween(graph, "GPU 0", "mlx5_2"), PathType::kPhb);
  EXPECT_EQ(TypeBetween(graph, "GPU 0", "mlx5_4"), PathType::kSys);
  EXPECT_EQ(TypeBetween(graph, "GPU 0", "GPU 7"), PathType::kNvl);
  ASSERT_TRUE(found.nvml);
  EXPECT_EQ(found.nvml->p2p.size(), 28u);
}

TEST(Discover, VirtualMachineOfAnHgx) {
  RenderedHost host;
  tests::AddVirtualHgx(host);
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes),
            "the system does not say to which of 2 NUMA nodes 8 GPUs and 8 network cards belong: they are spread "
            "evenly in the order "
            "of their bus ids\n");
  Lines expected = TwoSocketLinks();
  for (int i = 0; i < 8; ++i) {
    const std::string numa = fmt::format("NUMA node {}", i / 4);
    expected.push_back(LinkLine(numa, fmt::format("GPU {}", i), "PCI", 48));
    expected.push_back(LinkLine(numa, fmt::format("NIC mlx5_{}", i), "PCI", 48));
    expected.push_back(LinkLine(fmt::format("NIC mlx5_{}", i), fmt::format("mlx5_{}", i), "local", 50));
    expected.push_back(LinkLine(fmt::format("GPU {}", i), "NVSwitch", "NVLink", 370.8, 18));
  }
  ExpectLinks(found.graph, expected);
  const Node& gpu = found.graph.node(*found.graph.GpuOf(0, 0));
  EXPECT_EQ(gpu.pci.link_speed, "16.0 GT/s PCIe");
  EXPECT_EQ(gpu.pci.best_link_speed, "32.0 GT/s PCIe");
  EXPECT_EQ(found.unsaid.gpus.size(), 8u);
  EXPECT_EQ(found.unsaid.numas, (std::vector<int>{0, 1}));
}

// Two of its GPUs were measured; of one of them no node was clearly the nearest.
TEST(Discover, GpusAreWhereTheyWereMeasuredToBe) {
  RenderedHost host;
  tests::AddVirtualHgx(host);
  const MeasuredGpu measured[] = {{.bus_id = "0000:00:05.0", .numa = 1, .gb_per_s = 52.5},
                                  {.bus_id = "0000:00:06.0", .numa = -1, .gb_per_s = 51},
                                  {.bus_id = "0000:00:07.0", .numa = 7, .gb_per_s = 50}};
  const Result<Discovery> found =
      Discover({.root = host.root(), .nvml_library = TUTTI_FAKE_NVML, .measured = measured});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->unsaid.gpus.size(), 5u);
  const auto numa_of = [&](int gpu) { return found->graph.node(*found->graph.GpuOf(0, gpu)).numa; };
  EXPECT_EQ(numa_of(0), 1);
  for (int gpu = 1; gpu < 8; ++gpu) EXPECT_EQ(numa_of(gpu), gpu / 4) << gpu;
  EXPECT_EQ(
      Joined(found->notes),
      "the system does not say to which NUMA node GPU 0 belongs: it is taken to be 1, from where it was measured to "
      "take most, 52.5 GB/s\n"
      "the system does not say to which of 2 NUMA nodes 7 GPUs and 8 network cards belong: they are spread evenly "
      "in the order of their bus ids\n");
  ASSERT_TRUE(found->nvml);
  const Result<Discovery> again =
      Discover({.root = "/nowhere", .tree = &found->tree, .nvml = &*found->nvml, .measured = measured});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->notes, found->notes) << "nothing was read again";
}

// A GPU says where it is: that a measurement found otherwise does not count.
TEST(Discover, WhatTheSystemSaysGoesBeforeMeasurements) {
  RenderedHost host;
  tests::AddHgx(host);
  const Discovery said = DiscoverIt(host);
  EXPECT_EQ(said.unsaid.gpus, Lines());
  const std::string& bus_id = said.graph.node(*said.graph.GpuOf(0, 0)).pci.bus_id;
  const MeasuredGpu measured[] = {{.bus_id = bus_id, .numa = 1, .gb_per_s = 3}};
  const Result<Discovery> found =
      Discover({.root = host.root(), .nvml_library = TUTTI_FAKE_NVML, .measured = measured});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->notes, said.notes);
  EXPECT_EQ(found->graph.node(*found->graph.GpuOf(0, 0)).numa, 0);
}

// A switch that an emulator makes above each GPU, all of whose ports claim one lane of the first generation.
TEST(Discover, EmulatedSwitchesLimitNothing) {
  RenderedHost host;
  host.SetCpu("GenuineIntel", 6, 143);
  host.AddNuma(0, 0, 3, "10", 0);
  for (int i = 0; i < 2; ++i) {
    const RenderedPci port{.vendor = "0x104c",
                           .device = "0x8232",
                           .speed = "2.5 GT/s PCIe",
                           .best_speed = "2.5 GT/s PCIe",
                           .width = "1",
                           .best_width = "1",
                           .numa = "-1"};
    host.AddPciBelow(fmt::format("pci0000:00/0000:00:0{0}.0/0000:{0}0:00.0/0000:{0}1:00.0/0000:{0}2:00.0", i + 1), port,
                     GpuDevice("-1"));
    host.AddGpu({.bus_id = fmt::format("0000:{}2:00.0", i + 1)});
  }
  const Discovery found = DiscoverIt(host);
  ExpectLinks(found.graph, Lines{LinkLine("NUMA node 0", "CPU 0", "socket", 22),
                                 LinkLine("NUMA node 0", "PCI switch 0000:10:00.0", "PCI", 48),
                                 LinkLine("NUMA node 0", "PCI switch 0000:20:00.0", "PCI", 48),
                                 LinkLine("PCI switch 0000:10:00.0", "GPU 0", "PCI", 48),
                                 LinkLine("PCI switch 0000:20:00.0", "GPU 1", "PCI", 48)});
  EXPECT_EQ(found.notes.size(), 2u) << Joined(found.notes);
  EXPECT_TRUE(HasNote(
      found,
      "the bridge 0000:11:00.0 claims 2.5 GT/s PCIe x1 at best, but 0000:12:00.0 below it has 32.0 GT/s PCIe x16"));
  EXPECT_TRUE(HasNote(found, "the switch 0000:10:00.0 says 2.5 GT/s PCIe x1 of its link to the CPU"));
  const Node& gpu_switch = found.graph.node(NodeOf(found.graph, "PCI switch 0000:10:00.0"));
  EXPECT_EQ(gpu_switch.pci.link_speed, "");
  EXPECT_EQ(gpu_switch.pci.best_link_speed, "32.0 GT/s PCIe");
}

Lines CubeMeshLinks(int between_0_and_3) {
  Lines lines = {LinkLine("NUMA node 0", "NUMA node 1", "socket", 6), LinkLine("NUMA node 0", "CPU 0", "socket", 6),
                 LinkLine("NUMA node 1", "CPU 1", "socket", 6)};
  for (int i = 0; i < 8; ++i) {
    const std::string name = fmt::format("PCI switch 0000:{}1:00.0", i / 2 + 1);
    if (i % 2 == 0) lines.push_back(LinkLine(fmt::format("NUMA node {}", i / 4), name, "PCI", 12));
    lines.push_back(LinkLine(name, fmt::format("GPU {}", i), "PCI", 12));
  }
  for (auto [pair, count] : kCubeMesh) {
    if (pair == std::pair(0, 3)) count = between_0_and_3;
    lines.push_back(
        LinkLine(fmt::format("GPU {}", pair.first), fmt::format("GPU {}", pair.second), "NVLink", 20.0 * count, count));
  }
  return lines;
}

TEST(Discover, CubeMesh) {
  RenderedHost host;
  AddCubeMesh(host);
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "");
  ExpectLinks(found.graph, CubeMeshLinks(2));
  EXPECT_EQ(found.graph.node(*found.graph.GpuOf(0, 0)).gpu()->nvlinks_expected, 6);
  EXPECT_EQ(TypeBetween(found.graph, "GPU 0", "GPU 4"), PathType::kNvl);
  EXPECT_EQ(TypeBetween(found.graph, "GPU 0", "GPU 5"), PathType::kNvb);
}

TEST(Discover, ADeadNvLinkOfAMesh) {
  RenderedHost host;
  AddCubeMesh(host, "0");
  const Discovery found = DiscoverIt(host);
  ExpectLinks(found.graph, CubeMeshLinks(1));
  EXPECT_EQ(Joined(found.notes),
            "5 of the 6 NVLinks that others of its model have are up on GPU 0 (down: 3)\n"
            "5 of the 6 NVLinks that others of its model have are up on GPU 3 (down: 1)\n");
  EXPECT_EQ(found.graph.node(*found.graph.GpuOf(0, 0)).gpu()->nvlinks_expected, 6);
}

TEST(Discover, DeadNvLinksToASwitch) {
  RenderedHost host;
  AddHgx(host, "link 4 0 0 0000:00:00.0 0\nlink 5 3 2 0000:91:00.0 1\n");
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "16 of the 18 NVLinks that others of its model have are up on GPU 3 (down: 4, 5)\n");
  Lines expected = HgxLinks();
  std::ranges::replace(expected, LinkLine("GPU 3", "NVSwitch", "NVLink", 370.8, 18),
                       LinkLine("GPU 3", "NVSwitch", "NVLink", 329.6, 16));
  ExpectLinks(found.graph, expected);
}

TEST(Discover, AGpuWithoutAnyNvLink) {
  RenderedHost host;
  std::string down;
  for (int i = 0; i < 18; ++i) down += fmt::format("link {} 0 0 0000:00:00.0 0\n", i);
  AddHgx(host, down);
  const Discovery found = DiscoverIt(host);
  EXPECT_TRUE(HasNote(found, "0 of the 18 NVLinks that others of its model have are up on GPU 3 (down: 0, 1, 2,"))
      << Joined(found.notes);
  EXPECT_EQ(found.graph.node(*found.graph.GpuOf(0, 3)).gpu()->nvlinks_expected, 18);
  EXPECT_EQ(TypeBetween(found.graph, "GPU 2", "GPU 3"), PathType::kPix);
}

// Two CPUs with two GPUs each, joined by C2C; memory of the GPUs in NUMA nodes without cores.
TEST(Discover, Gb200) {
  RenderedHost host;
  host.SetCpu("ARM", 0, 0);
  const std::string distances = "10 40 80 80";
  host.AddNuma(0, 0, 3, "10 40 80 80", 0);
  host.AddNuma(1, 4, 7, "40 10 80 80", 1);
  for (int node : {2, 3}) {
    const std::string folder = fmt::format("/sys/devices/system/node/node{}/", node);
    host.Write(folder + "cpulist", "");
    host.Write(folder + "cpumap", "0");
    host.Write(folder + "distance", node == 2 ? "80 80 10 255" : "80 80 255 10");
  }
  for (int i = 0; i < 4; ++i) {
    const std::string numa = fmt::format("{}", i / 2);
    const std::string card = fmt::format("pci000{0}:00/000{0}:00:00.0/000{0}:01:00.0/000{0}:02:00.0/000{0}:03:00.0", i);
    host.AddPciBelow(fmt::format("pci00{0}8:00/00{0}8:00:00.0/00{0}8:01:00.0", i), {.numa = numa}, GpuDevice(numa));
    host.AddPciBelow(card, {.numa = numa}, CardDevice(numa));
    host.AddInfiniband(fmt::format("mlx5_{}", i), card);
    host.AddGpu({.bus_id = fmt::format("00{}8:01:00.0", i),
                 .name = "NVIDIA GB200",
                 .major = 10,
                 .nvlinks = NvLinksToSwitch(18),
                 .more = "c2c 5 5 44712\nfabric ABCDEFGHIJKLMNOP 7 3 0\n"});
  }
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "");
  Lines expected = {LinkLine("NUMA node 0", "NUMA node 1", "socket", 6), LinkLine("NUMA node 0", "CPU 0", "socket", 6),
                    LinkLine("NUMA node 1", "CPU 1", "socket", 6)};
  for (int i = 0; i < 4; ++i) {
    const std::string gpu = fmt::format("GPU {}", i), card = fmt::format("mlx5_{}", i),
                      numa = fmt::format("NUMA node {}", i / 2), name = fmt::format("PCI switch 000{}:01:00.0", i);
    expected.push_back(LinkLine(numa, gpu, "PCI", 48));
    expected.push_back(LinkLine(gpu, numa, "C2C", 223.56, 5));
    expected.push_back(LinkLine(gpu, "NVSwitch", "NVLink", 721.8, 18));
    expected.push_back(LinkLine(numa, name, "PCI", 48));
    expected.push_back(LinkLine(name, "NIC " + card, "PCI", 48));
    expected.push_back(LinkLine("NIC " + card, card, "local", 50));
  }
  ExpectLinks(found.graph, expected);
  EXPECT_EQ(TypeBetween(found.graph, "GPU 0", "NUMA node 0"), PathType::kC2c);
  EXPECT_EQ(found.graph.node(0).cpu()->arch, "arm64");
  EXPECT_DOUBLE_EQ(found.graph.link(0).latency_us, 0.3);  // at a distance of 40
  EXPECT_EQ(found.nvml->gpus[3].fabric->clique, 7u);
}

TEST(Discover, PcieBoxWithoutSwitches) {
  RenderedHost host;
  AddPcieBox(host, GpuInAnOlderSlot());
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "");
  ExpectLinks(found.graph, PcieBoxLinks(24));
  EXPECT_EQ(found.graph.node(*found.graph.GpuOf(0, 1)).pci.best_link_speed, "16.0 GT/s PCIe");
  EXPECT_EQ(found.graph.node(*found.graph.GpuOf(0, 1)).gpu()->nvlinks_expected, 0);
  EXPECT_EQ(TypeBetween(found.graph, "GPU 0", "GPU 1"), PathType::kPhb);
}

// An idle GPU lets its link run slower, but not narrower.
TEST(Discover, AnIdleLinkIsAsGoodAsOthers) {
  RenderedHost host;
  RenderedPci gpu = GpuDevice();
  gpu.speed = "2.5 GT/s PCIe";
  gpu.best_speed = "16.0 GT/s PCIe";
  AddPcieBox(host, gpu, "1 16 4 16");
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "");
  ExpectLinks(found.graph, PcieBoxLinks(24));
  EXPECT_EQ(found.graph.node(*found.graph.GpuOf(0, 1)).pci.link_speed, "2.5 GT/s PCIe");
  EXPECT_EQ(found.graph.node(*found.graph.GpuOf(0, 1)).pci.best_link_speed, "16.0 GT/s PCIe");
}

TEST(Discover, AGpuWithOneLane) {
  RenderedHost host;
  RenderedPci gpu = GpuInAnOlderSlot();
  gpu.width = "1";
  AddPcieBox(host, gpu, "4 1 4 16");
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "GPU 1 uses 1 of its 16 PCI lanes: 1.5 GB/s instead of 24\n");
  ExpectLinks(found.graph, PcieBoxLinks(1.5));
  EXPECT_EQ(found.graph.node(*found.graph.GpuOf(0, 1)).pci.link_width, 1);
  EXPECT_EQ(found.graph.node(*found.graph.GpuOf(0, 1)).pci.best_link_width, 16);
}

// One of two GPUs has no files about its link, nor has the port above it.
void AddPcieBoxWithoutLinkFiles(RenderedHost& host, const std::string& nvml) {
  RenderedPci gpu = GpuDevice();
  gpu.best_width = "";
  AddPcieBox(host, gpu, nvml);
  for (const char* file : {"current_link_speed", "max_link_speed", "current_link_width", "max_link_width"}) {
    std::filesystem::remove(host.root() + "/sys/devices/pci0000:40/0000:40:01.1/" + file);
  }
}

TEST(Discover, ALinkThatOnlyNvmlDescribes) {
  RenderedHost host;
  AddPcieBoxWithoutLinkFiles(host, "4 8 5 8");
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "");
  ExpectLinks(found.graph, PcieBoxLinks(24));
  const Pci& pci = found.graph.node(*found.graph.GpuOf(0, 1)).pci;
  EXPECT_EQ(pci.link_speed, "16.0 GT/s PCIe");
  EXPECT_EQ(pci.best_link_speed, "32.0 GT/s PCIe");
  EXPECT_EQ(pci.link_width, 8);
  EXPECT_EQ(pci.best_link_width, 8);
}

TEST(Discover, ALinkThatNobodyDescribes) {
  RenderedHost host;
  AddPcieBoxWithoutLinkFiles(host, "0 0 0 0");
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes),
            "the PCI link of GPU 1 is not fully described (unknown speed x?): 12 GB/s are assumed\n");
  ExpectLinks(found.graph, PcieBoxLinks(12));
  ASSERT_EQ(found.unsaid.gpus.size(), 1u);
  const MeasuredGpu measured[] = {{.bus_id = found.unsaid.gpus[0], .numa = -1, .gb_per_s = 5.5}};
  const Result<Discovery> known =
      Discover({.root = host.root(), .nvml_library = TUTTI_FAKE_NVML, .measured = measured});
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(Joined(known->notes), "GPU 1 takes 5.5 GB/s from host memory, as was measured\n");
  ExpectLinks(known->graph, PcieBoxLinks(5.5));
}

TEST(Discover, AHostWithoutGpus) {
  RenderedHost host;
  host.SetNvml("fail nvmlInit_v2 9\n");
  AddTwoSockets(host);
  const std::string card = "pci0000:80/0000:80:01.0/0000:81:00.";
  for (const char* function : {"0", "1"}) host.AddPciBelow(card + function, {.numa = "1"}, CardDevice("1"));
  host.AddInfiniband("mlx5_0", card + "0", "200 Gb/sec (4X HDR)");
  host.AddInfiniband("mlx5_1", card + "1", "200 Gb/sec (4X HDR)");
  host.AddInterface("ib0", card + "0", "200000");
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "");
  EXPECT_FALSE(found.nvml);
  ExpectLinks(found.graph, TwoSocketLinks() + LinkLine("NUMA node 1", "NIC mlx5_0", "PCI", 48) +
                               LinkLine("NIC mlx5_0", "mlx5_0", "local", 25) +
                               LinkLine("NIC mlx5_0", "mlx5_1", "local", 25));
}

TEST(Discover, WithoutNvml) {
  RenderedHost host;
  AddPcieBox(host, GpuInAnOlderSlot());
  const Result<Discovery> found = Discover({.root = host.root(), .nvml_library = "/none/libnvidia-ml.so.1"});
  ASSERT_TRUE(found.ok());
  ExpectLinks(found->graph, PcieBoxLinks(24));
  EXPECT_EQ(found->graph.node(*found->graph.GpuOf(0, 1)).gpu()->sm, 0);
  ASSERT_EQ(found->notes.size(), 1u);
  EXPECT_TRUE(HasNote(
      *found, "GPUs are drawn without NVLinks, from sysfs alone: NVIDIA's management library cannot be opened"));
}

// A POWER9's GPUs have NVLinks to their CPU.
TEST(Discover, NvLinksToACpu) {
  RenderedHost host;
  AddPcieBox(host, GpuInAnOlderSlot());
  host.Write("/proc/cpuinfo", "processor\t: 0\ncpu\t\t: POWER9, altivec supported");
  host.SetNvml(
      "gpu 0000:01:00.0\nsm 7 0\npcie 4 16 4 16\nlinks 3\nlink 0 1 1 0004:00:00.0 1\nlink 1 1 1 0004:00:00.1 1\nlink 2 "
      "1 1 0004:00:00.2 1\n"
      "gpu 0000:41:00.0\nsm 7 0\npcie 4 16 4 16\n");
  const Discovery found = DiscoverIt(host);
  ExpectLinks(found.graph,
              Lines{LinkLine("NUMA node 0", "CPU 0", "socket", 32), LinkLine("NUMA node 0", "GPU 0", "PCI", 24),
                    LinkLine("NUMA node 0", "GPU 1", "PCI", 24), LinkLine("GPU 0", "NUMA node 0", "C2C", 60, 3)});
}

// Two levels of switches, and a bridge that is alone.
TEST(Discover, LevelsOfSwitches) {
  RenderedHost host;
  host.SetCpu("GenuineIntel", 6, 143);
  host.AddNuma(0, 0, 3, "10", 0);
  const std::string outer = "pci0000:00/0000:00:01.0/0000:01:00.0/";
  const std::vector<std::string> chains = {outer + "0000:02:00.0/0000:03:00.0",
                                           outer + "0000:02:01.0/0000:04:00.0/0000:05:00.0/0000:06:00.0",
                                           "pci0000:00/0000:00:02.0/0000:07:00.0/0000:08:00.0"};
  for (const std::string& chain : chains) {
    host.AddPciBelow(chain, kBridge, GpuDevice());
    host.AddGpu({.bus_id = chain.substr(chain.rfind('/') + 1)});
  }
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "");
  ExpectLinks(found.graph, Lines{LinkLine("NUMA node 0", "CPU 0", "socket", 22),
                                 LinkLine("NUMA node 0", "PCI switch 0000:01:00.0", "PCI", 48),
                                 LinkLine("PCI switch 0000:01:00.0", "GPU 0", "PCI", 48),
                                 LinkLine("PCI switch 0000:01:00.0", "PCI switch 0000:04:00.0", "PCI", 48),
                                 LinkLine("PCI switch 0000:04:00.0", "GPU 1", "PCI", 48),
                                 LinkLine("NUMA node 0", "PCI switch 0000:07:00.0", "PCI", 48),
                                 LinkLine("PCI switch 0000:07:00.0", "GPU 2", "PCI", 48)});
  EXPECT_EQ(TypeBetween(found.graph, "GPU 0", "GPU 1"), PathType::kPxb);
}

// A ring of four sockets: opposite ones have no link of their own.
TEST(Discover, NumaNodesAreJoinedAsTheirDistancesSay) {
  RenderedHost host;
  host.SetCpu("GenuineIntel", 6, 143);
  host.AddNuma(0, 0, 1, "10 21 31 21", 0);
  host.AddNuma(1, 2, 3, "21 10 21 31", 1);
  host.AddNuma(2, 4, 5, "31 21 10 21", 1);  // of the same socket as node 1
  host.AddNuma(3, 6, 7, "21 31 21 10", 3);
  const Discovery found = DiscoverIt(host);
  EXPECT_EQ(Joined(found.notes), "");
  const auto socket = [](const char* from, const char* to) { return LinkLine(from, to, "socket", 22); };
  ExpectLinks(found.graph, Lines{socket("NUMA node 0", "NUMA node 1"), socket("NUMA node 1", "NUMA node 2"),
                                 socket("NUMA node 2", "NUMA node 3"), socket("NUMA node 0", "NUMA node 3"),
                                 socket("NUMA node 0", "CPU 0"), socket("NUMA node 1", "CPU 1"),
                                 socket("NUMA node 2", "CPU 1"), socket("NUMA node 3", "CPU 3")});
  EXPECT_DOUBLE_EQ(found.graph.link(0).latency_us, 0.11);
}

}  // namespace
}  // namespace tutti::topo
