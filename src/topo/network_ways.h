// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_NETWORK_WAYS_H_
#define TUTTI_TOPO_NETWORK_WAYS_H_

// The ways through the network between ports, as far as a graph knows it: how far ports are from each other, and which links their data
// take.
//
// Where a graph has no network links it says nothing of the network. Then every port reaches every other one, and those with the same
// number on their host (their rail) are closer than others.

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "topo/graph.h"

namespace tutti::topo {

// A link in one of its directions, as a number: 2 * link, and 1 more from its `to` to its `from`.
using Arc = int;
inline constexpr int LinkOf(Arc arc) { return arc / 2; }
inline constexpr Arc Reverse(Arc arc) { return arc ^ 1; }

// Threads: Hops and Charge keep what they have found, so an object is for one thread. REQUIRES: the graph outlives it, unchanged.
class NetworkWays {
 public:
  explicit NetworkWays(const Graph& graph);

  // What a port can send, and receive, beyond its host's links: its own rate, or that of its network links where that is less.
  // Infinite where neither is known; 0 where it cannot be used.
  double gb_per_s(int port) const;
  // Links between two ports: 1 for a cable, 2 for one switch. Nothing where data cannot get there. Where the graph has no network links,
  // 2 on a rail and 4 across.
  std::optional<int> Hops(int from, int to) const;
  // The network switches, and the ports of other hosts, that a port's links lead to; in ascending order.
  std::vector<int> NextTo(int port) const;
  // Adds `amount` to loads[arc] along the shortest ways between two ports, split by the links' rates wherever there is a choice: what
  // adaptive routing or many connections come close to. REQUIRES: Hops() is something.
  void Charge(int from, int to, double amount, std::span<double> loads) const;

 private:
  bool Carries(int link) const;
  bool IsSwitch(int node) const { return graph_.node(node).kind == NodeKind::kNetworkSwitch; }
  // By number_ of a port or switch: links to a network switch; -1: none. Ports pass nothing on.
  const std::vector<int>& DistancesTo(int network_switch) const;
  int At(const std::vector<int>& distances, int node) const {
    return distances[static_cast<std::size_t>(number_[static_cast<std::size_t>(node)])];
  }
  // Hands on what is at a port or switch to the switches that are one link closer.
  void Step(const std::vector<int>& distances, int node, double amount, std::map<int, double>& next,
            std::span<double> loads) const;
  int RailOf(int port) const;

  const Graph& graph_;
  bool known_ = false;
  std::vector<int> number_;  // by node: of ports and network switches, from 0
  int numbers_ = 0;
  mutable std::map<int, std::vector<int>> distances_;
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_NETWORK_WAYS_H_
