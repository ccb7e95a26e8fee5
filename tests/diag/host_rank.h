// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_HOST_RANK_H_
#define TUTTI_TESTS_DIAG_HOST_RANK_H_

// What a rank of a case on several hosts does, the fault included.

#include <atomic>
#include <string>

#include "tests/diag/host_case.h"
#include "tutti/tutti.h"

namespace tutti::tests {

// A page that the campaign and all ranks of a case share. Ids in hexadecimal: rank 0 writes them.
struct HostBoard {
  std::atomic<int> ready;   // ranks that have got as far as the phase wants
  std::atomic<int> go;      // the fault begins
  std::atomic<int> repair;  // whoever sleeps goes on
  std::atomic<int> has_ids;
  std::atomic<int> ended;  // ranks whose communicator has broken
  char id[257], second_id[257];
};

// Never returns: the rank is killed.
[[noreturn]] void RunHostRank(const HostCase& what, int rank, const Settings& settings, HostBoard& board);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_HOST_RANK_H_
