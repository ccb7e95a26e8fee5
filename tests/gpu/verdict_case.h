// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_GPU_VERDICT_CASE_H_
#define TUTTI_TESTS_GPU_VERDICT_CASE_H_

// A job whose kernels wait for one rank, and what the other ranks are told of it through NCCL's C interface (nccl_verdicts.cc).

#include <cstddef>

namespace tutti::tests {

inline constexpr int kVerdictWays = 8;
// "late-host".
const char* NameOf(int way);
struct VerdictCase {
  int way = 0;
  int ranks = 2, hosts = 1;
  int culprit = 1;              // the rank that holds up the others
  std::size_t count = 100'000;  // floats of each call
  int calls = 1;                // before anything is wrong
};

// Whether it can be done on so many GPUs.
bool Fits(const VerdictCase& c, int gpus);

// What a rank was told, and how long after it had called.
struct ToldOfRank {
  double seconds = -1;  // -1: nothing
  char sentence[1024] = "";
};

// Runs it with ranks as processes, which fill in `told`, one for each rank in memory that they share. Whether all were told the right thing, the verdict went
// when the rank went on, and all results were right.
bool RunVerdictCase(const VerdictCase& c, int gpus, ToldOfRank* told);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_GPU_VERDICT_CASE_H_
