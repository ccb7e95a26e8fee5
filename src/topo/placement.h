// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_PLACEMENT_H_
#define TUTTI_TOPO_PLACEMENT_H_

// Where a communicator's ranks are on a machine: their boxes, and which links data take from any rank to any other.

#include <span>
#include <utility>
#include <vector>

#include "topo/box.h"
#include "topo/graph.h"
#include "topo/network_ways.h"
#include "topo/routes.h"
#include "tutti/status.h"

namespace tutti::topo {

// By which ports data leave a box and enter the next one: nodes of the graph; -1: they stay in the box.
struct Crossing {
  int out = -1, in = -1;
  bool operator==(const Crossing&) const = default;
};

// REQUIRES, of all of it: the graph outlives it, unchanged. Threads: as NetworkWays.
class Placement {
 public:
  // `gpus`: by rank, a node of the graph; several ranks may have the same. An error says which rank has no GPU, or which has no port
  // although there are other boxes.
  static Result<Placement> Make(const Graph& graph, std::span<const int> gpus, const PolicyOptions& options = {});

  const Graph& graph() const { return *graph_; }
  const NetworkWays& network() const { return network_; }
  int ranks() const { return static_cast<int>(box_of_.size()); }
  const std::vector<Box>& boxes() const { return boxes_; }
  // Those of the first box that is alike.
  const Routes& RoutesOf(int box) const;
  int BoxOf(int rank) const { return box_of_[static_cast<std::size_t>(rank)]; }
  // A rank's position in its box.
  int PositionOf(int rank) const { return position_of_[static_cast<std::size_t>(rank)]; }

  // Loads are by arc of the graph's links, and after them two for each node, which count for ports: out (even) and in.
  std::size_t arcs() const { return 2 * (graph_->links().size() + graph_->nodes().size()); }
  // Adds `amount` to the load of every arc on the way from a rank to another one. False, and nothing is added, where there is no way.
  bool Charge(int from, int to, const Crossing& crossing, double amount, std::span<double> loads) const;
  // What an arc can carry, in GB/s; may be infinite.
  double RateOf(Arc arc) const;
  // The link that an arc belongs to; of a port's: a link at the port, that of the network where there is one. -1: none.
  int LinkAt(Arc arc) const;

 private:
  Placement(const Graph& graph, std::span<const int> gpus, const PolicyOptions& options);
  void ChargeRoute(int box, const Route& route, double amount, std::span<double> loads) const;
  int PositionOfPort(int box, int node) const;

  const Graph* graph_;
  NetworkWays network_;
  std::vector<Box> boxes_;
  std::vector<Routes> routes_;  // of boxes that are the first of their kind
  std::vector<int> routes_of_;  // by box
  std::vector<int> box_of_, position_of_;
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_PLACEMENT_H_
