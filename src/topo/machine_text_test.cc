// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/machine_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topo/paths.h"

namespace tutti::topo {
namespace {

Machine Read(std::string_view text) {
  Result<Machine> machine = ReadMachineText(text, "box.txt");
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  return machine.ok() ? *machine : Machine();
}

Graph Build(std::string_view text, int hosts = 1) {
  Result<Graph> graph = BuildGraph(Read(text), hosts);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *graph : Graph();
}

std::string SentenceOf(std::string_view text) { return ReadMachineText(text, "box.txt").status().message(); }

// The link between two nodes; nothing where there is none.
const Link* LinkBetween(const Graph& graph, int a, int b, LinkKind kind) {
  for (const Neighbour& neighbour : graph.NeighboursOf(a)) {
    if (neighbour.node == b && graph.link(neighbour.link).kind == kind) return &graph.link(neighbour.link);
  }
  return nullptr;
}

int NodeNamed(const Graph& graph, std::string_view name, int host = 0) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.nodes()[i].name == name && graph.nodes()[i].host == host) return static_cast<int>(i);
  }
  ADD_FAILURE() << name << " is not there";
  return 0;
}

constexpr std::string_view kBox = R"(
name   A box    # with a comment
gpu    H100
nvlink switch
cpu    Intel 6/143
pci    gen5 x16
nic    400 Gbit/s, latency 2 us, reports 75 us
host
  2 sockets
    2 switches
      1 gpu
      1 nic, gen4 x8
)";

TEST(MachineText, SaysWhetherTheNetworkReduces) {
  for (const bool reduces : {false, true}) {
    const Graph graph = Build(std::string(kBox) + "fabric rails, adaptive" + (reduces ? ", reduces\n" : "\n"), 2);
    for (const int port : graph.All(NodeKind::kPort)) EXPECT_EQ(graph.node(port).port()->collectives, reduces);
  }
}

TEST(MachineText, SaysWhatAHostIsMadeOf) {
  const Graph graph = Build(kBox);
  EXPECT_EQ(graph.name, "A box");
  EXPECT_EQ(graph.All(NodeKind::kGpu).size(), 4u);
  EXPECT_EQ(graph.All(NodeKind::kPciSwitch).size(), 4u);
  EXPECT_EQ(graph.All(NodeKind::kNumaNode).size(), 2u);
  EXPECT_EQ(graph.All(NodeKind::kCpu).size(), 2u);
  EXPECT_EQ(graph.All(NodeKind::kNvSwitch).size(), 1u);
  EXPECT_EQ(graph.All(NodeKind::kNetworkSwitch).size(), 0u);  // of one host
  const Node& gpu = graph.node(*graph.GpuOf(0, 3));
  EXPECT_EQ(gpu.name, "GPU 3");
  EXPECT_EQ(gpu.numa, 1);
  EXPECT_EQ(gpu.gpu()->sm, 90);
  EXPECT_EQ(gpu.gpu()->name, "NVIDIA H100");
  EXPECT_EQ(gpu.gpu()->nvlinks_expected, 18);
  EXPECT_TRUE(gpu.gpu()->gdr);
  EXPECT_EQ(gpu.pci.link_speed, "32.0 GT/s PCIe");
  EXPECT_EQ(gpu.pci.link_width, 16);
  const Node& port = graph.node(*graph.PortOf(0, 3));
  EXPECT_EQ(port.port()->gbit_per_s, 400);
  EXPECT_EQ(port.port()->latency_us, 75);
  EXPECT_EQ(port.port()->rail, 3);
  EXPECT_TRUE(port.port()->gdr);
  const int nic = NodeNamed(graph, "NIC 3");
  EXPECT_EQ(LinkBetween(graph, *graph.PortOf(0, 3), nic, LinkKind::kLocal)->rated_gb_per_s, 50);
  EXPECT_EQ(LinkBetween(graph, *graph.PortOf(0, 3), nic, LinkKind::kLocal)->latency_us, 1);
  EXPECT_EQ(LinkBetween(graph, nic, NodeNamed(graph, "PCI switch 3"), LinkKind::kPci)->rated_gb_per_s, 12);
  EXPECT_EQ(LinkBetween(graph, NodeNamed(graph, "PCI switch 3"), NodeNamed(graph, "NUMA node 1"), LinkKind::kPci)
                ->rated_gb_per_s,
            48);
  EXPECT_EQ(LinkBetween(graph, NodeNamed(graph, "NUMA node 0"), NodeNamed(graph, "NUMA node 1"), LinkKind::kSocket)
                ->rated_gb_per_s,
            22);
  const Link* nvlink = LinkBetween(graph, NodeNamed(graph, "GPU 3"), NodeNamed(graph, "NVSwitch"), LinkKind::kNvLink);
  EXPECT_EQ(nvlink->count, 18);
  EXPECT_NEAR(nvlink->rated_gb_per_s, 370.8, 1e-9);
  EXPECT_NE(graph.node(nic).pci.bus_id, gpu.pci.bus_id);
}

TEST(MachineText, ThingsCanBeNumberedAndPropertiesChanged) {
  const Graph graph = Build(R"(
gpu sm70, 6 nvlinks, 32 GB, gpudirect off
cpu AMD 23/49
host
  numa 1
    gpu 2 0 gen3 x16 now gen1 x8
    nic 1 100 Gbit/s 2 ports
  numa node unknown
    2 gpus
    nic 50 Gbit/s virtual gpudirect off
)");
  EXPECT_EQ(graph.node(graph.All(NodeKind::kGpu)[0]).gpu()->dev, 2);
  EXPECT_EQ(graph.node(*graph.GpuOf(0, 0)).numa, 1);
  EXPECT_EQ(graph.node(*graph.GpuOf(0, 0)).pci.link_speed, "2.5 GT/s PCIe");
  EXPECT_EQ(graph.node(*graph.GpuOf(0, 0)).pci.link_width, 8);
  EXPECT_EQ(graph.node(*graph.GpuOf(0, 0)).pci.best_link_speed, "8.0 GT/s PCIe");
  EXPECT_EQ(graph.node(*graph.GpuOf(0, 0)).pci.best_link_width, 16);
  EXPECT_EQ(graph.node(*graph.GpuOf(0, 1)).numa, -1);
  EXPECT_EQ(graph.node(*graph.GpuOf(0, 1)).gpu()->name, "NVIDIA sm70");
  EXPECT_FALSE(graph.node(*graph.GpuOf(0, 1)).gpu()->gdr);
  EXPECT_EQ(graph.node(*graph.GpuOf(0, 1)).gpu()->nvlinks_expected, 0);  // nothing joins them
  // The card with the number 0 has the first port, although it comes last.
  EXPECT_EQ(graph.node(*graph.PortOf(0, 0)).port()->gbit_per_s, 50);
  EXPECT_FALSE(graph.node(*graph.PortOf(0, 0)).port()->gdr);
  EXPECT_EQ(graph.node(*graph.PortOf(0, 2)).port()->name, "nic1.2");
  EXPECT_EQ(graph.node(*graph.PortOf(0, 1)).port()->guid, graph.node(*graph.PortOf(0, 2)).port()->guid);
  EXPECT_NE(graph.node(*graph.PortOf(0, 0)).port()->guid, graph.node(*graph.PortOf(0, 2)).port()->guid);
  EXPECT_EQ(graph.node(NodeNamed(graph, "NIC 0")).pci.bus_id, "");
  // By the best speed and the lanes of now: 1 GB/s would be the first generation's.
  const int numa = NodeNamed(graph, "NUMA node 1");
  EXPECT_EQ(LinkBetween(graph, *graph.GpuOf(0, 0), numa, LinkKind::kPci)->rated_gb_per_s, 6);
}

TEST(MachineText, NvLinksCanGoAnyWay) {
  const std::string host = "gpu A100\nhost\n numa\n  4 gpus\n";
  const auto links = [&](const std::string& text, int a, int b) {
    const Graph graph = Build(host + text);
    const Link* link = LinkBetween(graph, *graph.GpuOf(0, a), *graph.GpuOf(0, b), LinkKind::kNvLink);
    return link == nullptr ? 0 : link->count;
  };
  EXPECT_EQ(links("", 0, 1), 0);
  EXPECT_EQ(links("nvlink groups of 4\n", 0, 3), 4);
  EXPECT_EQ(links("nvlink groups of 2\n", 0, 1), 12);
  EXPECT_EQ(links("nvlink groups of 2\n", 1, 2), 0);
  EXPECT_EQ(links("nvlink groups of 4\nbut gpu 3: 7 nvlinks\n", 0, 3), 2);
  EXPECT_EQ(links("nvlink 1 per pair: 0-1\nnvlink 5 per pair: 3-1 0-2\n", 1, 3), 5);
  const Graph islands = Build(host + "nvlink switch groups of 2\nbut gpu 3: 11 nvlinks\n");
  EXPECT_EQ(islands.All(NodeKind::kNvSwitch).size(), 2u);
  EXPECT_EQ(Paths(islands, *islands.GpuOf(0, 2)).type(*islands.GpuOf(0, 3)), PathType::kNvl);
  EXPECT_EQ(Paths(islands, *islands.GpuOf(0, 2)).gb_per_s(*islands.GpuOf(0, 3)), 220);
  EXPECT_EQ(Paths(islands, *islands.GpuOf(0, 1)).type(*islands.GpuOf(0, 2)), PathType::kPhb);
}

TEST(MachineText, ARackSharesItsNvSwitches) {
  const Graph graph = Build(
      "gpu GB200\ncpu arm64\nc2c 5 lines of 44712 MB/s\nnvlink switch across 2 hosts\nhost\n socket\n  2 gpus\n  nic\n"
      "but host 2 gpu 1: 3 nvlinks\n",
      5);
  const std::vector<int> switches = graph.All(NodeKind::kNvSwitch);
  ASSERT_EQ(switches.size(), 5u);
  EXPECT_EQ(graph.node(switches[3]).host, 3);
  EXPECT_EQ(LinkBetween(graph, switches[0], switches[1], LinkKind::kNvLink)->count, 36);
  EXPECT_EQ(LinkBetween(graph, switches[2], switches[3], LinkKind::kNvLink)->count, 36);
  EXPECT_EQ(LinkBetween(graph, switches[1], switches[2], LinkKind::kNvLink), nullptr);
  const Paths paths(graph, *graph.GpuOf(2, 0));
  EXPECT_EQ(paths.type(*graph.GpuOf(3, 1)), PathType::kNvl);
  EXPECT_NEAR(paths.gb_per_s(*graph.GpuOf(3, 1)), 721.8, 1e-9);
  // Three NVLinks have 120.3, and are preferred to a C2C of 223.56.
  EXPECT_NEAR(paths.gb_per_s(*graph.GpuOf(2, 1)), 120.3, 1e-9);
}

TEST(MachineText, OneHostCanBeDifferent) {
  const std::string text =
      std::string(kBox) + "but nic 1: 200 Gbit/s\nbut host 1 nic 1 2: gpudirect off\nbut host 1 nic 1: 100 Gbit/s\n";
  const Graph graph = Build(text, 3);
  EXPECT_EQ(graph.hosts().size(), 3u);
  EXPECT_EQ(graph.node(*graph.PortOf(0, 1)).port()->gbit_per_s, 200);
  EXPECT_EQ(graph.node(*graph.PortOf(1, 1)).port()->gbit_per_s, 100);
  EXPECT_EQ(graph.node(*graph.PortOf(2, 1)).port()->gbit_per_s, 200);
  EXPECT_FALSE(graph.node(*graph.PortOf(1, 1)).port()->gdr);
  EXPECT_FALSE(graph.node(*graph.PortOf(1, 2)).port()->gdr);
  EXPECT_TRUE(graph.node(*graph.PortOf(1, 3)).port()->gdr);
  EXPECT_EQ(Paths(graph, *graph.PortOf(0, 0)).gb_per_s(*graph.PortOf(1, 1)), 12.5);
  EXPECT_NE(graph.node(*graph.PortOf(0, 0)).port()->guid, graph.node(*graph.PortOf(1, 0)).port()->guid);
}

TEST(MachineText, ThousandsOfHostsCanBeBuilt) {
  const Graph graph = Build(std::string(kBox) + "fabric rail-optimised of 64 ports\n", 2048);
  EXPECT_EQ(graph.hosts().size(), 2048u);
  EXPECT_EQ(graph.All(NodeKind::kPort).size(), 4u * 2048);
  EXPECT_EQ(graph.node(graph.All(NodeKind::kGpu).back()).host, 2047);
  const Machine machine = Read(kBox);
  EXPECT_EQ(BuildGraph(machine, 0).status().message(), "0 hosts cannot be built; there may be 1 to 65536");
  EXPECT_FALSE(BuildGraph(machine, 65537).ok());
  const Machine large = Read("gpu T4\nhost\n 32 numa\n  16 gpus\n");
  EXPECT_EQ(BuildGraph(large, 65536).status().message(),
            "65536 hosts of 544 nodes and 1008 links each are more than the 4194304 that a graph may have; ask for "
            "fewer hosts");
}

TEST(MachineText, WordsForTheEyeAndLettersAreNoMatter) {
  const Machine a = Read("GPU h100\r\nNIC has 2 Ports of 100 gbit/s\r\nhost\r\n\tSocket\r\n\t\tgpu\r\n\t\tnic\r\n");
  const Machine b = Read("nic 100 Gbit/s 2 ports\nhost\n 1 sockets\n  1 gpus\n  1 nics\ngpu H100\n");
  EXPECT_EQ(a.Count(NodeKind::kNic), 1);
  EXPECT_EQ(a.parts.back().nic.ports, 2);
  EXPECT_EQ(b.parts.back().nic.ports, 2);
  EXPECT_EQ(b.parts.back().nic.gbit_per_s, 100);
}

TEST(MachineText, HostsWithoutGpus) {
  const Result<Machine> machine = ReadMachineText("nic 100 Gbit/s\nhost\n  2 sockets\n    1 nic\n", "box.txt");
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  EXPECT_EQ(machine->Count(NodeKind::kGpu), 0);
  EXPECT_EQ(machine->Count(NodeKind::kNic), 2);
  EXPECT_TRUE(BuildGraph(*machine, 3).ok());
}

struct Wrong {
  std::string_view text, sentence;
};

TEST(MachineText, WhatIsWrongInLinesIsSaid) {
  const Wrong kWrong[] = {
      {"", "box.txt has no line `gpu`; write the model, as `gpu H100`"},
      {"host\n  1 socket\n    1 gpu\n", "box.txt has no line `gpu`; write the model, as `gpu H100`"},
      {"gpu H100\n", "box.txt has no tree of a host; write `host`, and below it what a host is made of"},
      {"gpus H100\n",
       "line 1 of box.txt: \"gpus\" is not known here; write name, gpu, cpu, pci, nic, c2c, nvlink, host, but or "
       "fabric"},
      {"gpu H100\ngpu H200\n", "line 2 of box.txt: there is a line `gpu` already; leave one of the two"},
      {"gpu H100\n  2 sockets\n", "line 2 of box.txt: only lines below `host` begin with blanks; remove them"},
      {"name #\n", "line 1 of box.txt: the name is missing; write what people call the machine"},
      {"host now\n",
       "line 1 of box.txt: \"now\" is not known here; write nothing behind `host`; the tree comes below it"},
      {"gpu H100\nhost\n  gpu\n",
       "line 3 of box.txt: a gpu hangs on nothing; begin the tree with sockets or numa nodes, and write it below one "
       "of them, further "
       "to the right"},
      {"gpu H100\nhost\n  socket\n    gpu\n      nic\n",
       "line 5 of box.txt: a nic cannot hang on a gpu; what hangs on what is: numa nodes on sockets; switches, gpus "
       "and nics on "
       "sockets, numa nodes and switches"},
      {"gpu H100\nhost\n  socket\n    gpu\n    numa\n",
       "line 5 of box.txt: a socket has numa nodes or devices, not both; write the devices below one of its numa "
       "nodes"},
      {"gpu H100\nhost\n  2 sockets\n    gpu 0\n",
       "line 4 of box.txt: there is a gpu 0 already; give each one a number of its own, and none to what is repeated"},
      {"gpu H100\nhost\n  2 boards\n",
       "line 3 of box.txt: \"boards\" is not known here; write sockets, numa nodes, switches, gpus or nics, with how "
       "many before it"},
      {"gpu H100\nhost\n  0 sockets\n", "line 3 of box.txt: there can be 1 to 1024 of a thing"},
      {"gpu H100\nhost\n  32 sockets\n    32 gpus\n",
       "line 4 of box.txt: the host has more than 1024 parts with these; write fewer"},
      {"gpu H100\nhost\n  65 sockets\n",
       "line 3 of box.txt: the host has more than 64 NUMA nodes with these; write fewer"},
  };
  for (const Wrong& wrong : kWrong) EXPECT_EQ(SentenceOf(wrong.text), wrong.sentence) << wrong.text;
}

TEST(MachineText, WhatIsWrongInPropertiesIsSaid) {
  const Wrong kWrong[] = {
      {"gpu H100\nhost\n  socket\n    gpu gen9\n",
       "line 4 of box.txt: \"gen9\" is not known here; write gen1 to gen7, and x1, x2, x4, x8, x12, x16 or x32"},
      {"gpu H100\nhost\n  socket\n    nic 3 lanes\n",
       "line 4 of box.txt: \"lanes\" is not known here; write for a nic: genG, xL, now, R Gbit/s, N ports, latency N "
       "us, reports N us, "
       "virtual, gpudirect on or gpudirect off"},
      {"gpu H100\nhost\n  socket\n    1 nic 3 ports\n", "line 4 of box.txt: a network card has 1, 2, 4 or 8 ports"},
      {"gpu H100\nhost\n  socket\n    1 nic 0 Gbit/s\n",
       "line 4 of box.txt: a port has more than 0 and up to 1000000 Gbit/s"},
      {"gpu H100\nhost\n  socket\n    1 nic latency 1 s\n",
       "line 4 of box.txt: \"s\" is not known here; write `latency N us`"},
      {"gpu H100\nhost\n  socket\n    1 gpu 2.5 nvlinks\n", "line 4 of box.txt: a GPU has 0 to 1000 NVLinks"},
      {"gpu H100\nhost\n  socket\n    1 gpu gpudirect\n",
       "line 4 of box.txt: something is missing at the end; write gpudirect on or gpudirect off"},
      {"cpu Intel 6\ngpu H100\nhost\n socket\n",
       "line 1 of box.txt: \"6\" is not known here; write family and model by CPUID, as Intel 6/143"},
      {"cpu Cray\ngpu H100\nhost\n socket\n",
       "line 1 of box.txt: \"Cray\" is not known here; write Intel, AMD, Zhaoxin, arm64 or ppc64"},
      {"c2c 0 lines of 5 MB/s\ngpu H100\nhost\n socket\n",
       "line 1 of box.txt: the number of lines must be a whole number from 1 to 1000, not \"0\""},
  };
  for (const Wrong& wrong : kWrong) EXPECT_EQ(SentenceOf(wrong.text), wrong.sentence) << wrong.text;
  const std::string sentence = SentenceOf("gpu H1000\nhost\n socket\n");
  EXPECT_TRUE(sentence.starts_with("line 1 of box.txt: \"H1000\" is not known here; write the model: P100 V100 "))
      << sentence;
  EXPECT_LT(SentenceOf(std::string(5000, 'x')).size(), 300u);
  EXPECT_EQ(SentenceOf("gpu \x01\x02\nhost\n socket\n").find('\x01'), std::string::npos);
}

TEST(MachineText, WhatContradictsTheTreeIsSaid) {
  const std::string host = "gpu A100\nhost\n  numa\n    4 gpus\n    1 nic\n";
  const Wrong kWrong[] = {
      {"nvlink 2 per pair: 0-4\n",
       "line 6 of box.txt: \"0-4\" is not known here; write two GPUs that are there, as 0-1"},
      {"nvlink 2 per pair: 0-1 1-0\n", "line 6 of box.txt: the GPUs 1 and 0 are joined already; leave one of the two"},
      {"nvlink switch\nnvlink switch\n",
       "line 7 of box.txt: the NVLinks are said in another line already; leave one of the two"},
      {"nvlink groups of 3\n", "line 6 of box.txt: 4 GPUs are no groups of 3; write a number that divides them"},
      {"nvlink groups of 5\n",
       "line 6 of box.txt: the number of GPUs in a group must be a whole number from 2 to 4, not \"5\""},
      {"nvlink mesh\n",
       "line 6 of box.txt: \"mesh\" is not known here; write `nvlink switch`, `nvlink switch across N hosts`, `nvlink "
       "groups of N`, or "
       "`nvlink N per pair: A-B A-B`"},
      {"but gpu 4: 0 nvlinks\n",
       "line 6 of box.txt: there is no gpu 4 in the tree below `host`; name one that is there"},
      {"but gpu: 0 nvlinks\n", "line 6 of box.txt: which gpu is not said; write its number, as `gpu 0`"},
      {"but nic 0\n",
       "line 6 of box.txt: something is missing at the end; write what is different of it: genG, xL, now, R Gbit/s, N "
       "ports, latency N "
       "us, reports N us, virtual, gpudirect on or gpudirect off"},
      {"but host 1 nic 0: 2 ports\n", "line 6 of box.txt: all hosts have the same ports; change them without `host`"},
      {"fabric ring\n",
       "line 6 of box.txt: \"ring\" is not known here; write one switch, rails, fat tree, rail-optimised or none, and "
       "then N levels, N "
       "ports, N spines, N planes, N hosts per leaf, N leaves per rail, oversubscription R, uplinks R Gbit/s, hop N "
       "us, hash or "
       "adaptive, reduces"},
      {"fabric fat tree\n",
       "line 6 of box.txt: how many switches there are is not said; write `N ports` of each, or `N spines` of 2 "
       "levels"},
      {"fabric fat tree of 4 levels\n", "line 6 of box.txt: a fabric has 1 to 3 levels"},
      {"fabric one switch, hop 1 s\n", "line 6 of box.txt: \"s\" is not known here; write `hop N us`"},
      {"fabric one switch, 2 planes\n",
       "line 6 of box.txt: 1 ports of a host cannot be shared out among 2 planes; write cards with as many ports as "
       "planes"},
      {"fabric fat tree, 2 leaves per rail, 2 spines\n",
       "line 6 of box.txt: leaves per rail are for rail-optimised fabrics, instead of hosts per leaf; write one of the "
       "two"},
  };
  ASSERT_EQ(SentenceOf(host), "");
  for (const Wrong& wrong : kWrong) {
    EXPECT_EQ(SentenceOf(host + std::string(wrong.text)), wrong.sentence) << wrong.text;
  }
}

}  // namespace
}  // namespace tutti::topo
