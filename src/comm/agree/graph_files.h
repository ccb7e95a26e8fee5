// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_GRAPH_FILES_H_
#define TUTTI_COMM_AGREE_GRAPH_FILES_H_

// NCCL's files of a host's graph and of channels on it: NCCL_GRAPH_FILE, NCCL_TOPO_DUMP_FILE, NCCL_GRAPH_DUMP_FILE. NCCL_TOPO_FILE is
// read in host_graph.h.

#include <span>
#include <vector>

#include "topo/channels.h"
#include "tutti/status.h"

namespace tutti {
struct Settings;
}

namespace tutti::comm {

struct HostGraph;

// The channels of NCCL_GRAPH_FILE; none where it is not set, or the host has no GPU. An error names the file, the line, what is wrong
// there and what to do.
Result<std::vector<topo::Channels>> ReadGivenChannels(const Settings& settings, const HostGraph& host);
// Of them those for rings; null: there are none.
const topo::Channels* RingsOf(std::span<const topo::Channels> channels);

// Write the file, where it is asked for; the caller knows whether its rank is to. What cannot be written is a warning.
void DumpTopology(const Settings& settings, const HostGraph& host);
void DumpChannels(const Settings& settings, const HostGraph& host, std::span<const topo::Channels> channels);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_GRAPH_FILES_H_
