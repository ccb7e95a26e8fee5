// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_WHAT_H_
#define TUTTI_DIAG_WHAT_H_

// Parts of sentences on ranks, calls and processes.

#include <cstdint>
#include <string>
#include <vector>

#include "diag/verdict.h"

namespace tutti::diag {

// "rank 3 (host a, pid 77, GPU 5)"
std::string Who(const Place& place);
// All of them, with host and process where it is one: "ranks 2-31".
std::string Who(const std::vector<Place>& places);
// "communicator dp", by its number where it has no name.
std::string CommunicatorName(const Place& place);
// "all_reduce(count 4, float32, sum), operation 5013 of communicator dp"
std::string Describe(const CallOf& call);
// "its main thread is in write() on /ckpt/17.pt"; empty where nothing is known.
std::string Activity(const ProcessLook& process);
// "was killed by signal 9", "has ended with exit code 3", "has ended".
std::string EndOf(const ProcessLook& process);

// "ranks 0-246 and 248-511", "rank 4".
std::string RankList(std::vector<int> ranks);
// "02:58:11 UTC"
std::string TimeOfDay(std::int64_t unix_ns);
// "2.1 s", "4.5 min", "3.2 h".
std::string Duration(std::int64_t ns);

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_WHAT_H_
