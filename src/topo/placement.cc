// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

namespace tutti::topo {

Placement::Placement(const Graph& graph, std::span<const int> gpus, const PolicyOptions& options)
    : graph_(&graph),
      network_(graph),
      boxes_(FindBoxes(graph, network_, gpus, options.peers_refused)),
      box_of_(gpus.size()),
      position_of_(gpus.size()) {
  for (std::size_t b = 0; b < boxes_.size(); ++b) {
    const Box& box = boxes_[b];
    const bool first = box.first_alike == static_cast<int>(b);
    routes_of_.push_back(first ? static_cast<int>(routes_.size())
                               : routes_of_[static_cast<std::size_t>(box.first_alike)]);
    if (first) routes_.emplace_back(graph, network_, box, options);
    for (std::size_t i = 0; i < box.ranks.size(); ++i) {
      box_of_[static_cast<std::size_t>(box.ranks[i])] = static_cast<int>(b);
      position_of_[static_cast<std::size_t>(box.ranks[i])] = static_cast<int>(i);
    }
  }
}

Result<Placement> Placement::Make(const Graph& graph, std::span<const int> gpus, const PolicyOptions& options) {
  if (gpus.empty()) return Status(Code::kInvalidArgument, "There are no ranks: name at least one GPU.");
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    const bool is_node = gpus[rank] >= 0 && gpus[rank] < static_cast<int>(graph.nodes().size());
    if (is_node && graph.node(gpus[rank]).gpu() != nullptr && graph.node(gpus[rank]).host >= 0) continue;
    return Status(Code::kInvalidArgument,
                  fmt::format("Rank {} has node {} of the machine, which is no GPU of a host.", rank, gpus[rank]));
  }
  Placement placement(graph, gpus, options);
  if (placement.boxes_.size() == 1) return placement;
  for (const Box& box : placement.boxes_) {
    if (!box.ports.empty()) continue;
    const Node& gpu = graph.node(gpus[static_cast<std::size_t>(box.ranks[0])]);
    const bool named = gpu.host >= 0 && gpu.host < static_cast<int>(graph.hosts().size());
    return Status(
        Code::kUnsupported,
        fmt::format("Rank {} cannot reach ranks of other hosts: host {} has no port with a network link. Describe its "
                    "network card, or bring its link up.",
                    box.ranks[0], named ? graph.hosts()[static_cast<std::size_t>(gpu.host)] : "?"));
  }
  return placement;
}

const Routes& Placement::RoutesOf(int box) const {
  return routes_[static_cast<std::size_t>(routes_of_[static_cast<std::size_t>(box)])];
}

int Placement::PositionOfPort(int box, int node) const {
  const Box& there = boxes_[static_cast<std::size_t>(box)];
  const auto port =
      std::ranges::find_if(there.ports, [&](int own) { return there.nodes[static_cast<std::size_t>(own)] == node; });
  return static_cast<int>(port - there.ports.begin());
}

void Placement::ChargeRoute(int box, const Route& route, double amount, std::span<double> loads) const {
  const Box& there = boxes_[static_cast<std::size_t>(box)];
  const int own_links = static_cast<int>(there.links.size());
  for (const auto& [arc, bytes] : route.arcs) {
    Arc global = 0;
    if (LinkOf(arc) < own_links) {
      global = 2 * there.links[static_cast<std::size_t>(LinkOf(arc))] + arc % 2;
    } else {
      const int port = there.ports[static_cast<std::size_t>(LinkOf(arc) - own_links)];
      global = 2 * (static_cast<int>(graph_->links().size()) + there.nodes[static_cast<std::size_t>(port)]) + arc % 2;
    }
    loads[static_cast<std::size_t>(global)] += amount * bytes;
  }
}

bool Placement::Charge(int from, int to, const Crossing& crossing, double amount, std::span<double> loads) const {
  const int box = BoxOf(from), far = BoxOf(to);
  if (crossing.out < 0) {
    if (box != far) return false;
    const Route& route = RoutesOf(box).Between(PositionOf(from), PositionOf(to));
    ChargeRoute(box, route, amount, loads);
    return route.type != PathType::kDis;
  }
  const Route& out = RoutesOf(box).Out(PositionOf(from), PositionOfPort(box, crossing.out));
  const Route& in = RoutesOf(far).In(PositionOfPort(far, crossing.in), PositionOf(to));
  if (out.type == PathType::kDis || in.type == PathType::kDis || !network_.Hops(crossing.out, crossing.in))
    return false;
  ChargeRoute(box, out, amount, loads);
  ChargeRoute(far, in, amount, loads);
  network_.Charge(crossing.out, crossing.in, amount, loads);
  return true;
}

double Placement::RateOf(Arc arc) const {
  const int links = static_cast<int>(graph_->links().size());
  return LinkOf(arc) < links ? graph_->link(LinkOf(arc)).gb_per_s() : network_.gb_per_s(LinkOf(arc) - links);
}

int Placement::LinkAt(Arc arc) const {
  const int links = static_cast<int>(graph_->links().size());
  if (LinkOf(arc) < links) return LinkOf(arc);
  int best = -1;
  for (const Neighbour& neighbour : graph_->NeighboursOf(LinkOf(arc) - links)) {
    if (graph_->link(neighbour.link).kind == LinkKind::kNetwork) return neighbour.link;
    if (best < 0) best = neighbour.link;
  }
  return best;
}

}  // namespace tutti::topo
