// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_SOAK_RANK_H_
#define TUTTI_TESTS_DIAG_SOAK_RANK_H_

// What a rank of a job without a fault does.

#include <atomic>
#include <cstdint>
#include <string>

#include "tests/diag/soak_plan.h"
#include "tutti/tutti.h"

namespace tutti::tests {

// A page that all ranks of a job share. Ids in hexadecimal: rank 0 writes them.
struct SoakBoard {
  std::atomic<int> has_ids;
  std::atomic<int> pauses[kPauses];           // that have begun
  std::atomic<std::int64_t> longest_stop_ms;  // a busy machine lets nobody go on in time
  std::atomic<int> steps;                     // after which the job ends early; 0: after all
  char id[257], second_id[257];
};

// Runs the rank's part to its end. `folder`: for what it writes.
Status RunSoakRank(const SoakPlan& plan, int rank, const Settings& settings, const std::string& folder,
                   SoakBoard& board);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_SOAK_RANK_H_
