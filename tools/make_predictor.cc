// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/make_predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/predictor_kinds.h"
#include "topo/rates.h"

namespace tutti::tools {

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
