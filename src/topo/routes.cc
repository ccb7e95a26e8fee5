// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/routes.h"

#include <algorithm>
#include <ranges>
#include <set>

namespace tutti::topo {
namespace {

Route FromDecided(const Graph& graph, int from, const DecidedPath& decided) {
  Route route{.type = decided.path.type, .arcs = {}};
  for (const Hop& hop : decided.path.hops) {
    const Link& link = graph.link(hop.link);
    route.arcs.push_back({.arc = 2 * hop.link + (link.from == from ? 0 : 1),
                          .bytes = link.kind == LinkKind::kPci ? decided.pci_charge : 1});
    from = hop.to;
  }
  return route;
}

Route Turn(const Route& route) {
  Route back{.type = route.type, .arcs = {}};
  for (auto use = route.arcs.rbegin(); use != route.arcs.rend(); ++use) {
    back.arcs.push_back({.arc = Reverse(use->arc), .bytes = use->bytes});
  }
  return back;
}

// What is said of the box's GPUs, by its own nodes.
PolicyOptions ForBox(PolicyOptions options, const Box& box) {
  std::set<std::pair<int, int>> refused;
  for (const auto& [a, b] : options.peers_refused) {
    const int own_a = box.OwnNode(a), own_b = box.OwnNode(b);
    if (own_a >= 0 && own_b >= 0) refused.emplace(own_a, own_b);
  }
  options.peers_refused = std::move(refused);
  return options;
}

}  // namespace

Routes::Routes(const Graph& graph, const NetworkWays& network, const Box& box, const PolicyOptions& options)
    : ranks_(static_cast<int>(box.gpus.size())), ports_(static_cast<int>(box.ports.size())) {
  const Graph own = Extract(graph, box);
  for (const Link& link : own.links()) rates_.insert(rates_.end(), 2, link.gb_per_s());
  for (const int port : box.ports) {
    rates_.insert(rates_.end(), 2, network.gb_per_s(box.nodes[static_cast<std::size_t>(port)]));
  }
  std::set<int> hosts;
  for (const Node& node : own.nodes()) {
    if (node.host >= 0) hosts.insert(node.host);
  }
  const HostPaths paths(own, std::vector<int>(hosts.begin(), hosts.end()), ForBox(options, box));
  for (const int from : box.gpus) {
    for (const int to : box.gpus) between_.push_back(FromDecided(own, from, paths.Between(from, to)));
  }
  const int port_arcs = 2 * static_cast<int>(own.links().size());
  for (const int gpu : box.gpus) {
    for (int p = 0; p < ports_; ++p) {
      const int port = box.ports[static_cast<std::size_t>(p)];
      Route out = FromDecided(own, gpu, paths.ToPort(gpu, port, Direction::kSend));
      Route in = Turn(FromDecided(own, gpu, paths.ToPort(gpu, port, Direction::kReceive)));
      if (out.type != PathType::kDis) out.arcs.push_back({.arc = port_arcs + 2 * p, .bytes = 1});
      if (in.type != PathType::kDis) in.arcs.push_back({.arc = port_arcs + 2 * p + 1, .bytes = 1});
      out_.push_back(std::move(out));
      in_.push_back(std::move(in));
    }
  }
}

}  // namespace tutti::topo
