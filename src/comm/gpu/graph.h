// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_GRAPH_H_
#define TUTTI_COMM_GPU_GRAPH_H_

#include <string>

#include "tutti/status.h"

namespace tutti {
class Communicator;
}

namespace tutti::comm {

struct GpuCore;

// What the host's graph says of the GPUs of a communicator on one host. Rank 0 looks at the graph (comm/agree/host_graph.h) and tells
// the others, so that all decide alike and the machine is looked at once. Also says what is bad about the host, and writes
// NCCL_GRAPH_DUMP_FILE.
//
// Where the system does not say where GPUs are, as on many virtual machines, the ranks measure it before (measure_place.h).
//
// Sets core.ring and core.most_graph_channels: from NCCL_GRAPH_FILE, whose first channel gives the order of all; or, where links differ,
// from a search among NCCL_MIN_NCHANNELS to NCCL_MAX_NCHANNELS channels. `too_far`: why the GPUs may not write to each other's memory
// (NCCL_P2P_LEVEL), or empty. Where the graph lacks a GPU, any level but SYS forbids it.
//
// Collective; an error is the same on all ranks: the files of the settings cannot be read.
Status AskGraph(GpuCore& core, Communicator& communicator, std::string& too_far);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_GRAPH_H_
