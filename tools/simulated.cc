// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/simulated.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/plans.h"
#include "sim/simulator.h"
#include "tools/sim_setup.h"

namespace tutti::tools {
namespace {

class GivenPlans : public sim::PlanSource {
 public:
  explicit GivenPlans(std::vector<plan::RankPlan> plans) : plans_(std::move(plans)) {}
  plan::RankPlan Build(int position, int /*channel*/) const override {
    return plans_[static_cast<std::size_t>(position)];
  }

 private:
  std::vector<plan::RankPlan> plans_;
};

// What people call a link of that kind.
std::string_view KindOf(const topo::Link& link) {
  return link.kind == topo::LinkKind::kLocal ? "network card" : topo::ToString(link.kind);
}

// Of several that are as busy as the busiest one the first that leads from one device to another. Nothing: no link was used.
std::optional<topo::Arc> BusiestOf(const topo::Graph& graph, std::span<const sim::LinkUse> links) {
  const auto most = std::ranges::max_element(links, {}, &sim::LinkUse::busy);
  if (most == links.end() || most->messages == 0) return std::nullopt;
  constexpr double kAsBusy = 0.999;
  for (std::size_t arc = 0; arc < links.size(); ++arc) {
    const bool as_busy = static_cast<double>(links[arc].busy) >= kAsBusy * static_cast<double>(most->busy);
    const auto index = static_cast<topo::Arc>(arc);
    if (as_busy && graph.link(topo::LinkOf(index)).kind != topo::LinkKind::kLocal) return index;
  }
  return static_cast<topo::Arc>(most - links.begin());
}

// Out of ports, to network switches or other ports.
double MostOfPorts(const topo::Graph& graph, std::span<const sim::LinkUse> links) {
  double most = 0;
  for (std::size_t arc = 0; arc < links.size(); ++arc) {
    const topo::Link& link = graph.link(static_cast<int>(arc / 2));
    const int from = arc % 2 == 0 ? link.from : link.to;
    if (link.kind != topo::LinkKind::kNetwork || graph.node(from).kind != topo::NodeKind::kPort) continue;
    most = std::max(most, static_cast<double>(links[arc].bytes));
  }
  return most;
}

}  // namespace

sim::Operation OperationOf(std::vector<plan::RankPlan> plans, std::size_t bytes) {
  return {
      .name = "operation", .communicator = 0, .plans = std::make_shared<GivenPlans>(std::move(plans)), .bytes = bytes};
}

Result<Simulated> SimulateOn(const SourcedTopology& topology, const std::vector<int>& nodes, const sim::Costs& costs,
                             const sim::Job& job) {
  const sim::Machine machine{.graph = &topology.graph, .nodes = nodes};
  const Result<sim::Outcome> outcome = sim::Simulate(job, machine, {.costs = costs, .routing = RoutingOf(topology)});
  if (!outcome.ok()) return outcome.status();
  if (!outcome->stuck.ok()) return outcome->stuck;
  Simulated simulated{.us = sim::ToUs(outcome->end), .port_bytes = MostOfPorts(topology.graph, outcome->links)};
  if (const std::optional<topo::Arc> arc = BusiestOf(topology.graph, outcome->links)) {
    simulated.busiest = {.busy_us = sim::ToUs(outcome->links[static_cast<std::size_t>(*arc)].busy),
                         .kind = std::string(KindOf(topology.graph.link(topo::LinkOf(*arc)))),
                         .name = sim::NameOf(topology.graph, *arc)};
  }
  return simulated;
}

Result<Simulated> SimulateLinks(const SourcedTopology& topology, const std::vector<int>& nodes,
                                std::vector<plan::RankPlan> plans, std::size_t bytes) {
  sim::Job job;
  job.communicators.push_back({.ranks = std::vector<int>(nodes.size())});
  std::iota(job.communicators.front().ranks.begin(), job.communicators.front().ranks.end(), 0);
  sim::AddOperation(OperationOf(std::move(plans), bytes), job);
  return SimulateOn(topology, nodes, {}, job);
}

std::vector<int> NumaNodesOf(const SourcedTopology& topology, int host) {
  return topology.graph.All(topo::NodeKind::kNumaNode, host);
}

}  // namespace tutti::tools
