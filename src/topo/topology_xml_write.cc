// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "topo/rates.h"
#include "topo/topology_xml.h"
#include "topo/xml_file.h"

namespace tutti::topo {
namespace {

constexpr std::string_view kNvSwitchClass = "0x068000", kCpuClass = "0x068001";
constexpr std::string_view kUnseen = "fffffff:ffff:ff";  // the busid that NVML gives of an NVSwitch

// Of a number that is not negative. std::llround would need the library of mathematics.
std::int64_t Rounded(double number) { return static_cast<std::int64_t>(number + 0.5); }

bool IsAmd(const Gpu& gpu) { return gpu.name.starts_with("gfx"); }

// Of what is known of a link the speed and the width that the graph counts with; where it counts with none of them,
// what the link has now.
std::pair<std::string_view, int> LinkOf(const Pci& pci, double rated_gb_per_s) {
  for (const std::string_view speed : {std::string_view(pci.best_link_speed), std::string_view(pci.link_speed)}) {
    for (const int width : {pci.best_link_width, pci.link_width}) {
      const PciRate rate = PciRateOf(speed, width);
      if (rate.speed_known && width > 0 && rate.gb_per_s == rated_gb_per_s) return {speed, width};
    }
  }
  return {pci.link_speed, pci.link_width};
}

class Writer {
 public:
  Writer(const Graph& graph, int host);
  std::string Write();

 private:
  void WriteCpu(int numa);
  void WriteChildren(int parent);
  std::vector<int> PartitionsOf(int gpu, int parent) const;
  void WritePci(const std::vector<int>& nodes, const Link& link);
  void WriteGpu(int gpu);
  void WriteNvLink(int gpu, int other, const Link& link);
  void WriteNic(int nic);
  void WritePort(const Port& port);
  void Whole(std::string_view name, std::int64_t value) { xml_.Attribute(name, fmt::format("{}", value)); }
  void IfKnown(std::string_view name, std::string_view value) {
    if (!value.empty()) xml_.Attribute(name, value);
  }
  std::string BusIdOf(int node) const;
  std::string ClassOf(int node) const;

  const Graph& graph_;
  const int host_;
  XmlWriter xml_;
  std::vector<bool> written_;              // by node
  std::map<int, int> ranks_;               // of GPUs, by node
  std::map<std::string, int> partitions_;  // by bus id: how many nodes a GPU has
};

Writer::Writer(const Graph& graph, int host) : graph_(graph), host_(host), written_(graph.nodes().size()) {
  std::vector<int> gpus = graph.All(NodeKind::kGpu, host);
  std::ranges::stable_sort(gpus, {}, [&](int gpu) { return graph.node(gpu).gpu()->dev; });
  int next = 0;
  for (const int gpu : gpus) next = std::max(next, graph.node(gpu).gpu()->rank + 1);
  for (const int gpu : gpus) {
    const int rank = graph.node(gpu).gpu()->rank;
    ranks_[gpu] = rank >= 0 ? rank : next++;
    ++partitions_[BusIdOf(gpu)];
  }
}

std::string Writer::Write() {
  const bool amd = std::ranges::any_of(ranks_, [&](const auto& gpu) { return IsAmd(*graph_.node(gpu.first).gpu()); });
  xml_.Open("system");
  Whole("version", amd ? 2 : 1);
  IfKnown("name", graph_.name);
  for (const int numa : graph_.All(NodeKind::kNumaNode, host_)) WriteCpu(numa);
  xml_.Close();
  return xml_.Take();
}

void Writer::WriteCpu(int numa) {
  const Node& node = graph_.node(numa);
  Cpu cpu = node.cpu() != nullptr ? *node.cpu() : Cpu{};
  for (const Neighbour& neighbour : graph_.NeighboursOf(numa)) {
    const Node& socket = graph_.node(neighbour.node);
    if (socket.kind != NodeKind::kCpu || socket.cpu() == nullptr || !cpu.arch.empty()) continue;
    const std::string affinity = cpu.affinity;
    cpu = *socket.cpu();
    cpu.affinity = affinity;
  }
  xml_.Open("cpu");
  const std::string& name = graph_.hosts()[static_cast<std::size_t>(host_)];
  if (name.starts_with("0x")) xml_.Attribute("host_hash", name);
  Whole("numaid", node.numa);
  if (cpu.affinity.size() <= kMostXmlValue) IfKnown("affinity", cpu.affinity);
  IfKnown("arch", cpu.arch);
  IfKnown("vendor", cpu.vendor);
  if (cpu.family >= 0) Whole("familyid", cpu.family);
  if (cpu.model >= 0) Whole("modelid", cpu.model);
  WriteChildren(numa);
  xml_.Close();
}

// All that hangs on a NUMA node or a switch, each once.
void Writer::WriteChildren(int parent) {
  written_[static_cast<std::size_t>(parent)] = true;
  for (const Neighbour& neighbour : graph_.NeighboursOf(parent)) {
    const Link& link = graph_.link(neighbour.link);
    const Node& node = graph_.node(neighbour.node);
    if (link.kind != LinkKind::kPci || node.host != host_ || written_[static_cast<std::size_t>(neighbour.node)])
      continue;
    if (node.kind == NodeKind::kNic && node.pci.bus_id.empty() && graph_.node(parent).kind == NodeKind::kNumaNode) {
      WriteNic(neighbour.node);
      continue;
    }
    if (node.kind != NodeKind::kGpu && node.kind != NodeKind::kNic && node.kind != NodeKind::kPciSwitch) continue;
    std::vector<int> nodes = {neighbour.node};
    if (node.gpu() != nullptr && partitions_.at(BusIdOf(neighbour.node)) > 1)
      nodes = PartitionsOf(neighbour.node, parent);
    WritePci(nodes, link);
  }
}

std::vector<int> Writer::PartitionsOf(int gpu, int parent) const {
  std::vector<int> nodes;
  for (const Neighbour& neighbour : graph_.NeighboursOf(parent)) {
    const Node& node = graph_.node(neighbour.node);
    if (node.gpu() != nullptr && node.host == host_ && BusIdOf(neighbour.node) == BusIdOf(gpu)) {
      nodes.push_back(neighbour.node);
    }
  }
  return nodes;
}

// A device. `nodes`: one, or the partitions of a GPU.
void Writer::WritePci(const std::vector<int>& nodes, const Link& link) {
  const Node& node = graph_.node(nodes.front());
  const Pci& pci = node.pci;
  const auto [speed, width] = LinkOf(pci, link.rated_gb_per_s);
  xml_.Open("pci");
  xml_.Attribute("busid", BusIdOf(nodes.front()));
  xml_.Attribute("class", ClassOf(nodes.front()));
  IfKnown("vendor", pci.vendor);
  IfKnown("device", pci.device);
  IfKnown("subsystem_vendor", pci.subsystem_vendor);
  IfKnown("subsystem_device", pci.subsystem_device);
  xml_.Attribute("link_speed", speed);
  Whole("link_width", width);
  if (node.kind == NodeKind::kNic) WriteNic(nodes.front());
  if (node.kind == NodeKind::kGpu) {
    for (const int gpu : nodes) WriteGpu(gpu);
  }
  if (node.kind == NodeKind::kPciSwitch) {
    WriteChildren(nodes.front());
    for (const Neighbour& neighbour : graph_.NeighboursOf(nodes.front())) {
      if (graph_.node(neighbour.node).kind != NodeKind::kPciSwitch) continue;
      if (graph_.link(neighbour.link).kind != LinkKind::kLocal) continue;
      xml_.Open("pcilink");
      xml_.Attribute("target", BusIdOf(neighbour.node));
      xml_.Close();
    }
  }
  xml_.Close();
}

void Writer::WriteGpu(int index) {
  const Gpu& gpu = *graph_.node(index).gpu();
  written_[static_cast<std::size_t>(index)] = true;
  xml_.Open("gpu");
  Whole("dev", gpu.dev);
  if (IsAmd(gpu)) {
    // RCCL needs all three. The sm of its files counts compute units, which a graph does not know; arch is a mask of
    // features that all of AMD's GPUs have in public files.
    Whole("sm", 0);
    xml_.Attribute("gcn", gpu.name);
    Whole("arch", 38911);
  } else if (gpu.sm > 0) {
    Whole("sm", gpu.sm);
  }
  Whole("rank", ranks_.at(index));
  if (gpu.gdr || gpu.sm > 0 || IsAmd(gpu)) Whole("gdr", gpu.gdr ? 1 : 0);  // else nothing is known of it
  if (gpu.mlopart >= 0) Whole("mlopart", gpu.mlopart);
  // In an order that does not depend on which end of a link was read first.
  std::vector<Neighbour> linked;
  for (const Neighbour& neighbour : graph_.NeighboursOf(index)) {
    const bool near = graph_.node(neighbour.node).host == host_;
    if (near && graph_.link(neighbour.link).kind == LinkKind::kNvLink) linked.push_back(neighbour);
  }
  std::ranges::stable_sort(linked, {}, [&](const Neighbour& n) {
    const bool is_gpu = graph_.node(n.node).kind == NodeKind::kGpu;
    return std::pair(!is_gpu, is_gpu ? BusIdOf(n.node) : std::string());
  });
  for (const Neighbour& neighbour : linked) WriteNvLink(index, neighbour.node, graph_.link(neighbour.link));
  for (const Neighbour& neighbour : graph_.NeighboursOf(index)) {
    const Link& link = graph_.link(neighbour.link);
    if (link.kind != LinkKind::kC2c) continue;
    const double mb_per_s = link.rated_gb_per_s * partitions_.at(BusIdOf(index)) * 1000 / std::max(link.count, 1);
    xml_.Open("c2c");
    Whole("bw", Rounded(mb_per_s));
    Whole("count", link.count);
    xml_.Close();
  }
  xml_.Close();
}

void Writer::WriteNvLink(int gpu, int other, const Link& link) {
  xml_.Open(IsAmd(*graph_.node(gpu).gpu()) ? "xgmi" : "nvlink");
  switch (graph_.node(other).kind) {
    case NodeKind::kGpu:
      xml_.Attribute("target", BusIdOf(other));
      Whole("count", link.count);
      xml_.Attribute("tclass", ClassOf(other));
      break;
    case NodeKind::kNvSwitch:
      xml_.Attribute("target", kUnseen);
      Whole("count", link.count);
      xml_.Attribute("tclass", kNvSwitchClass);
      break;
    default:
      Whole("count", link.count);
      xml_.Attribute("tclass", kCpuClass);
  }
  xml_.Close();
}

void Writer::WriteNic(int nic) {
  written_[static_cast<std::size_t>(nic)] = true;
  xml_.Open("nic");
  for (const Neighbour& neighbour : graph_.NeighboursOf(nic)) {
    if (const Port* port = graph_.node(neighbour.node).port()) WritePort(*port);
  }
  xml_.Close();
}

void Writer::WritePort(const Port& port) {
  xml_.Open("net");
  IfKnown("name", port.name);
  Whole("dev", port.dev);
  xml_.Attribute("latency", fmt::format("{}", port.latency_us));
  Whole("speed", std::max(Rounded(port.gbit_per_s * 1000), std::int64_t{port.gbit_per_s > 0 ? 1 : 0}));
  Whole("port", port.port);
  xml_.Attribute("guid", fmt::format("{:#x}", port.guid));
  if (port.max_connections > 0) Whole("maxconn", port.max_connections);
  Whole("gdr", port.gdr ? 1 : 0);
  if (port.collectives) Whole("coll", 1);
  if (port.rail >= 0) Whole("rail", port.rail);
  if (port.plane >= 0) Whole("plane", port.plane);
  xml_.Close();
}

// Devices that have none get one of the last domains, which no machine has.
std::string Writer::BusIdOf(int node) const {
  const std::string& bus_id = graph_.node(node).pci.bus_id;
  if (!bus_id.empty()) return bus_id;
  return fmt::format("{:04x}:{:02x}:{:02x}.0", 0xffff - (node >> 13), (node >> 5) & 0xff, node & 0x1f);
}

std::string Writer::ClassOf(int node) const {
  const std::string& class_id = graph_.node(node).pci.class_id;
  if (!class_id.empty()) return class_id;
  const NodeKind kind = graph_.node(node).kind;
  return kind == NodeKind::kGpu ? "0x030200" : kind == NodeKind::kNic ? "0x020000" : "0x060400";
}

}  // namespace

std::string WriteTopologyXml(const Graph& graph, int host) { return Writer(graph, host).Write(); }

}  // namespace tutti::topo
