// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_DISCOVER_NVLINKS_H_
#define TUTTI_TOPO_DISCOVER_NVLINKS_H_

// The part of Discover that joins GPUs by their NVLinks. discover.h has its rules.

#include <map>
#include <vector>

#include "sys/cuda/nvml.h"
#include "sys/os/device_tree.h"
#include "sys/os/notes.h"
#include "topo/graph.h"

namespace tutti::topo::internal {

// `gpus`: the graph's nodes, by index in `facts`. `numa_nodes`: those by their number. Adds an NVSwitch where an NVLink
// leads to one.
void AddNvLinks(const sys::cuda::NvmlFacts& facts, const sys::DeviceTree& tree, const std::vector<int>& gpus,
                const std::map<int, int>& numa_nodes, Graph& graph, sys::Notes& notes);

}  // namespace tutti::topo::internal

#endif  // TUTTI_TOPO_DISCOVER_NVLINKS_H_
