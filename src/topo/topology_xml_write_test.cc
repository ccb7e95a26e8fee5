// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topo/topology_xml.h"
#include "topo/topology_xml_examples.h"

namespace tutti::topo {
namespace {

TopologyXml Read(const std::string& text) {
  Result<TopologyXml> read = ReadTopologyXml(text, "topo.xml");
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(*read) : TopologyXml{};
}

// All that a graph says, a line for each host, node and link.
std::string Print(const Graph& graph) {
  std::string text = fmt::format("machine '{}'\n", graph.name);
  for (const std::string& host : graph.hosts()) text += fmt::format("host '{}'\n", host);
  for (const Node& node : graph.nodes()) {
    const Pci& pci = node.pci;
    text += fmt::format("{} '{}' host {} numa {} pci {} {} {} {} {} {} '{}' x{} best '{}' x{}", ToString(node.kind),
                        node.name, node.host, node.numa, pci.bus_id, pci.class_id, pci.vendor, pci.device,
                        pci.subsystem_vendor, pci.subsystem_device, pci.link_speed, pci.link_width, pci.best_link_speed,
                        pci.best_link_width);
    if (const Gpu* gpu = node.gpu()) {
      text += fmt::format(" dev {} sm {} rank {} gdr {} mlopart {} '{}' expects {}", gpu->dev, gpu->sm, gpu->rank,
                          gpu->gdr, gpu->mlopart, gpu->name, gpu->nvlinks_expected);
    }
    if (const Cpu* cpu = node.cpu()) {
      text += fmt::format(" {} '{}' {} {} {}", cpu->arch, cpu->vendor, cpu->family, cpu->model, cpu->affinity);
    }
    if (const Port* port = node.port()) {
      text += fmt::format(" dev {} '{}' {} Gbit/s {} us port {} guid {:x} max {} gdr {} coll {} rail {} plane {}",
                          port->dev, port->name, port->gbit_per_s, port->latency_us, port->port, port->guid,
                          port->max_connections, port->gdr, port->collectives, port->rail, port->plane);
    }
    text += '\n';
  }
  for (const Link& link : graph.links()) {
    text +=
        fmt::format("{} {} {} x{} {} GB/s\n", link.from, link.to, ToString(link.kind), link.count, link.rated_gb_per_s);
  }
  return text;
}

// The rules of NCCL's own parser, by which what it does not take is found.
std::string NcclComplains(const std::string& text) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (true) {
    at = text.find_first_not_of(" \n\r", at);
    if (at == std::string::npos) return open.empty() ? "" : "not closed: " + open.back();
    if (text[at] != '<') return "no element at " + text.substr(at, 20);
    const bool closing = text[at + 1] == '/';
    const std::size_t name_end = text.find_first_of(" >/\n\r", at + 2);
    const std::string name = text.substr(at + 1 + (closing ? 1 : 0), name_end - at - 1 - (closing ? 1 : 0));
    at = name_end;
    if (closing) {
      if (open.empty() || open.back() != name || text[at] != '>') return "does not match: " + name;
      open.pop_back();
      ++at;
      continue;
    }
    int attributes = 0;
    while (text[at] == ' ') {
      const std::size_t equals = text.find('=', at);
      if (text.substr(at + 1, equals - at - 1).find_first_of(" >/\n\r") != std::string::npos) return "blank in " + name;
      const std::size_t end = text.find('"', equals + 2);
      if (text[equals + 1] != '"' || end - equals - 1 > 254) return "value of " + name;
      at = end + 1;
      ++attributes;
    }
    if (attributes > 16) return "attributes of " + name;
    const bool single = text[at] == '/';
    at += single ? 1 : 0;
    if (text[at] != '>') return "end of " + name;
    ++at;
    if (!single) open.push_back(name);
  }
}

void RoundTrip(const std::string& text) {
  const TopologyXml first = Read(text);
  const std::string written = WriteTopologyXml(first.graph, 0);
  EXPECT_EQ(NcclComplains(written), "") << written;
  const TopologyXml second = Read(written);
  EXPECT_EQ(Print(first.graph), Print(second.graph)) << written;
  EXPECT_EQ(WriteTopologyXml(second.graph, 0), written);
}

TEST(WriteTopologyXml, RoundTripsOfMachines) {
  for (const std::string& text : {HgxH100(), Dgx1(), Vm(), Gb200(), ManyNics(), Mi300x()}) RoundTrip(text);
}

TEST(WriteTopologyXml, RoundTripsOfOddities) {
  const auto to_switch = [](int count) {
    return fmt::format("<nvlink target=\"fffffff:ffff:ff\" count=\"{}\" tclass=\"0x068000\"/>", count);
  };
  RoundTrip(TwoGpus(to_switch(12), to_switch(0)));
  RoundTrip(TwoGpus(to_switch(12), ""));
  RoundTrip(TwoGpus("<nvlink count=\"3\" tclass=\"0x068001\"/>", ""));
  RoundTrip(TwoGpus("<nvlink target=\"0000:01:00.0\" count=\"4\"/>" + to_switch(2), to_switch(1)));
  const auto on_root = [](std::string_view inside) { return SystemOf(CpuOf(0, kBroadwell, inside)); };
  RoundTrip(on_root("<nic><net name=\"eth0\" dev=\"0\" speed=\"-1\"/></nic>" + NicOf(1, 25000)));
  RoundTrip(on_root(PciOf("0000:01:00.0", "0x060400", "16 GT/s", 16, "<pcilink target=\"0000:02:00.0\"/>") +
                    PciOf("0000:02:00.0", "0x080100", "16 GT/s", 16, "<pcilink target=\"0000:01:00.0\"/>")));
  const std::string part = fmt::format(
      "<gpu dev=\"0\" sm=\"107\" rank=\"0\" gdr=\"1\" mlopart=\"0\">{0}</gpu>"
      "<gpu dev=\"1\" sm=\"107\" rank=\"1\" gdr=\"1\" mlopart=\"1\">{0}</gpu>",
      to_switch(36) + "<c2c bw=\"56376\" count=\"7\"/>");
  RoundTrip(on_root(PciOf("0000:01:00.0", "0x030200", "64.0 GT/s PCIe", 2, part)));
  // A GPU in the domain that stands for NVSwitches.
  const auto linked = [](int dev, std::string_view target) {
    return fmt::format(
        "<gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\"><nvlink target=\"{1}\" count=\"4\" tclass=\"0x030200\"/></gpu>", dev,
        target);
  };
  RoundTrip(on_root(PciOf("fffffff:0000:01:00.0", "0x030200", "16 GT/s", 16, linked(0, "0000:02:00.0")) +
                    PciOf("0000:02:00.0", "0x030200", "16 GT/s", 16, linked(1, "fffffff:0000:01:00.0"))));
}

// Links are written in the same order whichever of their ends was read first.
TEST(WriteTopologyXml, TheOrderOfLinksIsTheSame) {
  const auto gpu = [](int dev, std::string_view links) {
    return PciOf(fmt::format("0000:0{}:00.0", dev + 1), "0x030200", "8 GT/s", 16,
                 fmt::format("<gpu dev=\"{0}\" sm=\"70\" rank=\"{0}\" gdr=\"0\">{1}</gpu>", dev, links));
  };
  const auto to = [](int dev, int count) {
    return fmt::format("<nvlink target=\"0000:0{}:00.0\" count=\"{}\" tclass=\"0x030200\"/>", dev + 1, count);
  };
  const std::string text =
      SystemOf(CpuOf(0, kBroadwell, gpu(0, "") + gpu(1, to(2, 12)) + gpu(2, to(1, 12) + to(0, 2))));
  const std::string written = WriteTopologyXml(Read(text).graph, 0);
  EXPECT_EQ(WriteTopologyXml(Read(written).graph, 0), written);
}

TEST(WriteTopologyXml, OneHostOfMany) {
  const Graph graph = Read(SystemOf(Tray("0xa", 0, "") + Tray("0xb", 4, ""))).graph;
  EXPECT_EQ(Print(Read(WriteTopologyXml(graph, 1)).graph), Print(Read(SystemOf(Tray("0xb", 4, ""))).graph));
}

// A graph that is made by hand has no classes, no bus ids and no ranks; a file must have them.
TEST(WriteTopologyXml, WritesWhatGraphsLeaveOut) {
  Graph graph;
  graph.AddHost("somewhere");
  const int numa = graph.AddNode({.kind = NodeKind::kNumaNode, .numa = 0});
  const int cpu =
      graph.AddNode({.kind = NodeKind::kCpu, .is = Cpu{.arch = "x86_64", .vendor = "AuthenticAMD", .family = 25}});
  const int bridge = graph.AddNode({.kind = NodeKind::kPciSwitch});
  const int one = graph.AddNode({.kind = NodeKind::kGpu, .is = topo::Gpu{.dev = 1, .sm = 90}});
  const int zero = graph.AddNode({.kind = NodeKind::kGpu,
                                  .pci = {.link_speed = "2.5 GT/s PCIe",
                                          .link_width = 16,
                                          .best_link_speed = "32.0 GT/s PCIe",
                                          .best_link_width = 16},
                                  .is = topo::Gpu{.dev = 0, .sm = 90}});
  graph.AddLink({.from = numa, .to = cpu, .kind = LinkKind::kSocket});
  graph.AddLink({.from = bridge, .to = numa, .kind = LinkKind::kPci});
  graph.AddLink({.from = one, .to = bridge, .kind = LinkKind::kPci});
  graph.AddLink({.from = bridge, .to = zero, .kind = LinkKind::kPci, .rated_gb_per_s = 48});
  graph.AddLink({.from = zero, .to = one, .kind = LinkKind::kNvLink, .count = 6});
  EXPECT_EQ(WriteTopologyXml(graph, 0),
            R"(<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="25">
    <pci busid="ffff:00:02.0" class="0x060400" link_speed="" link_width="0">
      <pci busid="ffff:00:03.0" class="0x030200" link_speed="" link_width="0">
        <gpu dev="1" sm="90" rank="1" gdr="0">
          <nvlink target="ffff:00:04.0" count="6" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="ffff:00:04.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="0">
          <nvlink target="ffff:00:03.0" count="6" tclass="0x030200"/>
        </gpu>
      </pci>
    </pci>
  </cpu>
</system>
)");
}

TEST(WriteTopologyXml, LongAndStrangeValuesStayReadable) {
  Graph graph;
  graph.AddHost("0x1");
  graph.AddNode({.kind = NodeKind::kNumaNode, .numa = 0});
  graph.name = "<\"&\n" + std::string(1000, 'x');
  const std::string written = WriteTopologyXml(graph, 0);
  EXPECT_EQ(NcclComplains(written), "") << written;
  EXPECT_EQ(Read(written).graph.name.substr(0, 6), "<\"& xx");
  EXPECT_EQ(Read(written).graph.hosts()[0], "0x1");
}

}  // namespace
}  // namespace tutti::topo
