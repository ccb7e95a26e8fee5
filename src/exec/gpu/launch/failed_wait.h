// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_FAILED_WAIT_H_
#define TUTTI_EXEC_GPU_LAUNCH_FAILED_WAIT_H_

// For what a GPU has waited in vain.

#include <cstdint>
#include <optional>
#include <string>

#include "tutti/types.h"

namespace tutti::exec::gpu {

// The ways to run a plan.
enum class Form : std::uint8_t { kSteps, kShort, kRelay, kMoves, kCopies };

// For what somebody waits: data from a peer; room there, for copy engines its window; its signals; what a rank copies to itself.
enum class Awaited : std::uint8_t { kData, kRoom, kSignals, kOwnCopies };

// A wait that ended after the timeout. -1: what is left open by who waited.
struct FailedWait {
  std::optional<Form> form;                        // none: several ways share the words, or it is no part of a plan
  Collective collective = Collective::kAllReduce;  // where there is a form
  Awaited awaited = Awaited::kRoom;
  int peer = -1;
  int step = -1;     // of the plan
  int or_step = -1;  // or this one, where teams of a block wait for the same peer
  int channel = -1;  // of the link
  int round = -1;
};

// "all_reduce as a relay, at step 2 of its plan, round 5, channel 3: waited for data from rank 1".
std::string Describe(const FailedWait& wait);

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_FAILED_WAIT_H_
