// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/complete.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tutti::topo {
namespace {

bool HasPort(const Graph& graph, int nic) {
  return std::ranges::any_of(graph.NeighboursOf(nic),
                             [&](const Neighbour& n) { return graph.node(n.node).port() != nullptr; });
}

// GPUs of AMD have no compute capability.
bool IsUnknown(const Gpu& gpu) { return gpu.sm == 0 && gpu.name.empty(); }

std::string_view WithoutFunction(std::string_view bus_id) { return bus_id.substr(0, bus_id.find('.')); }

// "1 GPU", "2 GPUs"
std::string Count(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class Completion {
 public:
  Completion(const Discovery& found, int host, Graph& graph) : found_(found.graph), host_(host), graph_(graph) {}

  std::vector<std::string> Run() {
    AddGpus();
    AddLinks();
    AddPorts();
    return std::move(notes_);
  }

 private:
  void AddGpus() {
    std::size_t taken = 0, unknown = 0;
    for (const int gpu : graph_.All(NodeKind::kGpu, host_)) {
      Node& node = graph_.node(gpu);
      Gpu& own = std::get<Gpu>(node.is);
      if (!IsUnknown(own)) continue;
      const std::optional<int> other = found_.FindBusId(0, node.pci.bus_id);
      const Gpu* const facts = other ? found_.node(*other).gpu() : nullptr;
      if (facts == nullptr || IsUnknown(*facts)) {
        ++unknown;
        continue;
      }
      const Gpu before = std::exchange(own, *facts);
      own.dev = before.dev;
      own.rank = before.rank;
      own.mlopart = before.mlopart;
      known_as_.emplace_back(*other, gpu);
      ++taken;
    }
    if (taken > 0)
      notes_.push_back(fmt::format("what the file does not say of {} comes from NVML", Count(taken, "GPU")));
    if (unknown > 0) {
      notes_.push_back(
          fmt::format("neither the file nor the system says what {} of it {}: NVLinks there may be missing",
                      Count(unknown, "GPU"), unknown == 1 ? "is" : "are"));
    }
  }

  // Only links that end at a GPU which was not known, so that what the file says of the others stays.
  void AddLinks() {
    for (const Link& link : found_.links()) {
      if (link.kind != LinkKind::kNvLink && link.kind != LinkKind::kC2c) continue;
      if (!Taken(link.from) && !Taken(link.to)) continue;
      const std::optional<int> from = Here(link.from), to = Here(link.to);
      if (!from || !to || AreJoined(*from, *to, link.kind)) continue;
      Link own = link;
      own.from = *from;
      own.to = *to;
      graph_.AddLink(own);
    }
  }

  void AddPorts() {
    std::size_t taken = 0;
    for (const int nic : graph_.All(NodeKind::kNic, host_)) {
      if (HasPort(graph_, nic) || graph_.node(nic).pci.bus_id.empty()) continue;
      const std::string_view bus_id = WithoutFunction(graph_.node(nic).pci.bus_id);
      for (const int other : found_.All(NodeKind::kNic)) {
        if (WithoutFunction(found_.node(other).pci.bus_id) != bus_id) continue;
        for (const Neighbour& neighbour : found_.NeighboursOf(other)) {
          if (found_.node(neighbour.node).port() == nullptr) continue;
          AddPort(nic, found_.node(neighbour.node), found_.link(neighbour.link));
          ++taken;
        }
      }
    }
    if (taken > 0) notes_.push_back(fmt::format("the file names cards without ports: {} found", Count(taken, "port")));
  }

  void AddPort(int nic, Node port, Link link) {
    port.host = host_;
    port.numa = graph_.node(nic).numa;
    Port& own = std::get<Port>(port.is);
    while (graph_.PortOf(host_, own.dev)) ++own.dev;
    link.from = nic;
    link.to = graph_.AddNode(std::move(port));
    graph_.AddLink(link);
  }

  bool Taken(int other) const {
    return std::ranges::any_of(known_as_, [&](const auto& pair) { return pair.first == other; });
  }

  // The node of the graph that a node of the system stands for; NVSwitches are added.
  std::optional<int> Here(int other) {
    const Node& node = found_.node(other);
    if (node.kind == NodeKind::kGpu) return graph_.FindBusId(host_, node.pci.bus_id);
    const std::vector<int> alike = graph_.All(node.kind, host_);
    if (node.kind == NodeKind::kNvSwitch) {
      if (!alike.empty()) return alike.front();
      return graph_.AddNode({.kind = NodeKind::kNvSwitch, .host = host_, .name = node.name});
    }
    const auto same = std::ranges::find_if(alike, [&](int own) { return graph_.node(own).numa == node.numa; });
    return same == alike.end() ? std::nullopt : std::optional(*same);
  }

  bool AreJoined(int a, int b, LinkKind kind) const {
    return std::ranges::any_of(graph_.NeighboursOf(a), [&](const Neighbour& neighbour) {
      return neighbour.node == b && graph_.link(neighbour.link).kind == kind;
    });
  }

  const Graph& found_;
  const int host_;
  Graph& graph_;
  std::vector<std::pair<int, int>>
      known_as_;  // GPUs of which something was taken over: the system's node, and the graph's
  std::vector<std::string> notes_;
};

}  // namespace

bool IsIncomplete(const Graph& graph, int host) {
  const auto unknown = [&](int gpu) { return IsUnknown(*graph.node(gpu).gpu()); };
  const auto without = [&](int nic) { return !HasPort(graph, nic); };
  return std::ranges::any_of(graph.All(NodeKind::kGpu, host), unknown) ||
         std::ranges::any_of(graph.All(NodeKind::kNic, host), without);
}

std::vector<std::string> Complete(const Discovery& found, int host, Graph& graph) {
  return Completion(found, host, graph).Run();
}

std::set<std::pair<int, int>> RefusedPeersIn(const Graph& graph, int host, const Discovery& found) {
  std::set<std::pair<int, int>> refused;
  for (const auto& [a, b] : found.peers_refused) {
    const std::optional<int> own = graph.FindBusId(host, found.graph.node(a).pci.bus_id),
                             other = graph.FindBusId(host, found.graph.node(b).pci.bus_id);
    if (own && other && *own != *other) refused.insert(std::minmax(*own, *other));
  }
  return refused;
}

}  // namespace tutti::topo
