// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIM_TRIALS_H_
#define TUTTI_TOOLS_SIM_TRIALS_H_

// An operation of all ranks of a machine, simulated in one way or in the fastest of several.

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/job.h"
#include "sim/ways.h"
#include "tools/sim_options.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::tools {

struct SimCase;

class SimTrials {
 public:
  // All of these must outlive it.
  SimTrials(const SimCase& which, Collective collective, const SimWays& ways);

  // By that algorithm, or by whichever is fastest: of all ways, as they are where nothing is slow or late. Fails where it does not do
  // the collective among such ranks. `size`: of the larger buffer.
  Result<sim::Way> Fastest(std::optional<algo::Algorithm> algorithm, std::size_t size) const;

  // What is simulated, and what comes of it, with all that is slow or late.
  struct Done {
    sim::Job job;
    sim::Outcome outcome;
  };
  // `log`: of messages; may be null. Fails where ranks would wait for ever.
  Result<Done> Run(const sim::Way& way, std::size_t size, sim::MessageLog* log) const;

  int ranks() const { return static_cast<int>(ranks_.size()); }

 private:
  sim::Call CallOf(std::size_t size) const;
  Result<Done> Simulate(const sim::Way& way, std::size_t size, const sim::Options& options) const;

  const SimCase& case_;
  Collective collective_;
  const SimWays& ways_;
  std::vector<int> ranks_;
  algo::Hosts hosts_;
  sim::Options sound_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIM_TRIALS_H_
