// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_ROUTES_H_
#define TUTTI_TOPO_ROUTES_H_

// How data go inside a box, link by link: between the GPUs of its ranks, and between them and its ports; as policy.h decides.

#include <vector>

#include "topo/box.h"
#include "topo/graph.h"
#include "topo/network_ways.h"
#include "topo/paths.h"
#include "topo/policy.h"

namespace tutti::topo {

// What a byte that takes a route costs an arc: more than a byte where the CPU cuts it into small packets.
struct ArcUse {
  Arc arc = 0;
  double bytes = 1;
  auto operator<=>(const ArcUse&) const = default;
};

struct Route {
  PathType type = PathType::kDis;  // kDis: there is none
  std::vector<ArcUse> arcs;        // in order; a link may be there twice. Empty where both ends are one GPU
};

// All numbers are the box's own: positions of ranks in Box::ranks, of ports in Box::ports, and arcs of Box::links. After the arcs of its
// links come two for each port, out (even) and in, which stand for the port's rate and the network links at it.
class Routes {
 public:
  // `options`: pairs of GPUs are nodes of the graph.
  Routes(const Graph& graph, const NetworkWays& network, const Box& box, const PolicyOptions& options);

  int ranks() const { return ranks_; }
  int ports() const { return ports_; }
  const Route& Between(int from, int to) const { return between_[Index(from, to, ranks_)]; }
  const Route& Out(int rank, int port) const { return out_[Index(rank, port, ports_)]; }
  const Route& In(int port, int rank) const { return in_[Index(rank, port, ports_)]; }
  // By arc, in GB/s; may be infinite.
  const std::vector<double>& rates() const { return rates_; }

 private:
  static std::size_t Index(int row, int column, int columns) {
    return static_cast<std::size_t>(row * columns + column);
  }

  int ranks_, ports_;
  std::vector<Route> between_, out_, in_;
  std::vector<double> rates_;
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_ROUTES_H_
