// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/rank_simulation.h"

#include <algorithm>
#include <memory>

#include "plan/plan.h"
#include "tools/predictor_kinds.h"
#include "topo/policy.h"
#include "tune/choice.h"

namespace tutti::tools {
namespace {

// Of the larger side of an operation.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

std::vector<int> NodesOf(const SourcedTopology& topology, const PredictorShape& shape) {
  std::vector<int> nodes;
  for (int host = 0; host < shape.hosts; ++host) {
    const std::vector<int> numas = NumaNodesOf(topology, host), gpus = topology.graph.All(topo::NodeKind::kGpu, host);
    std::optional<topo::HostPaths> paths;
    if (!gpus.empty()) paths.emplace(topology.graph, std::vector<int>{host});
    for (int rank = 0; rank < shape.ranks_of_host; ++rank) {
      const auto spread = static_cast<std::size_t>(rank) * numas.size() / static_cast<std::size_t>(shape.ranks_of_host);
      int node = numas.empty() ? -1 : numas[spread];
      if (paths) {
        const int near = paths->NumaOf(gpus[static_cast<std::size_t>(rank) % gpus.size()]);
        if (near >= 0) node = near;
      }
      nodes.push_back(node);
    }
  }
  return nodes;
}

}  // namespace

RankSimulation::RankSimulation(const SourcedTopology& topology, const PredictorShape& shape)
    : topology_(topology), hosts_(shape.hosts), ranks_of_host_(shape.ranks_of_host) {
  if (hosts_ == 1) return;
  nodes_ = NodesOf(topology, shape);
  possible_ = std::ranges::find(nodes_, -1) == nodes_.end();
  for (int host = 0; host < hosts_; ++host) {
    possible_ = possible_ && !topology.graph.All(topo::NodeKind::kPort, host).empty();
  }
}

Result<Simulated> RankSimulation::Run(HostChoices& choices, const tune::Choice& way, Collective collective,
                                      std::size_t bytes, Among among) {
  const int ranks = choices.hosts().ranks();
  const int pieces = std::max({plan::InPieces(collective, ranks), plan::OutPieces(collective, ranks), 1});
  const std::size_t most = std::max<std::size_t>(kMostBytes / static_cast<std::size_t>(pieces), 2);
  if (bytes <= most) return RunOnce(choices, way, collective, bytes, among);
  const Result<Simulated> half = RunOnce(choices, way, collective, most / 2, among);
  if (!half.ok()) return half;
  Result<Simulated> all = RunOnce(choices, way, collective, most, among);
  if (!all.ok()) return all;
  const double more = static_cast<double>(bytes - most) / static_cast<double>(most - most / 2);
  Simulated longer = *all;
  longer.us += more * (all->us - half->us);
  longer.port_bytes += more * (all->port_bytes - half->port_bytes);
  if (longer.busiest && half->busiest)
    longer.busiest->busy_us += more * (all->busiest->busy_us - half->busiest->busy_us);
  return longer;
}

Result<Simulated> RankSimulation::RunOnce(HostChoices& choices, const tune::Choice& way, Collective collective,
                                          std::size_t bytes, Among among) {
  const std::tuple key(tune::ToString(way), collective, bytes, among);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  std::vector<HostChoices::Pair> pairs;
  const int ranks = choices.hosts().ranks();
  for (int rank = 0; rank < ranks; ++rank) pairs.push_back({.from = rank, .to = (rank + 1) % ranks});
  Result<Simulated> simulated =
      collective == Collective::kSendRecv
          ? RunTransfers(choices, way, pairs, bytes, among)
          : RunOperation(choices.OperationFor(way, collective, bytes), choices.CostsFor(way, collective), among);
  if (simulated.ok()) known_.emplace(key, *simulated);
  return simulated;
}

Result<Simulated> RankSimulation::RunTransfers(HostChoices& choices, const tune::Choice& way,
                                               const std::vector<HostChoices::Pair>& pairs, std::size_t bytes,
                                               Among among) {
  return RunOperation(choices.TransfersFor(way, pairs, bytes), choices.CostsFor(way, Collective::kSendRecv), among);
}

Result<Simulated> RankSimulation::RunOperation(const sim::Operation& operation, const sim::Costs& costs,
                                               Among among) const {
  sim::Job job;
  const int communicators = among == Among::kRails ? ranks_of_host_ : 1;
  for (int c = 0; c < communicators; ++c) {
    sim::Communicator communicator;
    for (int rank = c; rank < hosts_ * ranks_of_host_; rank += communicators) communicator.ranks.push_back(rank);
    job.communicators.push_back(std::move(communicator));
    sim::Operation own = operation;
    own.communicator = c;
    sim::AddOperation(own, job);
  }
  return SimulateOn(topology_, nodes_, costs, job);
}

}  // namespace tutti::tools
