// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_setup.h"

#include "sim/simulator.h"
#include "tools/gpu_facts.h"
#include "tune/gpu_machine.h"
#include "tune/machine.h"
#include "tutti/settings.h"

namespace tutti::tools {

namespace {

// Of the GPUs of a host. A graph whose first host has none gets what holds for any.
Result<sim::Costs> CostsOfGpus(const SourcedTopology& topology) {
  const int ranks = static_cast<int>(topology.graph.All(topo::NodeKind::kGpu, 0).size());
  if (ranks == 0) return sim::CostsOf(tune::ShippedGpuTable("generic").machine);
  const Result<GpuFacts> facts = GpuFactsOf(topology, ranks, Settings::FromEnvironment());
  if (!facts.ok()) return facts.status();
  return sim::CostsOf(tune::FindGpuTable(facts->stored, facts->situation).machine);
}

}  // namespace

Result<SimSetup> SetUp(const SourcedTopology& topology) {
  SimSetup setup;
  setup.machine.graph = &topology.graph;
  setup.machine.nodes = topology.graph.All(topo::NodeKind::kGpu);
  if (setup.machine.nodes.empty()) {
    setup.machine.nodes = topology.graph.All(topo::NodeKind::kNumaNode);
    setup.options.costs = sim::CostsOf(tune::Machine{});
  } else {
    Result<sim::Costs> costs = CostsOfGpus(topology);
    if (!costs.ok()) return costs.status();
    setup.options.costs = *costs;
    setup.options.costs.switches = sim::SwitchCostsOf(topology.graph.node(setup.machine.nodes.front()).gpu()->sm);
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
