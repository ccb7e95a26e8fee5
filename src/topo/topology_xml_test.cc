// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/topology_xml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

#include "topo/paths.h"
#include "topo/topology_xml_examples.h"

namespace tutti::topo {
namespace {

TopologyXml Read(const std::string& text) {
  Result<TopologyXml> read = ReadTopologyXml(text, "topo.xml");
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(*read) : TopologyXml{};
}

std::string Refusal(const std::string& text) {
  const Result<TopologyXml> read = ReadTopologyXml(text, "topo.xml");
  return read.ok() ? "taken" : read.status().message();
}

int Gpu(const Graph& graph, int dev, int host = 0) { return graph.GpuOf(host, dev).value_or(-1); }
int Port(const Graph& graph, int dev, int host = 0) { return graph.PortOf(host, dev).value_or(-1); }

const Link* Between(const Graph& graph, int from, int to) {
  for (const Neighbour& neighbour : graph.NeighboursOf(from)) {
    if (neighbour.node == to) return &graph.link(neighbour.link);
  }
  return nullptr;
}

TEST(TopologyXml, HgxH100) {
  const TopologyXml read = Read(HgxH100());
  EXPECT_TRUE(read.notes.empty()) << read.notes.front();
  const Graph& graph = read.graph;
  EXPECT_EQ(graph.hosts().size(), 1u);
  EXPECT_EQ(graph.All(NodeKind::kNumaNode).size(), 2u);
  EXPECT_EQ(graph.All(NodeKind::kPciSwitch).size(), 4u);
  EXPECT_EQ(graph.All(NodeKind::kGpu).size(), 8u);
  EXPECT_EQ(graph.All(NodeKind::kNic).size(), 8u);
  ASSERT_EQ(graph.All(NodeKind::kNvSwitch).size(), 1u);
  const int gpu = Gpu(graph, 5);
  const Node& node = graph.node(gpu);
  EXPECT_EQ(node.name, "GPU 5");
  EXPECT_EQ(node.numa, 1);
  EXPECT_EQ(node.pci.bus_id, "0000:61:00.0");
  EXPECT_EQ(node.pci.class_id, "0x030200");
  EXPECT_EQ(node.pci.link_width, 16);
  EXPECT_EQ(node.gpu()->sm, 90);
  EXPECT_EQ(node.gpu()->rank, 5);
  EXPECT_TRUE(node.gpu()->gdr);
  EXPECT_EQ(node.gpu()->nvlinks_expected, 18);
  const Link* nvlink = Between(graph, gpu, graph.All(NodeKind::kNvSwitch)[0]);
  ASSERT_NE(nvlink, nullptr);
  EXPECT_EQ(nvlink->kind, LinkKind::kNvLink);
  EXPECT_EQ(nvlink->count, 18);
  EXPECT_DOUBLE_EQ(nvlink->rated_gb_per_s, 370.8);
  const std::vector<int> numa = graph.All(NodeKind::kNumaNode);
  EXPECT_EQ(Between(graph, numa[0], numa[1])->rated_gb_per_s, 22);
  EXPECT_EQ(graph.node(numa[1]).cpu()->model, 143);
  const Paths paths(graph, gpu);
  EXPECT_EQ(paths.type(Gpu(graph, 0)), PathType::kNvl);
  EXPECT_EQ(paths.type(Port(graph, 5)), PathType::kPix);
  EXPECT_EQ(paths.gb_per_s(Port(graph, 5)), 48);
  EXPECT_EQ(paths.type(Port(graph, 6)), PathType::kPhb);
  EXPECT_EQ(paths.type(Port(graph, 0)), PathType::kSys);
  const topo::Port& port = *graph.node(Port(graph, 3)).port();
  EXPECT_EQ(port.name, "mlx5_3");
  EXPECT_EQ(port.gbit_per_s, 400);
  EXPECT_EQ(port.guid, 0xabc003u);
  EXPECT_EQ(graph.node(graph.All(NodeKind::kNic)[3]).name, "mlx5_3");
}

TEST(TopologyXml, BothEndsOfAnNvLinkAreOneLink) {
  const TopologyXml read = Read(Dgx1());
  EXPECT_TRUE(read.notes.empty());
  EXPECT_TRUE(read.graph.All(NodeKind::kNvSwitch).empty());
  int links = 0, lines = 0;
  for (const Link& link : read.graph.links()) {
    if (link.kind != LinkKind::kNvLink) continue;
    ++links;
    lines += link.count;
  }
  EXPECT_EQ(links, 16);
  EXPECT_EQ(lines, 24);
  EXPECT_EQ(Between(read.graph, Gpu(read.graph, 3), Gpu(read.graph, 0))->rated_gb_per_s, 40);
  EXPECT_EQ(Paths(read.graph, Gpu(read.graph, 0)).type(Gpu(read.graph, 7)), PathType::kNvb);
  EXPECT_EQ(read.graph.node(Gpu(read.graph, 0)).gpu()->nvlinks_expected, 6);
}

TEST(TopologyXml, VirtualMachinesAreReadAsTheyClaimToBe) {
  const TopologyXml read = Read(Vm());
  const Graph& graph = read.graph;
  EXPECT_EQ(graph.node(Gpu(graph, 2)).numa, -1);
  const Paths paths(graph, Gpu(graph, 2));
  EXPECT_EQ(paths.type(Port(graph, 2)), PathType::kPhb);
  EXPECT_EQ(paths.gb_per_s(Port(graph, 2)), 0.1875);
  ASSERT_EQ(read.notes.size(), 8u);  // of cards
  EXPECT_EQ(read.notes[0], "topo.xml:5:1: <pci>: link_speed=\"\" is no known speed, 8 GT/s are assumed");
  EXPECT_EQ(Between(graph, graph.All(NodeKind::kNic)[0], graph.All(NodeKind::kNumaNode)[0])->rated_gb_per_s, 12);
}

TEST(TopologyXml, C2cAndPorts) {
  const Graph graph = Read(Gb200()).graph;
  const Link* c2c = Between(graph, Gpu(graph, 3), graph.All(NodeKind::kNumaNode)[1]);
  ASSERT_NE(c2c, nullptr);
  EXPECT_EQ(c2c->kind, LinkKind::kC2c);
  EXPECT_EQ(c2c->count, 5);
  EXPECT_EQ(c2c->rated_gb_per_s, 223.56);
  EXPECT_EQ(Paths(graph, Gpu(graph, 3)).type(Port(graph, 3)), PathType::kPhb);
  const topo::Port& port = *graph.node(Port(graph, 1)).port();
  EXPECT_EQ(port.latency_us, 2.5);
  EXPECT_EQ(port.rail, 3);
  EXPECT_EQ(port.plane, 1);
  EXPECT_TRUE(port.collectives);
  EXPECT_EQ(port.max_connections, 131072);
}

// What one host sends to others is bound by its own NVLinks.
TEST(TopologyXml, HostsOfOneFileAreOneNvLinkDomain) {
  const TopologyXml read = Read(SystemOf(Tray("0xa", 0, "") + Tray("0xb", 4, "") + Tray("0xc", 8, "")));
  const Graph& graph = read.graph;
  EXPECT_EQ((std::vector<std::string>(graph.hosts().begin(), graph.hosts().end())),
            (std::vector<std::string>{"0xa", "0xb", "0xc"}));
  EXPECT_EQ(graph.node(Gpu(graph, 2, 1)).gpu()->rank, 6);
  EXPECT_EQ(graph.All(NodeKind::kNvSwitch).size(), 3u);
  const Paths paths(graph, Gpu(graph, 0, 1));
  EXPECT_EQ(paths.type(Gpu(graph, 3, 2)), PathType::kNvl);
  EXPECT_DOUBLE_EQ(paths.gb_per_s(Gpu(graph, 3, 2)), 721.8);
  const std::vector<int> switches = graph.All(NodeKind::kNvSwitch);
  EXPECT_DOUBLE_EQ(Between(graph, switches[0], switches[2])->rated_gb_per_s, 4 * 721.8);
}

TEST(TopologyXml, GpusOfAmd) {
  const Graph graph = Read(Mi300x()).graph;
  EXPECT_EQ(graph.node(Gpu(graph, 1)).gpu()->name, "gfx942");
  EXPECT_EQ(graph.node(Gpu(graph, 1)).gpu()->sm, 0);
  EXPECT_EQ(graph.node(Gpu(graph, 1)).gpu()->nvlinks_expected, 3);
  EXPECT_EQ(Between(graph, Gpu(graph, 1), Gpu(graph, 2))->rated_gb_per_s, 48);
  EXPECT_NE(WriteTopologyXml(graph, 0).find("<system version=\"2\">"), std::string::npos);
  const std::string old = SystemOf(CpuOf(0, "",
                                         PciOf("0000:c1:00.0", "0x038000", "16.0 GT/s PCIe", 16,
                                               R"(<gpu dev="0" sm="90" gcn="910" arch="38911" rank="0" gdr="0"/>)")),
                                   2);
  EXPECT_EQ(Read(old).graph.node(1).gpu()->name, "gfx90a");
}

// As clouds publish them: NCCL asks the system for all that is missing.
TEST(TopologyXml, DevicesByTheirClass) {
  const std::string text = SystemOf(CpuOf(0, kBroadwell,
                                          PciOf("ffff:ff:01.0", "0x060400", "16 GT/s", 16,
                                                PciOf("0003:00:00.0", "0x030200", "16 GT/s", 16, "") +
                                                    PciOf("0103:00:00.0", "0x020700", "16 GT/s", 16, "") +
                                                    PciOf("0001:00:00.0", "0x030200", "16 GT/s", 16, ""))) +
                                    "<cpu numaid=\"1\"><pci busid=\"0000:00:1a.0\"/></cpu>");
  const TopologyXml read = Read(text);
  const Graph& graph = read.graph;
  ASSERT_EQ(graph.All(NodeKind::kGpu).size(), 2u);
  EXPECT_EQ(graph.node(Gpu(graph, 0)).pci.bus_id, "0001:00:00.0");
  EXPECT_EQ(graph.node(Gpu(graph, 1)).pci.bus_id, "0003:00:00.0");
  EXPECT_EQ(graph.node(Gpu(graph, 1)).gpu()->sm, 0);
  ASSERT_EQ(graph.All(NodeKind::kNic).size(), 1u);
  EXPECT_EQ(graph.node(graph.All(NodeKind::kNic)[0]).name, "NIC 0103:00:00.0");
  ASSERT_EQ(read.notes.size(), 1u);
  EXPECT_EQ(read.notes[0], "topo.xml:8:17: <pci>: 0000:00:1a.0 is no PCI switch, GPU or card, and passed over");
  const std::string written = WriteTopologyXml(graph, 0);
  EXPECT_NE(written.find("<gpu dev=\"0\" rank=\"0\"/>"), std::string::npos) << written;
  EXPECT_EQ(WriteTopologyXml(Read(written).graph, 0), written);
}

TEST(TopologyXml, NvLinksThatDoNotAgree) {
  const auto link = [](std::string_view target, int count) {
    return fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"0x030200\"/>", target, count);
  };
  const TopologyXml differ = Read(TwoGpus(link("0000:01:00.0", 12), link("0000:00:00.0", 5) + link("0000:00:00.0", 3)));
  EXPECT_EQ(Between(differ.graph, 1, 2)->count, 8);
  EXPECT_EQ(Between(differ.graph, 1, 2)->rated_gb_per_s, 160);
  ASSERT_EQ(differ.notes.size(), 1u);
  EXPECT_EQ(differ.notes[0], "topo.xml:3:118: <nvlink>: GPU 0 has 12 links to GPU 1, which says 8: 8 are counted");

  const TopologyXml one_side = Read(TwoGpus("", link("00000000:00:00.0", 4)));
  EXPECT_EQ(Between(one_side.graph, 1, 2)->count, 4);
  ASSERT_EQ(one_side.notes.size(), 1u);
  EXPECT_EQ(one_side.notes[0],
            "topo.xml:4:118: <nvlink>: GPU 1 has 4 links to GPU 0, which says nothing: 4 are counted");

  const TopologyXml nowhere = Read(TwoGpus(link("0000:00:00.0", 12), link("0000:07:00.0", 12)));
  EXPECT_EQ(Between(nowhere.graph, 1, 2), nullptr);
  ASSERT_EQ(nowhere.notes.size(), 2u);
  EXPECT_EQ(nowhere.notes[0], "topo.xml:3:118: <nvlink>: it leads to the GPU where it begins, and is passed over");
  EXPECT_EQ(nowhere.notes[1],
            "topo.xml:4:118: <nvlink>: target 0000:07:00.0 is no GPU of this file, the link is passed over");
  EXPECT_EQ(nowhere.graph.node(1).gpu()->nvlinks_expected, 0);
}

TEST(TopologyXml, DeadNvLinksAreKnown) {
  const auto to_switch = [](int count) {
    return fmt::format("<nvlink target=\"fffffff:ffff:ff\" count=\"{}\" tclass=\"0x068000\"/>", count);
  };
  const std::string half = TwoGpus(to_switch(12), to_switch(0));
  const Graph graph = Read(half).graph;
  const int nv_switch = graph.All(NodeKind::kNvSwitch)[0];
  EXPECT_EQ(Between(graph, 2, nv_switch)->count, 0);
  EXPECT_EQ(Between(graph, 2, nv_switch)->rated_gb_per_s, 0);
  EXPECT_EQ(graph.node(2).gpu()->nvlinks_expected, 12);
  EXPECT_EQ(Paths(graph, 1).type(2), PathType::kPhb);
  // One that says nothing is dead too where the other one is on a switch, and none where it has a bridge at most.
  EXPECT_EQ(Read(TwoGpus(to_switch(12), "")).graph.node(2).gpu()->nvlinks_expected, 12);
  EXPECT_EQ(Read(TwoGpus("", "")).graph.node(2).gpu()->nvlinks_expected, 0);
  EXPECT_EQ(Read(TwoGpus(to_switch(0), "")).graph.node(1).gpu()->nvlinks_expected, 12);
}

TEST(TopologyXml, WhatNvLinksLeadTo) {
  // By the class; without one by whether the file has such a GPU.
  const Graph power = Read(TwoGpus("<nvlink count=\"3\" tclass=\"0x068001\"/>", "")).graph;
  EXPECT_EQ(Between(power, 1, 0)->kind, LinkKind::kPci);
  EXPECT_EQ(power.link(2).kind, LinkKind::kNvLink);
  EXPECT_EQ(power.link(2).to, 0);
  const Graph none =
      Read(TwoGpus("<nvlink target=\"0000:01:00.0\" count=\"2\"/>", "<nvlink target=\"0000:77:00.0\" count=\"4\"/>"))
          .graph;
  EXPECT_EQ(Between(none, 1, 2)->count, 2);
  EXPECT_EQ(Between(none, 2, none.All(NodeKind::kNvSwitch)[0])->count, 4);
}

TEST(TopologyXml, GpusThatRanksOrPartitionsShare) {
  const auto box = [](std::string_view gpus) {
    return SystemOf(CpuOf(0, kGrace, PciOf("0000:01:00.0", "0x030200", "64.0 GT/s PCIe", 2, gpus)));
  };
  const std::string links =
      "<nvlink target=\"fffffff:ffff:ff\" count=\"36\" tclass=\"0x068000\"/><c2c bw=\"56376\" count=\"7\"/>";
  const TopologyXml shared = Read(box("<gpu dev=\"0\" sm=\"107\" rank=\"0\" gdr=\"1\">" + links +
                                      "</gpu><gpu dev=\"0\" sm=\"107\" rank=\"1\" gdr=\"1\"/>"));
  EXPECT_EQ(shared.graph.All(NodeKind::kGpu).size(), 1u);
  ASSERT_EQ(shared.notes.size(), 1u);
  EXPECT_NE(shared.notes[0].find("rank 1 shares the GPU of rank 0"), std::string::npos);
  const std::string parts =
      box("<gpu dev=\"0\" sm=\"107\" rank=\"0\" gdr=\"1\" mlopart=\"0\">" + links +
          "</gpu><gpu dev=\"1\" sm=\"107\" rank=\"1\" gdr=\"1\" mlopart=\"1\">" + links + "</gpu>");
  const Graph graph = Read(parts).graph;
  ASSERT_EQ(graph.All(NodeKind::kGpu).size(), 2u);
  EXPECT_EQ(Between(graph, 1, 2)->rated_gb_per_s, 2618);
  EXPECT_DOUBLE_EQ(Between(graph, 2, graph.All(NodeKind::kNvSwitch)[0])->rated_gb_per_s, 36 * 31.2 / 2);
}

TEST(TopologyXml, SwitchesInOneCard) {
  const std::string text =
      SystemOf(CpuOf(0, kBroadwell,
                     PciOf("0000:01:00.0", "0x060400", "16 GT/s", 16,
                           "<pcilink target=\"0000:02:00.0\"/><pcilink target=\"0000:01:00.0\"/>") +
                         PciOf("0000:02:00.0", "0x060400", "16 GT/s", 16,
                               "<pcilink target=\"0000:01:00.0\"/><pcilink target=\"0000:03:00.0\"/>")));
  const TopologyXml read = Read(text);
  ASSERT_EQ(read.graph.links().size(), 3u);
  EXPECT_EQ(read.graph.link(2).kind, LinkKind::kLocal);
  EXPECT_EQ(read.graph.link(2).rated_gb_per_s, 5000);
  EXPECT_EQ(read.notes.size(), 2u);
}

TEST(TopologyXml, CardsThatAreNoPciDevices) {
  const std::string text =
      SystemOf(CpuOf(0, kBroadwell, "<nic><net name=\"eth0\" dev=\"0\" speed=\"-1\"/></nic>" + NicOf(1, 25000)));
  const TopologyXml read = Read(text);
  EXPECT_EQ(read.graph.All(NodeKind::kNic).size(), 2u);
  EXPECT_EQ(read.graph.node(Port(read.graph, 0)).port()->gbit_per_s, 10);
  EXPECT_EQ(Paths(read.graph, 0).gb_per_s(Port(read.graph, 1)), 3.125);
  ASSERT_EQ(read.notes.size(), 1u);
  EXPECT_EQ(read.notes[0], "topo.xml:3:6: <net>: the speed is not known, 10 Gbit/s are assumed");
}

// As in files that somebody has put together by hand. What is joined by NVLinks goes by the bus id of the device.
TEST(TopologyXml, SwitchesMayHaveOneBusId) {
  const std::string gpu = PciOf("0000:02:00.0", "0x030200", "8 GT/s", 16, "<gpu/>");
  const std::string nic = PciOf("0000:01:00.0", "0x020000", "8 GT/s", 16, NicOf(0, 1000));
  const TopologyXml read = Read(SystemOf(CpuOf(
      0, kBroadwell,
      PciOf("0000:01:00.0", "0x060400", "8 GT/s", 16, gpu) + PciOf("0000:01:00.0", "0x060400", "8 GT/s", 16, nic))));
  EXPECT_EQ(read.graph.All(NodeKind::kPciSwitch).size(), 2u);
  EXPECT_EQ(Paths(read.graph, Gpu(read.graph, 0)).type(Port(read.graph, 0)), PathType::kPhb);
  ASSERT_EQ(read.notes.size(), 2u);
  EXPECT_EQ(read.notes[0], "topo.xml:5:1: <pci>: a switch has the busid 0000:01:00.0 of another device");
  EXPECT_EQ(read.notes[1], "topo.xml:5:80: <pci>: a switch has the busid 0000:01:00.0 of another device");
}

// What NCCL's own parser refuses, and what only Tutti passes over.
TEST(TopologyXml, TakesWhatNcclRefuses) {
  const std::string affinity(1000, 'f');
  const TopologyXml read = Read(
      "<?xml version='1.0' encoding='UTF-8'?>\n"
      "<!DOCTYPE system [<!ENTITY a \"&b;&b;\"><!ENTITY b \"&a;&a;\">]>\n"
      "<!-- a comment -->\n"
      "<system\tversion = '1'   name=\"a &amp; b\"  >\n"
      "\t<cpu   numaid='0'\n\t\taffinity=\"" +
      affinity +
      "\" speed=\"9\">\n"
      "<memory><pci/></memory>text\n"
      "<pci busid=\"0000:1B:00.0\" class=\"0x030200\" vendor=\"&a;\"><gpu sm=\"0x5a\"/></pci></cpu></system>");
  EXPECT_EQ(read.graph.name, "a & b");
  EXPECT_EQ(read.graph.node(0).cpu()->affinity, affinity);
  EXPECT_EQ(read.graph.node(1).pci.bus_id, "0000:1b:00.0");
  EXPECT_EQ(read.graph.node(1).pci.vendor, "&a;");
  EXPECT_EQ(read.graph.node(1).gpu()->sm, 90);
  ASSERT_EQ(read.notes.size(), 4u);
  EXPECT_EQ(read.notes[0], "topo.xml:5:2: <cpu>: speed is no attribute that is known, it is passed over");
  EXPECT_EQ(read.notes[1], "topo.xml:7:1: <memory>: no such element is known, it is passed over");
  EXPECT_EQ(read.notes[2], "topo.xml:5:2: <cpu>: text between elements is passed over");
  EXPECT_NE(read.notes[3].find("8 GT/s are assumed"), std::string::npos);
}

TEST(TopologyXml, RefusesWithPlaceAndReason) {
  const auto in_pci = [](std::string_view attributes, std::string_view inside = "") {
    return SystemOf(CpuOf(0, "", fmt::format("  <pci {}>{}</pci>", attributes, inside)));
  };
  const auto in_gpu = [&](std::string_view attributes, std::string_view inside = "") {
    return in_pci("busid=\"0000:01:00.0\"", fmt::format("<gpu {}>{}</gpu>", attributes, inside));
  };
  EXPECT_EQ(Refusal(""), "topo.xml:1:1: this is no XML: it has no element");
  EXPECT_EQ(Refusal("# a table\n"), "topo.xml:1:1: this is no XML: it has no element");
  EXPECT_EQ(Refusal("<system version=\"1\">\n  <cpu numaid=\"0\">\n</system>"),
            "topo.xml:3:3: this is no XML: start-end tags mismatch");
  EXPECT_EQ(Refusal("\n<graphs version=\"1\"/>"), "topo.xml:2:1: <graphs>: this is no topology: it has no <system>");
  EXPECT_EQ(Refusal("<system/>"), "topo.xml:1:1: <system>: it has no version");
  EXPECT_EQ(Refusal("<system version=\"3\"/>"),
            "topo.xml:1:1: <system>: version 3 is not known; NCCL writes 1 and RCCL 2");
  EXPECT_EQ(Refusal("<system version=\"one\"/>"),
            "topo.xml:1:1: <system>: version=\"one\" is no whole number from 0 to 1073741824");
  EXPECT_EQ(Refusal("<system version=\"1\">\n <gpu dev=\"0\"/></system>"),
            "topo.xml:2:2: <gpu>: it stands in <system>; its place is in <pci>");
  EXPECT_EQ(Refusal("<cpu/>"), "topo.xml:1:1: <cpu>: it stands by itself; its place is in <system>");
  EXPECT_EQ(Refusal(in_pci("busid=\"17\"")),
            "topo.xml:3:3: <pci>: busid=\"17\" is no bus id of PCI, as 0000:1b:00.0 is one");
  EXPECT_EQ(Refusal(in_pci("busid=\"0000:01:00.0\"", "<gpu/></pci>\n<pci busid=\"00000000:01:00.0\"><nic/>")),
            "topo.xml:4:1: <pci>: busid 0000:01:00.0 is there twice in a host");
  EXPECT_EQ(Refusal(in_pci("busid=\"0000:01:00.0\" link_width=\"1000\"")),
            "topo.xml:3:3: <pci>: link_width=\"1000\" is no whole number from 0 to 32");
  EXPECT_EQ(Refusal(in_pci("busid=\"0000:01:00.0\" link_width=\"-1\"")),
            "topo.xml:3:3: <pci>: link_width=\"-1\" is no whole number from 0 to 32");
  EXPECT_EQ(Refusal(in_pci("busid=\"0000:01:00.0\"", "<gpu/><nic/>")),
            "topo.xml:3:3: <pci>: a device holds gpu or nic, a switch pci, and none of them two");
  EXPECT_EQ(Refusal(in_gpu("dev=\"-2\"")), "topo.xml:3:29: <gpu>: dev=\"-2\" is no whole number from 0 to 1073741824");
  EXPECT_EQ(Refusal(in_gpu("sm=\"9.0\"")), "topo.xml:3:29: <gpu>: sm=\"9.0\" is no whole number from 0 to 1073741824");
  EXPECT_EQ(Refusal(in_gpu("", "<nvlink target=\"fffffff:ffff:ff\" count=\"-1\"/>")),
            "topo.xml:3:35: <nvlink>: count=\"-1\" is no whole number from 0 to 1000");
  EXPECT_EQ(Refusal(in_gpu("", "<nvlink target=\"fffffff:ffff:ff\"/>")), "topo.xml:3:35: <nvlink>: it has no count");
  EXPECT_EQ(Refusal(in_gpu("", "<nvlink target=\"GPU 3\" count=\"1\" tclass=\"0x03\"/>")),
            "topo.xml:3:35: <nvlink>: target=\"GPU 3\" is no bus id of PCI, as 0000:1b:00.0 is one");
  EXPECT_EQ(
      Refusal(in_gpu(
          "", "<nvlink target=\"fffffff:ffff:ff\" count=\"600\"/><nvlink target=\"fffffff:ffff:ff\" count=\"600\"/>")),
      "topo.xml:3:81: <nvlink>: more than 1000 links lead there");
  EXPECT_EQ(Refusal(in_gpu("", "<c2c bw=\"1\"/>")), "topo.xml:3:35: <c2c>: it has no count");
  EXPECT_EQ(Refusal(SystemOf(CpuOf(0, "", "<nic><net dev=\"0\" latency=\"nan\"/></nic>"))),
            "topo.xml:3:6: <net>: latency=\"nan\" is no number from 0 to 1000000000");
  EXPECT_EQ(Refusal(SystemOf(CpuOf(0, "", "<nic><net dev=\"0\" speed=\"99999999999999999999\"/></nic>"))),
            "topo.xml:3:6: <net>: speed=\"99999999999999999999\" is no whole number from -1 to 1073741824");
}

TEST(TopologyXml, HugeFilesTakeNoLongTime) {
  const auto seconds = [](const std::function<void()>& run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::string flat, deep, cpus;
  for (int i = 0; i < 10000; ++i) {
    const std::string bus_id = fmt::format("{:04x}:00:00.0", i);
    flat += PciOf(bus_id, "0x03", "wrong", 16,
                  fmt::format("<gpu dev=\"{}\" strange=\"1\"><nvlink target=\"{:04x}:00:00.0\" count=\"1\"/></gpu>", i,
                              (i + 1) % 10000));
    deep += fmt::format("<pci busid=\"{}\">", bus_id);
    cpus += fmt::format("<cpu numaid=\"{}\"/>", i);
  }
  for (int i = 0; i < 10000; ++i) deep += "</pci>";
  EXPECT_LT(seconds([&] {
              const TopologyXml read = Read(SystemOf(CpuOf(0, "", flat)));
              EXPECT_EQ(read.graph.All(NodeKind::kGpu).size(), 10000u);
              EXPECT_EQ(read.notes.size(), 101u);
              EXPECT_EQ(read.notes.back(), "topo.xml: and 29900 more");
              EXPECT_GT(WriteTopologyXml(read.graph, 0).size(), 1000000u);
            }),
            5);
  EXPECT_LT(seconds([&] {
              EXPECT_NE(Refusal(SystemOf(CpuOf(0, "", deep))).find("256 elements stand in each other"),
                        std::string::npos);
            }),
            5);
  EXPECT_NE(Refusal(SystemOf(cpus)).find("more than 256 NUMA nodes"), std::string::npos);
}

}  // namespace
}  // namespace tutti::topo
