// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/network_ways.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tutti::topo {
namespace {

Arc ArcFrom(const Graph& graph, int node, int link) { return 2 * link + (graph.link(link).from == node ? 0 : 1); }

}  // namespace

NetworkWays::NetworkWays(const Graph& graph) : graph_(graph) {
  known_ = std::ranges::any_of(graph.links(), [](const Link& link) { return link.kind == LinkKind::kNetwork; });
  for (const Node& node : graph.nodes()) {
    const bool passed = node.kind == NodeKind::kPort || node.kind == NodeKind::kNetworkSwitch;
    number_.push_back(passed ? numbers_++ : -1);
  }
}

bool NetworkWays::Carries(int index) const {
  const Link& link = graph_.link(index);
  return link.kind == LinkKind::kNetwork && link.gb_per_s() > 0 && number_[static_cast<std::size_t>(link.from)] >= 0 &&
         number_[static_cast<std::size_t>(link.to)] >= 0;
}

double NetworkWays::gb_per_s(int port) const {
  const double own = graph_.node(port).port() == nullptr ? 0 : graph_.node(port).port()->gbit_per_s / 8;
  double links = 0;
  for (const Neighbour& neighbour : graph_.NeighboursOf(port)) {
    if (Carries(neighbour.link)) links += graph_.link(neighbour.link).gb_per_s();
  }
  const double infinite = std::numeric_limits<double>::infinity();
  return std::min(own > 0 ? own : infinite, known_ ? links : infinite);
}

int NetworkWays::RailOf(int port) const {
  const Port* there = graph_.node(port).port();
  if (there == nullptr) return 0;
  return there->rail >= 0 ? there->rail : there->dev;
}

const std::vector<int>& NetworkWays::DistancesTo(int network_switch) const {
  const auto found = distances_.find(network_switch);
  if (found != distances_.end()) return found->second;
  std::vector<int> distances(static_cast<std::size_t>(numbers_), -1);
  const auto at = [&](int node) -> int& {
    return distances[static_cast<std::size_t>(number_[static_cast<std::size_t>(node)])];
  };
  std::vector<int> queue = {network_switch};
  at(network_switch) = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (!IsSwitch(queue[i])) continue;
    for (const Neighbour& neighbour : graph_.NeighboursOf(queue[i])) {
      if (!Carries(neighbour.link) || at(neighbour.node) >= 0) continue;
      at(neighbour.node) = at(queue[i]) + 1;
      queue.push_back(neighbour.node);
    }
  }
  return distances_.emplace(network_switch, std::move(distances)).first->second;
}

std::optional<int> NetworkWays::Hops(int from, int to) const {
  if (!known_) return RailOf(from) == RailOf(to) ? 2 : 4;
  std::optional<int> best;
  for (const Neighbour& neighbour : graph_.NeighboursOf(to)) {
    if (!Carries(neighbour.link)) continue;
    if (neighbour.node == from) return 1;
    if (!IsSwitch(neighbour.node)) continue;
    const int distance = At(DistancesTo(neighbour.node), from);
    if (distance > 0 && (!best || distance + 1 < *best)) best = distance + 1;
  }
  return best;
}

std::vector<int> NetworkWays::NextTo(int port) const {
  std::vector<int> next;
  for (const Neighbour& neighbour : graph_.NeighboursOf(port)) {
    if (Carries(neighbour.link)) next.push_back(neighbour.node);
  }
  std::ranges::sort(next);
  return next;
}

void NetworkWays::Step(const std::vector<int>& distances, int node, double amount, std::map<int, double>& next,
                       std::span<double> loads) const {
  const int here = At(distances, node);
  const auto closer = [&](const Neighbour& neighbour) {
    return Carries(neighbour.link) && IsSwitch(neighbour.node) && At(distances, neighbour.node) == here - 1;
  };
  double rate = 0;
  for (const Neighbour& neighbour : graph_.NeighboursOf(node)) {
    if (closer(neighbour)) rate += graph_.link(neighbour.link).gb_per_s();
  }
  for (const Neighbour& neighbour : graph_.NeighboursOf(node)) {
    if (!closer(neighbour)) continue;
    const double part = amount * graph_.link(neighbour.link).gb_per_s() / rate;
    loads[static_cast<std::size_t>(ArcFrom(graph_, node, neighbour.link))] += part;
    next[neighbour.node] += part;
  }
}

void NetworkWays::Charge(int from, int to, double amount, std::span<double> loads) const {
  if (!known_) return;
  const int hops = *Hops(from, to);
  // The last links of ways that are as short as any.
  std::vector<Neighbour> ends;
  double rate = 0;
  for (const Neighbour& neighbour : graph_.NeighboursOf(to)) {
    if (!Carries(neighbour.link)) continue;
    const bool is_end = hops == 1 ? neighbour.node == from
                                  : IsSwitch(neighbour.node) && At(DistancesTo(neighbour.node), from) == hops - 1;
    if (!is_end) continue;
    ends.push_back(neighbour);
    rate += graph_.link(neighbour.link).gb_per_s();
  }
  for (const Neighbour& end : ends) {
    const double part = amount * graph_.link(end.link).gb_per_s() / rate;
    loads[static_cast<std::size_t>(ArcFrom(graph_, end.node, end.link))] += part;
    std::map<int, double> at = {{from, part}};
    for (int left = hops - 1; left > 0; --left) {
      std::map<int, double> next;
      for (const auto& [node, flow] : at) Step(DistancesTo(end.node), node, flow, next, loads);
      at = std::move(next);
    }
  }
}

}  // namespace tutti::topo
