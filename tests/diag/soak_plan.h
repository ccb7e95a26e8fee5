// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_SOAK_PLAN_H_
#define TUTTI_TESTS_DIAG_SOAK_PLAN_H_

// Jobs without a fault, as programs are: steps of work and calls with a rhythm of their own, ranks that have more to do than others,
// and pauses that programs want. Nothing in them deserves a WARN.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/diag/host_case.h"

namespace tutti::tests {

// What a rank does beside the work of a step.
enum class Pause : std::uint8_t {
  kNone,
  kSleep,       // for less than what a WARN takes
  kCheckpoint,  // writes a file and waits for the disk
  kSlowStore,   // writes to a store that takes little at a time, for longer than a WARN takes
  kSaving,      // the same with computing in between
  kCompile,     // starts a compiler and waits for it, for longer than a WARN takes
  kFork,        // starts a process and goes on
  kStop,        // is stopped for less than a second
  kBurn,        // computes
  kEverybody,   // all ranks sleep, for longer than a WARN takes: nobody waits
};
inline constexpr int kPauses = 10;
const char* Name(Pause pause);

struct SoakCall {
  Collective kind = Collective::kAllReduce;
  std::size_t count = 1;  // of a rank
  int root = 0;
};

struct SoakStep {
  int work_ms = 0;  // of a rank with the load 1
  Pause pause = Pause::kNone;
  int victim = 0;
  int pause_ms = 0;
  int slow_ms = 0;  // that one rank, the victim, sleeps before each call
  std::vector<SoakCall> calls;
};

// No rank is as many steps ahead of another one.
inline constexpr int kStepsApart = 10;

struct SoakPlan {
  std::vector<int> host_of;
  bool name_spaces = false;
  std::string algo, proto;
  std::vector<double> load;   // of each rank: work is not shared out evenly
  std::vector<int> join_ms;   // ranks come one after the other
  std::vector<int> leave_ms;  // and leave so
  int stage_ms =
      -1;  // each step sends something from the first rank to the last, which all work on for so long; -1: it does not
  double seconds = 0;  // that it takes, about
  std::vector<SoakStep> steps;

  // All of it follows from the seed.
  static SoakPlan Of(std::uint64_t seed, Means means);
  int ranks() const { return static_cast<int>(host_of.size()); }
  int hosts() const;
  // How long this rank works in a step, with what differs from step to step. ms.
  int WorkMs(int step, int rank) const;
  std::string Describe() const;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_SOAK_PLAN_H_
