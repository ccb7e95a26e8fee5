// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_COMPLETE_H_
#define TUTTI_TOPO_COMPLETE_H_

// What a topology file leaves out, from what the system says. Files that clouds publish have little more than bus ids and the switches
// above them: no NVLinks, no compute capabilities, no ports of cards. NCCL asks the system for what is missing, and so is it done here.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topo/discover.h"
#include "topo/graph.h"

namespace tutti::topo {

// Whether a host has GPUs of which nothing but the place is known, or cards without a port.
bool IsIncomplete(const Graph& graph, int host);

// Gives those GPUs and cards of a host what `found` knows of the devices with the same bus ids: compute capability, model, GPUDirect,
// NVLinks and C2C of GPUs; ports of cards, with numbers that are free. What the graph says itself stays as it is, and devices that it
// does not have are not added. Returns a sentence for each kind of thing that was taken over, or is still not known.
std::vector<std::string> Complete(const Discovery& found, int host, Graph& graph);

// Discovery::peers_refused as pairs of nodes of another graph of the same host, by bus ids.
std::set<std::pair<int, int>> RefusedPeersIn(const Graph& graph, int host, const Discovery& found);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_COMPLETE_H_
