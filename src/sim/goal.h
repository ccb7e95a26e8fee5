// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_GOAL_H_
#define TUTTI_SIM_GOAL_H_

// An operation as GOAL text, the input of LogGOPSim and ATLAHS (Hoefler, Siebert, Lumsdaine: "Group Operation Assembly Language", ICPP
// 2009): what each rank sends and receives, and what has to be done before.
//
//   num_ranks 2
//   rank 0 {
//   l0: send 1024b to 1 tag 0
//   l1: recv 1024b from 1 tag 0
//   l1 irequires l0
//   }
//
// A step of the plan becomes its receives and then its sends, which require them. The next step's operations require what the step has
// received and come after what it has sent has started; so channels, whose number is the tag, do one step after the other. Blocks and
// rounds are cut as for the simulator; messages are not merged. What GOAL cannot say is left out: that links hold a number of messages,
// and local work.

#include <functional>
#include <string_view>

#include "sim/job.h"
#include "tutti/status.h"

namespace tutti::sim {

// Ranks are numbered as in the operation's communicator, which has `ranks`. Calls `write` with pieces of the text, rank after rank.
Status WriteGoal(const Operation& operation, int ranks, const std::function<void(std::string_view)>& write);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_GOAL_H_
