// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOPO_CHANNELS_H_
#define TUTTI_TOOLS_TOPO_CHANNELS_H_

#include <string>

#include "topo/graph.h"
#include "topo/policy.h"
#include "tutti/status.h"

namespace tutti::tools {

// The rings and trees that the search finds for all GPUs of a graph, one rank each: how many channels, what a large all_reduce reaches on
// them by the links alone, which link binds, and the orders. Fails where there is no GPU, or one that the others cannot reach.
Result<std::string> FormatChannels(const topo::Graph& graph, const topo::PolicyOptions& policy);

// Those of one host as NCCL's graph file, for NCCL_GRAPH_FILE. Fails as above.
Result<std::string> ChannelsAsXml(const topo::Graph& graph, int host, const topo::PolicyOptions& policy);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOPO_CHANNELS_H_
