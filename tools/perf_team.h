// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_TEAM_H_
#define TUTTI_TOOLS_PERF_TEAM_H_

// What the ranks of a measurement tell each other: times, counts, who and where they are.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/perf_options.h"
#include "tools/perf_table.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::tools {

struct Member {
  RankInfo info;
  std::int64_t free_bytes = 0;  // memory that its host can still give away, as the rank saw it
};

// All calls are collective. They run on a communicator of default settings, never on one whose algorithm is
// forced.
class Team {
 public:
  // REQUIRES: `communicator` outlives the team.
  explicit Team(Communicator& communicator) : communicator_(&communicator) {}

  int rank() const { return communicator_->rank(); }
  int ranks() const { return communicator_->ranks(); }

  Status Barrier();
  Result<std::int64_t> Sum(std::int64_t value);
  // One time out of all ranks' times.
  Result<double> Combine(double seconds, PerfOptions::Average average);
  // Everybody's introduction, in rank order.
  Result<std::vector<Member>> Introduce();
  // Another communicator of the same ranks, with settings of its own.
  Result<Communicator> Again(const Settings& settings);

 private:
  Communicator* communicator_;
};

// The sentence that says why `bytes_per_rank` do not fit into the memory of some member's host, and what
// would; empty where they fit. The same on all ranks.
std::string MemoryProblem(const std::vector<Member>& members, std::size_t bytes_per_rank);

// Memory that this process can still get, bytes: what the host has available and the control group allows.
std::int64_t FreeMemory();

// This host's name.
std::string HostName();

// Prints "host: rank 3 pid 4711: <status>" to stderr, in one write. rank -1: not known yet.
void PrintFailure(int rank, const Status& status);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_TEAM_H_
