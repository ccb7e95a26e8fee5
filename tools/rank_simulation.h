// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RANK_SIMULATION_H_
#define TUTTI_TOOLS_RANK_SIMULATION_H_

// Operations in host memory among ranks of several hosts, simulated on a machine's graph.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tools/host_choices.h"
#include "tools/simulated.h"
#include "tools/topo_source.h"
#include "tutti/status.h"

namespace tutti::tools {

struct PredictorShape;

class RankSimulation {
 public:
  // Ranks are on the NUMA nodes nearest to the GPUs of their numbers; without GPUs spread over them in order.
  RankSimulation(const SourcedTopology& topology, const PredictorShape& shape);

  // Whether there is a way between the hosts to simulate: each has a port.
  bool possible() const { return possible_; }

  // Among all ranks, or among those at the same place of each host, all places at the same time.
  enum class Among : std::uint8_t { kAll, kRails };
  // A collective by a way of `choices`, which are of that many ranks; for kSendRecv a send of each rank to the next one. What is larger
  // than 64 MiB is predicted from that and from half of it, since pipelines have filled by then.
  Result<Simulated> Run(HostChoices& choices, const tune::Choice& way, Collective collective, std::size_t bytes,
                        Among among);
  // Sends and receives of so many bytes each. Numbers as `choices` has them.
  Result<Simulated> RunTransfers(HostChoices& choices, const tune::Choice& way,
                                 const std::vector<HostChoices::Pair>& pairs, std::size_t bytes, Among among);

 private:
  Result<Simulated> RunOnce(HostChoices& choices, const tune::Choice& way, Collective collective, std::size_t bytes,
                            Among among);
  Result<Simulated> RunOperation(const sim::Operation& operation, const sim::Costs& costs, Among among) const;

  const SourcedTopology& topology_;
  int hosts_, ranks_of_host_;
  std::vector<int> nodes_;  // by rank
  bool possible_ = false;
  std::map<std::tuple<std::string, Collective, std::size_t, Among>, Simulated> known_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RANK_SIMULATION_H_
