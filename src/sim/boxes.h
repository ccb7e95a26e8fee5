// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_BOXES_H_
#define TUTTI_SIM_BOXES_H_

// Ways inside boxes (topo/box.h): between the GPUs of ranks, and between them and ports, as topo/policy.h decides; for ranks in host
// memory the closest ones that the graph has (topo/paths.h). What is found for a box holds for all that are alike.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "topo/box.h"
#include "topo/graph.h"
#include "topo/network_ways.h"
#include "topo/paths.h"
#include "topo/policy.h"

namespace tutti::sim {

class Boxes {
 public:
  struct Way {
    std::vector<topo::Arc> arcs;
    double pci_charge = 1;  // bytes that each byte takes on PCI links
  };

  // `nodes`: GPUs and NUMA nodes that ranks are on. The graph must outlive it, unchanged.
  Boxes(const topo::Graph& graph, std::span<const int> nodes, const topo::PolicyOptions& options);

  // The box of such a node.
  int BoxOf(int node) const { return box_of_.at(node); }
  // Nothing: there is no way, or not inside a box.
  std::optional<Way> Between(int from, int to);
  // From a node to a port of its box (kSend), or from the port to the node. Nothing: there is no way.
  std::optional<Way> ToPort(int node, int port, topo::Direction direction);
  // The port that a node uses for a channel; nothing: it reaches none.
  std::optional<int> PortOf(int node, int channel);
  // Those that data can pass.
  std::vector<int> PortsOf(int box) const;

 private:
  // Of boxes that are alike; all nodes are a box's own.
  struct Kind {
    topo::Graph graph;
    std::unique_ptr<topo::HostPaths> gpus;                      // null: it has none
    std::map<int, topo::Paths> numas;                           // by NUMA node, where somebody has asked
    std::map<std::pair<int, int>, std::optional<Way>> between;  // what has been asked for
  };

  Kind& KindOf(int box);
  const topo::Paths& FromNuma(Kind& kind, int node);
  bool IsGpu(int node) const { return graph_.node(node).kind == topo::NodeKind::kGpu; }
  // A way of a kind in one of its boxes.
  Way In(int box, const Way& way) const;

  const topo::Graph& graph_;
  topo::PolicyOptions options_;
  topo::NetworkWays network_;
  std::vector<topo::Box> boxes_;
  std::map<int, int> box_of_;  // by node
  std::map<int, Kind> kinds_;  // by first box that is alike
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_BOXES_H_
