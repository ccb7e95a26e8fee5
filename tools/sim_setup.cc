// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_setup.h"

#include "sim/simulator.h"
#include "tune/gpu_machine.h"
#include "tune/machine.h"

namespace tutti::tools {

SimSetup SetUp(const SourcedTopology& topology) {
  SimSetup setup;
  setup.machine.graph = &topology.graph;
  setup.machine.nodes = topology.graph.All(topo::NodeKind::kGpu);
  if (setup.machine.nodes.empty()) {
    setup.machine.nodes = topology.graph.All(topo::NodeKind::kNumaNode);
    setup.options.costs = sim::CostsOf(tune::Machine{});
  } else {
    const topo::Gpu& gpu = *topology.graph.node(setup.machine.nodes.front()).gpu();
    const tune::GpuSituation situation{
        .gpu = gpu.name, .compute_capability = gpu.sm, .ranks = static_cast<int>(setup.machine.nodes.size())};
    setup.options.costs = sim::CostsOf(tune::FindGpuTable({}, situation).machine);
    setup.options.costs.switches = sim::SwitchCostsOf(gpu.sm);
  }
  for (sim::WayCosts& way : setup.options.costs.ways) way.network_hop_us = kNetworkHopUs;
  setup.options.costs.nic_message_us = kNicMessageUs;
  setup.options.routing = RoutingOf(topology);
  return setup;
}

sim::RoutingOptions RoutingOf(const SourcedTopology& topology) {
  sim::RoutingOptions routing;
  routing.policy.peers_refused = topology.peers_refused;
  if (topology.machine && topology.machine->fabric.routing == topo::Routing::kAdaptive) {
    routing.routing = sim::Routing::kAdaptive;
  }
  return routing;
}

}  // namespace tutti::tools
