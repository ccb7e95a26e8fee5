// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIM_SETUP_H_
#define TUTTI_TOOLS_SIM_SETUP_H_

// What the simulating commands share: a machine's ranks and constants.

#include <string>
#include <vector>

#include "sim/job.h"
#include "tools/topo_source.h"
#include "tutti/status.h"

namespace tutti::tools {

// From a message's last byte at the port until its receiver goes on, us: what ATLAHS counts for NCCL between hosts of Alps (its
// configuration lgs_*.yaml), less nothing for switches, which the graph has.
inline constexpr double kNetworkHopUs = 3.7;
// That a rank's NIC needs for each message, us: the overhead that ATLAHS counts there.
inline constexpr double kNicMessageUs = 0.2;

struct SimSetup {
  sim::Machine machine;  // refers to the topology's graph
  sim::Options options;
};

// Every GPU is a rank, in the order of the graph; without GPUs every NUMA node. Constants are those of the table by which communicators
// of the first host's GPUs choose (GpuFactsOf), or of host memory, and of networks those above. Switches choose as the machine's text
// says. Fails where a file of tables cannot be read.
Result<SimSetup> SetUp(const SourcedTopology& topology);

// How messages find their way on a machine: as its text says switches choose, and around pairs of GPUs that do not reach each other.
sim::RoutingOptions RoutingOf(const SourcedTopology& topology);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIM_SETUP_H_
