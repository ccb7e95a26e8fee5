// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_LOWERED_H_
#define TUTTI_EXEC_GPU_LAUNCH_LOWERED_H_

// What it takes to read what is known of a wait in vain. A kernel writes a block, a number and a peer into its HostWords
// (PackFailure); what they mean follows from how its plan was lowered. Of copy engines it is known for whom they wait.

#include <cstdint>
#include <vector>

#include "exec/gpu/format/relay.h"
#include "exec/gpu/format/transfer.h"
#include "exec/gpu/launch/failed_wait.h"
#include "exec/gpu/lower/compile.h"

namespace tutti::exec::gpu {

struct CopyWait;

// How a kernel's blocks, numbers and peers lead back to the plan.
struct Lowered {
  // Teams first_team, first_team + 1, ... of a role or lane, for channels 0, 1, ...
  struct Teams {
    std::uint16_t first_team, channels;
    std::uint8_t part;                       // RelayRole::Kind, or GroupLane::Kind
    std::uint32_t sources = 0, targets = 0;  // seats as bits
    bool operator==(const Teams&) const = default;
  };
  Form form = Form::kSteps;
  const PreparedPlan* plan = nullptr;  // must stay until Failures::Forget
  std::vector<Teams> teams;            // of kRelay and kMoves
  std::uint16_t blocks = 0;            // likewise
  std::uint8_t teams_per_block = 0;    // likewise
  std::vector<std::uint16_t> steps;    // of kMoves: of the plan, by the group's transfers
  std::vector<int> rank_of = {};       // by seat; empty: seats are ranks

  bool operator==(const Lowered&) const = default;
};
Lowered LoweredOf(const PreparedPlan& plan, const Program& program);
// Of a batch, whose items go step by step.
Lowered LoweredOfBatch(const PreparedPlan& plan);
Lowered LoweredOf(const PreparedPlan& plan, const Relay& relay);
// steps, rank_of: as of Lowered.
Lowered LoweredOf(const PreparedPlan& plan, const Group& group, std::vector<std::uint16_t> steps,
                  std::vector<int> rank_of = {});

// Of copy engines.
Lowered LoweredOfCopies(const PreparedPlan& plan);

// REQUIRES: a failure that a kernel lowered so has written.
FailedWait ReadFailure(const Lowered& lowered, std::uint64_t failure);
// The same of copy engines. REQUIRES: they follow that plan, and do not wait for signals.
FailedWait ReadFailure(const Lowered& lowered, const CopyWait& wait);
// What is left of a kernel's report where several ways share the words. `any`: one of them, where all know the same ranks; else null.
FailedWait ReadShared(std::uint64_t failure, const Lowered* any);

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_LOWERED_H_
