// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/boxes.h"

#include <algorithm>
#include <tuple>

namespace tutti::sim {
namespace {

Boxes::Way WayOf(const topo::Graph& graph, int from, const topo::Path& path, double pci_charge) {
  Boxes::Way way{.arcs = {}, .pci_charge = pci_charge};
  for (const topo::Hop& hop : path.hops) {
    way.arcs.push_back(2 * hop.link + (graph.link(hop.link).from == from ? 0 : 1));
    from = hop.to;
  }
  return way;
}

void Turn(Boxes::Way& way) {
  std::ranges::reverse(way.arcs);
  for (topo::Arc& arc : way.arcs) arc = topo::Reverse(arc);
}

// Pairs of GPUs of a box, by its own nodes.
topo::PolicyOptions InBox(topo::PolicyOptions options, const topo::Box& box) {
  std::set<std::pair<int, int>> refused;
  for (const auto& [a, b] : options.peers_refused) {
    if (box.OwnNode(a) >= 0 && box.OwnNode(b) >= 0) refused.emplace(box.OwnNode(a), box.OwnNode(b));
  }
  options.peers_refused = std::move(refused);
  return options;
}

}  // namespace

Boxes::Boxes(const topo::Graph& graph, std::span<const int> nodes, const topo::PolicyOptions& options)
    : graph_(graph), options_(options), network_(graph) {
  std::vector<int> different(nodes.begin(), nodes.end());
  std::ranges::sort(different);
  different.erase(std::unique(different.begin(), different.end()), different.end());
  boxes_ = topo::FindBoxes(graph, network_, different, options.peers_refused);
  for (std::size_t box = 0; box < boxes_.size(); ++box) {
    for (const int own : boxes_[box].gpus) {
      box_of_.emplace(boxes_[box].nodes[static_cast<std::size_t>(own)], static_cast<int>(box));
    }
  }
}

Boxes::Kind& Boxes::KindOf(int index) {
  const topo::Box& box = boxes_[static_cast<std::size_t>(index)];
  const auto [known, fresh] = kinds_.try_emplace(box.first_alike);
  Kind& kind = known->second;
  if (!fresh) return kind;
  kind.graph = topo::Extract(graph_, box);
  std::set<int> hosts;
  for (const topo::Node& node : kind.graph.nodes()) {
    if (node.host >= 0) hosts.insert(node.host);
  }
  const bool has_gpus = std::ranges::any_of(box.gpus, [&](int own) { return kind.graph.node(own).gpu() != nullptr; });
  if (has_gpus) {
    kind.gpus = std::make_unique<topo::HostPaths>(kind.graph, std::vector<int>(hosts.begin(), hosts.end()),
                                                  InBox(options_, box));
  }
  return kind;
}

const topo::Paths& Boxes::FromNuma(Kind& kind, int node) {
  return kind.numas.try_emplace(node, kind.graph, node).first->second;
}

Boxes::Way Boxes::In(int index, const Way& way) const {
  const topo::Box& box = boxes_[static_cast<std::size_t>(index)];
  Way here = way;
  for (topo::Arc& arc : here.arcs) arc = 2 * box.links[static_cast<std::size_t>(topo::LinkOf(arc))] + arc % 2;
  return here;
}

std::optional<Boxes::Way> Boxes::Between(int from, int to) {
  const int index = BoxOf(from);
  if (index != BoxOf(to)) return std::nullopt;
  Kind& kind = KindOf(index);
  const topo::Box& box = boxes_[static_cast<std::size_t>(index)];
  const int own_from = box.OwnNode(from), own_to = box.OwnNode(to);
  const auto [known, fresh] = kind.between.try_emplace({own_from, own_to});
  if (fresh) {
    double charge = 1;
    topo::Path path;
    if (IsGpu(from) && IsGpu(to)) {
      const topo::DecidedPath& decided = kind.gpus->Between(own_from, own_to);
      charge = decided.pci_charge;
      path = decided.path;
    } else {
      path = FromNuma(kind, IsGpu(from) ? own_to : own_from).To(IsGpu(from) ? own_from : own_to);
    }
    if (path.type != topo::PathType::kDis) {
      const bool turned = IsGpu(from) && !IsGpu(to);
      known->second = WayOf(kind.graph, turned ? own_to : own_from, path, charge);
      if (turned) Turn(*known->second);
    }
  }
  if (!known->second) return std::nullopt;
  return In(index, *known->second);
}

std::optional<Boxes::Way> Boxes::ToPort(int node, int port, topo::Direction direction) {
  const int index = BoxOf(node);
  Kind& kind = KindOf(index);
  const topo::Box& box = boxes_[static_cast<std::size_t>(index)];
  const int own = box.OwnNode(node), own_port = box.OwnNode(port);
  const topo::Path path =
      IsGpu(node) ? kind.gpus->ToPort(own, own_port, direction).path : FromNuma(kind, own).To(own_port);
  if (path.type == topo::PathType::kDis) return std::nullopt;
  Way way = WayOf(kind.graph, own, path, 1);
  if (direction == topo::Direction::kReceive) Turn(way);
  return In(index, way);
}

std::optional<int> Boxes::PortOf(int node, int channel) {
  const int index = BoxOf(node);
  Kind& kind = KindOf(index);
  const topo::Box& box = boxes_[static_cast<std::size_t>(index)];
  if (IsGpu(node)) {
    const std::optional<int> port = kind.gpus->PortOf(box.OwnNode(node), channel);
    return port ? std::optional(box.nodes[static_cast<std::size_t>(*port)]) : std::nullopt;
  }
  const topo::Paths& paths = FromNuma(kind, box.OwnNode(node));
  std::vector<int> nearest;
  for (const int port : box.ports) {
    if (paths.type(port) == topo::PathType::kDis) continue;
    const auto key = [&](int each) { return std::tuple(paths.type(each), -paths.gb_per_s(each)); };
    if (!nearest.empty() && key(port) > key(nearest.front())) continue;
    if (!nearest.empty() && key(port) < key(nearest.front())) nearest.clear();
    nearest.push_back(port);
  }
  if (nearest.empty()) return std::nullopt;
  return box.nodes[static_cast<std::size_t>(nearest[static_cast<std::size_t>(channel) % nearest.size()])];
}

std::vector<int> Boxes::PortsOf(int index) const {
  const topo::Box& box = boxes_[static_cast<std::size_t>(index)];
  std::vector<int> ports;
  for (const int own : box.ports) ports.push_back(box.nodes[static_cast<std::size_t>(own)]);
  return ports;
}

}  // namespace tutti::sim
