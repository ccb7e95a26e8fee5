// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_CHECK_H_
#define TUTTI_PLAN_CHECK_H_

// Proves that a plan does what its collective promises, without data: Check runs the plans of all ranks on
// symbolic values ("rank 2's block 3", "ranks 0 and 1 folded") over links of bounded capacity.
//
// A rank is a process that runs its steps in order, one at a time. A step waits until all messages it
// receives have arrived and all links it sends on have room, and then happens at once; what it received
// leaves the link then. This is the most cautious executor there is: one that sends or receives part of a
// step earlier cannot do worse. Each rank's order is fixed, so whether the plan ends does not depend on who
// runs when, and one run decides.
//
// What must hold:
//   - all ranks agree on collective, root, blocks and slots; every index is within range; nobody sends to itself;
//   - every block of every output holds exactly the right contributions, each exactly once, in every round (a
//     barrier: every rank ends after every rank has begun);
//   - nobody waits for ever, and nothing that was sent is left unread;
//   - a link's receiver is the same number of stages behind its sender for all messages;
//   - no buffer that its rank does not have is used, and no block is read that was not stored, or (in place) that
//     was overwritten;
//   - a step's blocks are of equal size. A step that only passes on, without a block of its own, is allowed where
//     all blocks are equal: where a piece is one block.
//
// The last round runs without the trailing half of every piece's blocks, as when the elements run out.

#include <span>

#include "plan/check_options.h"
#include "plan/plan.h"
#include "tutti/status.h"

namespace tutti::plan {

inline constexpr int kMaxCheckRanks = 2048;

// The plans of ranks 0, 1, ..., n - 1, on one channel. An error's sentence names the rank, its step, and what
// is wrong; its peer is that rank.
//
// Time and memory: about 100 ns and 50 bytes per message, and n integers per message where order of events
// matters (barrier, in_place_by_reference).
Status Check(std::span<const RankPlan> plans, const CheckOptions& options = {});

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_CHECK_H_
