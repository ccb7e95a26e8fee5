// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric.h"

#include <algorithm>
#include <utility>

namespace tutti::sim {

Fabric::Fabric(const topo::Graph& graph)
    : graph_(graph), switch_of_(graph.nodes().size(), -1), table_of_(graph.nodes().size(), -1) {
  const int nodes = static_cast<int>(graph.nodes().size());
  for (int node = 0; node < nodes; ++node) {
    first_.push_back(static_cast<std::uint32_t>(ends_.size()));
    const topo::NodeKind kind = graph.node(node).kind;
    if (kind != topo::NodeKind::kPort && kind != topo::NodeKind::kNetworkSwitch) continue;
    if (kind == topo::NodeKind::kNetworkSwitch) {
      switch_of_[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(switches_.size());
      switches_.push_back(node);
    }
    for (const topo::Neighbour& end : graph.NeighboursOf(node)) {
      const topo::Link& link = graph.link(end.link);
      if (link.kind == topo::LinkKind::kNetwork && link.gb_per_s() > 0) ends_.push_back(end);
    }
  }
  first_.push_back(static_cast<std::uint32_t>(ends_.size()));
}

std::span<const topo::Neighbour> Fabric::LinksOf(int node) const {
  const auto index = static_cast<std::size_t>(node);
  return std::span(ends_).subspan(first_[index], first_[index + 1] - first_[index]);
}

int Fabric::RailOf(int port) const {
  const topo::Port* const is = graph_.node(port).port();
  if (is == nullptr) return 0;
  return is->rail >= 0 ? is->rail : is->dev;
}

// Breadth first, over switches alone.
std::vector<std::uint16_t> Fabric::Search(std::span<const int> from) const {
  std::vector<std::uint16_t> distances(switches_.size(), kFar);
  std::vector<int> queue(from.begin(), from.end());
  for (const int node : from) distances[switch_of_[node]] = 1;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::uint16_t here = distances[switch_of_[queue[i]]];
    for (const topo::Neighbour& end : LinksOf(queue[i])) {
      const std::int32_t next = switch_of_[end.node];
      if (next < 0 || distances[next] != kFar) continue;
      distances[next] = static_cast<std::uint16_t>(here + 1);
      queue.push_back(end.node);
    }
  }
  return distances;
}

const std::vector<std::uint16_t>& Fabric::DistancesTo(int port) {
  std::int32_t& table = table_of_[static_cast<std::size_t>(port)];
  if (table < 0) {
    std::vector<int> hangs_on;
    for (const topo::Neighbour& end : LinksOf(port)) {
      if (switch_of_[end.node] >= 0) hangs_on.push_back(end.node);
    }
    std::ranges::sort(hangs_on);
    hangs_on.erase(std::unique(hangs_on.begin(), hangs_on.end()), hangs_on.end());
    const auto [known, fresh] = shared_.try_emplace(hangs_on, static_cast<int>(tables_.size()));
    if (fresh) tables_.push_back(Search(hangs_on));
    table = known->second;
  }
  return tables_[static_cast<std::size_t>(table)];
}

// Links from a node to the port, where `distances` are those of switches.
int Fabric::From(int node, int to_port, const std::vector<std::uint16_t>& distances) const {
  if (node == to_port) return 0;
  const std::int32_t number = switch_of_[node];
  return number < 0 ? kFar : distances[number];
}

std::optional<int> Fabric::Distance(int from_port, int to_port) {
  if (from_port == to_port) return 0;
  if (!known()) return RailOf(from_port) == RailOf(to_port) ? 2 : 4;
  const std::span<const topo::Neighbour> next = Next(from_port, to_port);
  if (next.empty()) return std::nullopt;
  return From(next.front().node, to_port, DistancesTo(to_port)) + 1;
}

std::span<const topo::Neighbour> Fabric::Next(int node, int to_port) {
  next_.clear();
  if (node == to_port) return next_;
  const std::vector<std::uint16_t>& distances = DistancesTo(to_port);
  int best = kFar;
  for (const topo::Neighbour& end : LinksOf(node)) {
    const int distance = From(end.node, to_port, distances);
    if (distance > best || distance == kFar) continue;
    if (distance < best) next_.clear();
    best = distance;
    next_.push_back(end);
  }
  return next_;
}

}  // namespace tutti::sim
