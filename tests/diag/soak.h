// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_SOAK_H_
#define TUTTI_TESTS_DIAG_SOAK_H_

// Jobs without a fault (soak_plan.h), for as long as wanted, and every WARN that they log.

#include <cstdint>
#include <string>

namespace tutti::tests {

struct SoakOptions {
  double seconds = 0;
  std::uint64_t seed = 1;
  int jobs = 3;  // beside each other
  // Of a core that all jobs together may take: where they have taken more the next one waits.
  double most_cores = 0.25;
  std::int64_t one_job = -1;  // the job with this seed, and nothing else
  std::string json;           // a file for what came of each job (results_file.h); empty: none
  std::string command;        // what was run
};

// Ends early, and tells what there is, at SIGTERM or SIGINT. Whether nothing was at WARN, and all jobs have ended well.
bool Soak(const SoakOptions& options);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_SOAK_H_
