// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_HOURS_H_
#define TUTTI_TESTS_DIAG_HOURS_H_

// Jobs of 512 ranks without a fault on the model (model.h), for hours of their time, and every WARN that the analyser makes of what their
// black boxes would say. Looks are as far apart as the monitor's, and as ragged: hosts answer one after the other, and what a rank
// has written down of its wait may be as old as it is in a real job.
//
// Steps in which no rank waits for half a second, so that no monitor would look, are counted and not worked out one by one.

#include <cstdint>
#include <string>

namespace tutti::tests {

struct HoursOptions {
  double hours = 0;
  std::uint64_t seed = 1;
  std::int64_t one_job = -1;  // the job with this seed, and nothing else
  std::string json;           // a file for what came of it (results_file.h); empty: none
  std::string command;        // what was run
};

// Prints each WARN and what came of all. Whether there was none.
bool SimulateHours(const HoursOptions& options);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_HOURS_H_
