// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/paths.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <queue>
#include <string>
#include <tuple>

namespace tutti::topo {
namespace {

constexpr std::array<std::string_view, kPathTypes> kNames = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                             "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

PathType TypeOf(const Link& link, NodeKind from, NodeKind to) {
  switch (link.kind) {
    case LinkKind::kLocal:
      return PathType::kLoc;
    case LinkKind::kNvLink:
      return PathType::kNvl;
    case LinkKind::kC2c:
      return PathType::kC2c;
    case LinkKind::kPci:
      if (from == NodeKind::kNumaNode || to == NodeKind::kNumaNode) return PathType::kPhb;
      return from == NodeKind::kPciSwitch && to == NodeKind::kPciSwitch ? PathType::kPxb : PathType::kPix;
    case LinkKind::kSocket:
      return PathType::kSys;
    case LinkKind::kNetwork:
      return PathType::kNet;
  }
  return PathType::kDis;
}

// The type of a path of type `before` to `from` that goes on over `link`; kDis: it may not.
PathType Extend(PathType before, bool from_source, const Link& link, NodeKind from, NodeKind to) {
  const PathType type = TypeOf(link, from, to);
  if (from == NodeKind::kGpu && !from_source) {
    return before == PathType::kNvl && type == PathType::kNvl ? PathType::kNvb : PathType::kDis;
  }
  return std::max(before, type);
}

}  // namespace

std::string_view ToString(PathType type) { return kNames[static_cast<std::size_t>(type)]; }

std::optional<PathType> PathTypeFrom(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto found = std::ranges::find(kNames, upper);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<PathType>(found - kNames.begin());
}

// What a path of one type needs to go on may be a longer one of the same node: each node has one label for each type. Labels of a type
// are final in the order of their rate, as in Dijkstra's algorithm, and lead to labels of the same type or of later ones.
Paths::Paths(const Graph& graph, int from) : from_(from), labels_(graph.nodes().size()) {
  struct Place {
    double gb_per_s;
    int hops, node;
    // The largest goes first.
    bool operator<(const Place& other) const {
      return std::tuple(gb_per_s, -hops, -node) < std::tuple(other.gb_per_s, -other.hops, -other.node);
    }
  };
  std::array<std::priority_queue<Place>, kPathTypes> waiting;
  LabelOf(from, PathType::kLoc) = {.gb_per_s = std::numeric_limits<double>::infinity(), .hops = 0};
  waiting[0].push({.gb_per_s = std::numeric_limits<double>::infinity(), .hops = 0, .node = from});
  for (int t = 0; t < static_cast<int>(PathType::kDis); ++t) {
    const auto type = static_cast<PathType>(t);
    auto& queue = waiting[static_cast<std::size_t>(t)];
    while (!queue.empty()) {
      const Place place = queue.top();
      queue.pop();
      const Label label = LabelOf(place.node, type);
      if (place.hops != label.hops || place.gb_per_s != label.gb_per_s) continue;  // a better one has come since
      for (const Neighbour& neighbour : graph.NeighboursOf(place.node)) {
        const Link& link = graph.link(neighbour.link);
        const PathType next =
            Extend(type, place.node == from, link, graph.node(place.node).kind, graph.node(neighbour.node).kind);
        if (next == PathType::kDis || link.gb_per_s() <= 0 || neighbour.node == from) continue;
        Label& there = LabelOf(neighbour.node, next);
        const Place way = {
            .gb_per_s = std::min(label.gb_per_s, link.gb_per_s()), .hops = label.hops + 1, .node = neighbour.node};
        if (there.hops >= 0 && std::pair(there.gb_per_s, -there.hops) >= std::pair(way.gb_per_s, -way.hops)) continue;
        there = {.gb_per_s = way.gb_per_s,
                 .latency_us = label.latency_us + link.latency_us,
                 .hops = way.hops,
                 .before = place.node,
                 .link = neighbour.link,
                 .type_before = type};
        waiting[static_cast<std::size_t>(next)].push(way);
      }
    }
  }
}

Paths::Label& Paths::LabelOf(int node, PathType type) {
  for (auto& [own, label] : labels_[static_cast<std::size_t>(node)]) {
    if (own == type) return label;
  }
  auto& labels = labels_[static_cast<std::size_t>(node)];
  labels.emplace_back(type, Label{});
  return labels.back().second;
}

const std::pair<PathType, Paths::Label>* Paths::BestOf(int node) const {
  const std::pair<PathType, Label>* best = nullptr;
  for (const auto& entry : labels_[static_cast<std::size_t>(node)]) {
    if (entry.second.hops >= 0 && (best == nullptr || entry.first < best->first)) best = &entry;
  }
  return best;
}

PathType Paths::type(int to) const {
  const auto* best = BestOf(to);
  return best == nullptr ? PathType::kDis : best->first;
}

double Paths::gb_per_s(int to) const {
  const auto* best = BestOf(to);
  return best == nullptr ? 0 : best->second.gb_per_s;
}

double Paths::latency_us(int to) const {
  const auto* best = BestOf(to);
  return best == nullptr ? 0 : best->second.latency_us;
}

Path Paths::To(int to) const {
  const auto* best = BestOf(to);
  if (best == nullptr) return {};
  Path path{.type = best->first, .gb_per_s = best->second.gb_per_s, .latency_us = best->second.latency_us};
  PathType type = best->first;
  for (int node = to; node != from_;) {
    const auto& labels = labels_[static_cast<std::size_t>(node)];
    const Label& label = std::ranges::find(labels, type, &std::pair<PathType, Label>::first)->second;
    path.hops.push_back({.link = label.link, .to = node});
    node = label.before;
    type = label.type_before;
  }
  std::ranges::reverse(path.hops);
  return path;
}

}  // namespace tutti::topo
