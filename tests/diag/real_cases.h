// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_REAL_CASES_H_
#define TUTTI_TESTS_DIAG_REAL_CASES_H_

// Cases of the campaign on real ranks: processes of this host that exchange host memory, one of which is held up, ended or misled. The
// looks are those of `tutti top`.

#include <cstdint>
#include <string>

#include "tests/diag/case_result.h"

namespace tutti::tests {

enum class RealFault : std::uint8_t {
  kStop,        // SIGSTOP
  kKill,        // SIGKILL
  kSleep,       // the rank sleeps instead of calling
  kWrite,       // it writes to a file that takes nothing
  kOtherCall,   // it calls with another operator
  kOrders,      // half of the ranks call two communicators in the other order
  kNeverComes,  // it does not make the communicator
  kDebugger,    // it is held as by a debugger
  kNoReceive,   // it never receives what the rank before it sends
  kPause,       // it sleeps for a second, after which all go on
  kNothing,
};
inline constexpr int kRealFaults = 11;
const char* Name(RealFault fault);

struct RealCase {
  RealFault fault = RealFault::kNothing;
  int ranks = 4;  // at most 8
  int victim = 0;
  std::string algo, proto;  // settings; empty: chosen
  std::size_t count = 1024;
  bool zombie = false;  // kKill: nobody asks how it ended

  // One of this fault from a seed.
  static RealCase Of(RealFault fault, std::uint64_t seed);
};

// REQUIRES: this process has one thread.
CaseResult RunRealCase(const RealCase& what);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_REAL_CASES_H_
