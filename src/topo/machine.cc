// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

#include "topo/gpu_models.h"
#include "topo/rates.h"

namespace tutti::topo {
namespace {

std::string_view ClassOf(NodeKind kind) {
  if (kind == NodeKind::kGpu) return "0x030200";
  return kind == NodeKind::kNic ? "0x020000" : "0x060400";
}

// Builds one host, whose nodes have the host 0.
class HostBuilder {
 public:
  HostBuilder(const Machine& machine, std::span<const HostPart> parts) : machine_(machine), parts_(parts) {}

  Graph Build() {
    graph_.AddHost("host 0");
    for (const HostPart& part : parts_) AddPart(part);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].kind == NodeKind::kGpu) gpus_.emplace(parts_[i].number, i);
    }
    JoinNumaNodes();
    switch (machine_.nvlink.kind) {
      case NvLinks::Kind::kNone:
        break;
      case NvLinks::Kind::kSwitch:
        JoinBySwitches();
        break;
      case NvLinks::Kind::kGroups:
        JoinGroups();
        break;
      case NvLinks::Kind::kPairs:
        for (const NvLinks::Pair& pair : machine_.nvlink.pairs)
          JoinPair(gpus_.at(pair.a), gpus_.at(pair.b), pair.count);
        break;
    }
    return std::move(graph_);
  }

 private:
  void AddPart(const HostPart& part) {
    Node node{.kind = part.kind, .name = fmt::format("{} {}", ToString(part.kind), part.number)};
    const int numa = NumaOf(part);
    node.numa = numa;
    if (part.kind == NodeKind::kNumaNode || part.kind == NodeKind::kCpu) node.is = machine_.cpu;
    const bool on_pci = part.kind == NodeKind::kPciSwitch || part.kind == NodeKind::kGpu ||
                        (part.kind == NodeKind::kNic && !part.nic.is_virtual);
    if (on_pci) node.pci = PciOf(part);
    if (part.kind == NodeKind::kGpu) {
      node.is = Gpu{.dev = part.number,
                    .sm = machine_.sm,
                    .gdr = part.gdr,
                    .name = fmt::format("NVIDIA {}", machine_.gpu),
                    .nvlinks_expected = ExpectedNvLinks(part.number)};
    }
    const int index = graph_.AddNode(std::move(node));
    nodes_.push_back(index);
    if (part.parent < 0) return;
    const int parent = nodes_[static_cast<std::size_t>(part.parent)];
    if (part.kind == NodeKind::kNumaNode) {
      graph_.AddLink(
          {.from = index, .to = parent, .kind = LinkKind::kSocket, .rated_gb_per_s = SocketGbPerS(machine_.cpu)});
      return;
    }
    const double rate =
        on_pci ? PciRateOf(PciSpeedText(part.pci.best_generation), part.pci.lanes).gb_per_s : kLocalGbPerS;
    graph_.AddLink({.from = index, .to = parent, .kind = LinkKind::kPci, .rated_gb_per_s = rate});
    if (part.kind == NodeKind::kGpu && machine_.c2c_lines > 0) JoinCpu(part, index);
    if (part.kind == NodeKind::kNic) AddPorts(part, index);
  }

  // The number of the part's NUMA node; -1: the system does not say.
  int NumaOf(const HostPart& part) const {
    const HostPart* above = &part;
    while (above->kind != NodeKind::kNumaNode && above->parent >= 0)
      above = &parts_[static_cast<std::size_t>(above->parent)];
    return above->kind != NodeKind::kNumaNode || above->unknown ? -1 : above->number;
  }

  // Buses are numbered in the order of the parts, 255 in a domain.
  Pci PciOf(const HostPart& part) {
    const int bus = buses_++;
    Pci pci;
    pci.bus_id = fmt::format("{:04x}:{:02x}:00.0", bus / 255, bus % 255 + 1);
    pci.class_id = ClassOf(part.kind);
    if (part.kind == NodeKind::kGpu) pci.vendor = "0x10de";
    pci.link_speed = PciSpeedText(part.pci.generation);
    pci.link_width = part.pci.lanes;
    pci.best_link_speed = PciSpeedText(part.pci.best_generation);
    pci.best_link_width = part.pci.best_lanes;
    return pci;
  }

  void JoinCpu(const HostPart& part, int gpu) {
    int above = part.parent;
    while (parts_[static_cast<std::size_t>(above)].kind != NodeKind::kNumaNode)
      above = parts_[static_cast<std::size_t>(above)].parent;
    graph_.AddLink({.from = gpu,
                    .to = nodes_[static_cast<std::size_t>(above)],
                    .kind = LinkKind::kC2c,
                    .count = machine_.c2c_lines,
                    .rated_gb_per_s = C2cGbPerS(machine_.c2c_lines, machine_.c2c_mb_per_s)});
  }

  // Ports are numbered in the order of their cards' numbers.
  void AddPorts(const HostPart& part, int nic) {
    int first = 0;
    for (const HostPart& other : parts_) {
      if (other.kind == NodeKind::kNic && other.number < part.number) first += other.nic.ports;
    }
    for (int i = 0; i < part.nic.ports; ++i) {
      const int dev = first + i;
      std::string name =
          part.nic.ports > 1 ? fmt::format("nic{}.{}", part.number, i + 1) : fmt::format("nic{}", part.number);
      const int port = graph_.AddNode({.kind = NodeKind::kPort,
                                       .numa = graph_.node(nic).numa,
                                       .name = name,
                                       .is = Port{.dev = dev,
                                                  .name = name,
                                                  .gbit_per_s = part.nic.gbit_per_s,
                                                  .latency_us = part.nic.reported_latency_us,
                                                  .port = i + 1,
                                                  .guid = static_cast<std::uint64_t>(part.number) + 1,
                                                  .gdr = part.nic.gdr,
                                                  .collectives = machine_.fabric.reduces,
                                                  .rail = dev / machine_.fabric.planes,
                                                  .plane = dev % machine_.fabric.planes}});
      graph_.AddLink({.from = port,
                      .to = nic,
                      .kind = LinkKind::kLocal,
                      .rated_gb_per_s = PortGbPerS(part.nic.gbit_per_s),
                      .latency_us = part.nic.latency_us / 2});
    }
  }

  void JoinNumaNodes() {
    const std::vector<int> nodes = graph_.All(NodeKind::kNumaNode);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t j = i + 1; j < nodes.size(); ++j) {
        graph_.AddLink({.from = nodes[i],
                        .to = nodes[j],
                        .kind = LinkKind::kSocket,
                        .rated_gb_per_s = SocketGbPerS(machine_.cpu)});
      }
    }
  }

  int ExpectedNvLinks(int gpu) const {
    if (machine_.nvlink.kind == NvLinks::Kind::kNone) return 0;
    if (machine_.nvlink.kind == NvLinks::Kind::kSwitch) return machine_.nvlinks;
    if (machine_.nvlink.kind == NvLinks::Kind::kGroups) return machine_.nvlinks / (GroupSize() - 1) * (GroupSize() - 1);
    int links = 0;
    for (const NvLinks::Pair& pair : machine_.nvlink.pairs) links += pair.a == gpu || pair.b == gpu ? pair.count : 0;
    return std::max(links, machine_.nvlinks);
  }

  void JoinPair(std::size_t a, std::size_t b, int links) {
    if (links == 0) return;
    graph_.AddLink({.from = nodes_[a],
                    .to = nodes_[b],
                    .kind = LinkKind::kNvLink,
                    .count = links,
                    .rated_gb_per_s = links * NvLinkGbPerS(machine_.sm)});
  }

  int GroupSize() const { return machine_.nvlink.group > 0 ? machine_.nvlink.group : machine_.Count(NodeKind::kGpu); }

  void JoinBySwitches() {
    const int size = GroupSize();
    std::vector<int> switches;
    for (int first = 0; first < machine_.Count(NodeKind::kGpu); first += size) {
      const std::string name =
          size < machine_.Count(NodeKind::kGpu) ? fmt::format("NVSwitch {}", first / size) : "NVSwitch";
      switches.push_back(graph_.AddNode({.kind = NodeKind::kNvSwitch, .name = name}));
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const HostPart& part = parts_[i];
      if (part.kind != NodeKind::kGpu || part.nvlinks == 0) continue;
      graph_.AddLink({.from = nodes_[i],
                      .to = switches[static_cast<std::size_t>(part.number / size)],
                      .kind = LinkKind::kNvLink,
                      .count = part.nvlinks,
                      .rated_gb_per_s = part.nvlinks * NvLinkGbPerS(machine_.sm)});
    }
  }

  // Every two GPUs of a group have their share of the links of the one that has fewer.
  void JoinGroups() {
    const int size = GroupSize();
    const int gpus = machine_.Count(NodeKind::kGpu);
    for (int a = 0; a < gpus; ++a) {
      for (int b = a + 1; b < gpus && b / size == a / size; ++b) {
        const std::size_t one = gpus_.at(a), other = gpus_.at(b);
        const int links = std::min(parts_[one].nvlinks, parts_[other].nvlinks);
        JoinPair(one, other, links / (size - 1));
      }
    }
  }

  const Machine& machine_;
  std::span<const HostPart> parts_;
  Graph graph_;
  std::vector<int> nodes_;           // by part
  std::map<int, std::size_t> gpus_;  // index of the part by the GPU's number
  int buses_ = 0;
};

// Puts a copy of a host into the graph.
void AddHost(const Graph& host, int number, Graph& graph) {
  graph.AddHost(fmt::format("host {}", number));
  const int first = static_cast<int>(graph.nodes().size());
  for (Node node : host.nodes()) {
    node.host = number;
    if (Port* port = std::get_if<Port>(&node.is)) port->guid += (static_cast<std::uint64_t>(number) + 1) << 32;
    graph.AddNode(std::move(node));
  }
  for (Link link : host.links()) {
    link.from += first;
    link.to += first;
    graph.AddLink(link);
  }
}

bool IsException(const Machine& machine, int host) {
  return std::ranges::find(machine.exceptions, host, &Machine::Exception::host) != machine.exceptions.end();
}

std::vector<HostPart> PartsOf(const Machine& machine, int host) {
  std::vector<HostPart> parts = machine.parts;
  for (const Machine::Exception& exception : machine.exceptions) {
    if (exception.host == host) parts[static_cast<std::size_t>(exception.part)] = exception.instead;
  }
  return parts;
}

// Joins the NVSwitches of the hosts of each rack. What one host has in links is what it can exchange with all others: the switches of the
// rack's first host stand for the rack's.
void JoinRacks(const Machine& machine, Graph& graph) {
  const std::vector<int> switches = graph.All(NodeKind::kNvSwitch);
  for (std::size_t host = 0; host < switches.size(); ++host) {
    const std::size_t first = host - host % static_cast<std::size_t>(machine.nvlink.hosts);
    Link link{.from = switches[first], .to = switches[host], .kind = LinkKind::kNvLink, .count = 0};
    for (const Neighbour& neighbour : graph.NeighboursOf(switches[host])) {
      link.count += graph.link(neighbour.link).count;
      link.rated_gb_per_s += graph.link(neighbour.link).rated_gb_per_s;
    }
    if (host != first && link.count > 0) graph.AddLink(link);
  }
}

std::vector<FabricPort> PortsOf(const Graph& graph) {
  std::vector<FabricPort> ports;
  for (const int node : graph.All(NodeKind::kPort)) {
    const Port& port = *graph.node(node).port();
    ports.push_back({.node = node,
                     .host = graph.node(node).host,
                     .rail = port.rail,
                     .plane = port.plane,
                     .gb_per_s = PortGbPerS(port.gbit_per_s)});
  }
  return ports;
}

}  // namespace

int Machine::Count(NodeKind kind) const { return static_cast<int>(std::ranges::count(parts, kind, &HostPart::kind)); }

Result<Graph> BuildGraph(const Machine& machine, int hosts) {
  if (hosts < 1 || hosts > kMostHosts) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} hosts cannot be built; there may be 1 to {}", hosts, kMostHosts));
  }
  const Graph usual = HostBuilder(machine, machine.parts).Build();
  if (std::max(usual.nodes().size(), usual.links().size()) * static_cast<std::size_t>(hosts) > kMostNodes) {
    return Status(
        Code::kInvalidArgument,
        fmt::format(
            "{} hosts of {} nodes and {} links each are more than the {} that a graph may have; ask for fewer hosts",
            hosts, usual.nodes().size(), usual.links().size(), kMostNodes));
  }
  Graph graph;
  graph.name = machine.name;
  for (int host = 0; host < hosts; ++host) {
    const bool differs = IsException(machine, host);
    const std::vector<HostPart> parts = differs ? PartsOf(machine, host) : std::vector<HostPart>();
    AddHost(differs ? HostBuilder(machine, parts).Build() : usual, host, graph);
  }
  if (machine.nvlink.kind == NvLinks::Kind::kSwitch && machine.nvlink.hosts > 1) JoinRacks(machine, graph);
  if (hosts > 1) TUTTI_RETURN_IF_ERROR(AddFabric(machine.fabric, PortsOf(graph), hosts, graph));
  return graph;
}

}  // namespace tutti::topo
