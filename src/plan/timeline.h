// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_TIMELINE_H_
#define TUTTI_PLAN_TIMELINE_H_

// When the steps of one round happen if a message takes one hop, steps take no time and links have no bounds;
// and which step's message meets which step. A multicast is a message to each of its receivers here, and a reducing read one from
// each rank that offers. The cost model counts hops with it, the tools draw it.

#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace tutti::plan {

struct Timeline {
  static constexpr int kNever = -1;

  struct Message {
    std::int32_t from, from_step;  // rank and its step
    std::int32_t to, to_step;
  };
  std::vector<std::vector<int>> hop;  // by rank and step; kNever: it waits for ever
  std::vector<Message> messages;      // those that are received
  int hops = 0;                       // of the last step
};

// The plans of ranks 0, 1, ..., n - 1, with every index within range. With `host_of`, by rank, a message inside a host takes
// no time: hops are those between hosts.
Timeline MakeTimeline(std::span<const RankPlan> plans, std::span<const std::int32_t> host_of = {});

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_TIMELINE_H_
