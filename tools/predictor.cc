// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tools/perf_shape.h"
#include "tools/predictor_kinds.h"
#include "tools/simulated.h"
#include "topo/rates.h"

namespace tutti::tools {

Prediction PredictionOf(Collective collective, int ranks, std::size_t size) {
  Work work{.collective = collective, .type = DataType::kUint8, .ranks = ranks};
  work.count =
      std::max(CountFor(collective, DataType::kUint8, ranks, size, Rounding::kExact), static_cast<std::size_t>(1));
  Prediction prediction;
  prediction.size = work.bytes();
  prediction.bytes = work.count;
  return prediction;
}

bool Binds(const std::optional<LinkLoad>& link, double us) { return link && us > 0 && link->busy_us >= us / 2; }

void SayWhatBinds(const std::optional<LinkLoad>& link, Prediction& prediction) {
  const double us = prediction.us;
  if (Binds(link, us)) {
    prediction.bound = link->kind;
    prediction.binding =
        fmt::format("{} ({}): it is busy for {:.1f} of {:.1f} us", link->kind, link->name, link->busy_us, us);
    return;
  }
  const LargestPart largest = LargestPartOf(prediction.ways.front().terms);
  prediction.bound = largest.links && link ? link->kind : largest.name;
  prediction.binding = largest.sentence;
  if (link) {
    prediction.binding += fmt::format("; the busiest link, {} ({}), is busy for {:.0f} %", link->kind, link->name,
                                      us > 0 ? 100 * link->busy_us / us : 0);
  }
}

HostFacts FactsFor(const PredictorShape& shape, const PredictorOptions& options) {
  if (options.facts) {
    HostFacts facts = *options.facts;
    if (facts.cpus == 0) facts.cpus = shape.ranks_of_host;
    return facts;
  }
  return {.cpus = shape.ranks_of_host, .source = "built in, of an EPYC with 2 cores; a core for each rank is taken"};
}

algo::Hosts HostsFor(const PredictorShape& shape) {
  if (shape.hosts == 1) return {shape.ranks_of_host};
  const std::vector<int> sizes(static_cast<std::size_t>(shape.hosts), shape.ranks_of_host);
  return algo::Hosts::OfSizes(sizes);
}

Result<SourcedTopology> Repeat(const SourcedTopology& topology, int hosts) {
  SourcedTopology repeated = topology;
  if (hosts == 1 || topology.graph.hosts().size() != 1) return repeated;
  const auto wanted = static_cast<std::size_t>(hosts);
  if (wanted * topology.graph.nodes().size() > topo::kMostNodes) {
    return Status(Code::kInvalidArgument, fmt::format("{} hosts like this one are too many; fewer --hosts", hosts));
  }
  for (int host = 1; host < hosts; ++host) {
    const int first = topo::Append(topology.graph, repeated.graph);
    for (const auto& [a, b] : topology.peers_refused) repeated.peers_refused.emplace(first + a, first + b);
  }
  const std::vector<int> ports = repeated.graph.All(topo::NodeKind::kPort);
  if (ports.empty()) return repeated;
  const int network = repeated.graph.AddNode({.kind = topo::NodeKind::kNetworkSwitch, .host = -1, .name = "switch"});
  for (const int port : ports) {
    const topo::Port& card = *repeated.graph.node(port).port();
    repeated.graph.AddLink({.from = port,
                            .to = network,
                            .kind = topo::LinkKind::kNetwork,
                            .rated_gb_per_s = topo::PortGbPerS(card.gbit_per_s),
                            .latency_us = card.latency_us / 2});
  }
  return repeated;
}

Result<std::unique_ptr<Predictor>> MakePredictor(const SourcedTopology& topology, const PredictorOptions& options) {
  const topo::Graph& graph = topology.graph;
  PredictorShape shape{.hosts = static_cast<int>(graph.hosts().size())};
  const auto gpus = static_cast<int>(graph.All(topo::NodeKind::kGpu, 0).size());
  const bool on_gpus = gpus > 0 && !options.host_memory;
  const int usual = on_gpus ? gpus : static_cast<int>(NumaNodesOf(topology, 0).size());
  shape.ranks_of_host = options.ranks > 0 ? options.ranks : std::max(usual, shape.hosts > 1 || on_gpus ? 1 : 2);
  if (shape.ranks() < 2) {
    return Status(Code::kInvalidArgument, "one rank alone exchanges nothing; more --hosts or --ranks");
  }
  constexpr int kMostRanks = 4096;
  if (shape.ranks() > kMostRanks) {
    return Status(Code::kInvalidArgument, fmt::format("{} ranks: at most {} can be predicted; fewer --hosts or --ranks",
                                                      shape.ranks(), kMostRanks));
  }
  if (!on_gpus) return MakeHostMemoryPredictor(topology, shape, options);
  return shape.hosts == 1 ? MakeGpuPredictor(topology, shape, options)
                          : MakeGpuHostsPredictor(topology, shape, options);
}

}  // namespace tutti::tools
