// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOPO_VIEW_H_
#define TUTTI_TOOLS_TOPO_VIEW_H_

// A machine's graph as people and programs read it.

#include <string>
#include <vector>

#include "tools/json.h"
#include "topo/graph.h"

namespace tutti::tools {

// What hangs below what in a host: NUMA nodes, below each one its PCI devices, and below a switch what it joins. Ports are below their
// cards. A node is in the list once, after what it hangs below.
struct TreeEntry {
  int node = 0;
  int parent = -1;  // place in the list; -1: a root
  int link = -1;    // to the parent
  int depth = 0;
};
std::vector<TreeEntry> TreeOf(const topo::Graph& graph, int host);

// The matrix of `nvidia-smi topo -m`: a row and a column for each GPU and each NIC, and below it what the names mean. NODE is told from
// PHB where the graph knows the host bridges.
std::string FormatMatrix(const topo::Graph& graph, int host);

// One line for each node, indented, with the rate of the link above it.
std::string FormatTree(const topo::Graph& graph, int host);

// A drawing: NVSwitch, GPUs and NICs, PCI switches, NUMA nodes, from above.
std::string DrawTopology(const topo::Graph& graph, int host);

// All of it: hosts, nodes and links by index.
Json TopologyAsJson(const topo::Graph& graph);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOPO_VIEW_H_
