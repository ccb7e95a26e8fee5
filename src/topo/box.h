// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_BOX_H_
#define TUTTI_TOPO_BOX_H_

// A machine's boxes: what is connected without the network. A box is a host, or several hosts whose GPUs are joined by NVLinks. Rings
// and trees are searched box by box, and boxes that are alike only once.

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "topo/graph.h"
#include "topo/network_ways.h"

namespace tutti::topo {

struct Box {
  // Of the graph, ascending; a box's own node i is nodes[i]. GPUs that no rank has are left out: nobody there could pass data on.
  std::vector<int> nodes;
  std::vector<int> links;  // likewise
  std::vector<int> ranks;  // that have a GPU here, ascending
  std::vector<int> gpus;   // by position in `ranks`: its own node
  std::vector<int> ports;  // own nodes, ascending: those that data can pass
  // Its own node of this one of the graph; -1: not here.
  int OwnNode(int node) const;
  // Index of the first box that is the same but for names; its own index where there is none before it.
  int first_alike = 0;
};

// The boxes in which ranks have GPUs, by their first ranks. `gpus`: by rank, a GPU of the graph; several ranks may have the same.
// `refused`: pairs of GPUs (PolicyOptions::peers_refused).
std::vector<Box> FindBoxes(const Graph& graph, const NetworkWays& network, std::span<const int> gpus,
                           const std::set<std::pair<int, int>>& refused);

// A box as a graph of its own.
Graph Extract(const Graph& graph, const Box& box);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_BOX_H_
