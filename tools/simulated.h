// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIMULATED_H_
#define TUTTI_TOOLS_SIMULATED_H_

// What the simulator says of operations on a machine's graph, as far as predictions need it.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "sim/job.h"
#include "tools/topo_source.h"
#include "tutti/status.h"

namespace tutti::tools {

// The link that was busy longest, in the direction in which it was.
struct LinkLoad {
  double busy_us = 0;
  std::string kind;  // "NVLink", "PCI", "network", "network card", ...
  std::string name;  // "host 0: GPU 3 -> NVSwitch"
};

struct Simulated {
  double us = 0;
  std::optional<LinkLoad> busiest;  // nothing: no link was used
  double port_bytes = 0;            // out of the port of a network card that sent most
};

// `nodes`: by rank of the job, GPUs or NUMA nodes of the graph. Fails where ranks would wait for ever, as without a way between hosts.
Result<Simulated> SimulateOn(const SourcedTopology& topology, const std::vector<int>& nodes, const sim::Costs& costs,
                             const sim::Job& job);

// What links alone take for plans of so many bytes: a rank's work, protocols and latencies cost nothing. No executor is faster.
Result<Simulated> SimulateLinks(const SourcedTopology& topology, const std::vector<int>& nodes,
                                std::vector<plan::RankPlan> plans, std::size_t bytes);

// An operation of communicator 0 by plans that are there: every rank's, in order.
sim::Operation OperationOf(std::vector<plan::RankPlan> plans, std::size_t bytes);

// The NUMA nodes of a host in the graph, in its order.
std::vector<int> NumaNodesOf(const SourcedTopology& topology, int host);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIMULATED_H_
