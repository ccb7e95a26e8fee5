// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_CHECK_OPTIONS_H_
#define TUTTI_PLAN_CHECK_OPTIONS_H_

// What plan::Check is asked to prove (check.h).

#include <cstdint>
#include <span>

namespace tutti::plan {

// Where the output lies: in memory of its own, or in place as communicator.h's Operation describes, or try
// both.
enum class Placement : std::uint8_t { kSeparate, kInPlace, kBoth };

struct CheckOptions {
  int rounds = 3;      // a barrier, which moves nothing, has one
  int link_slots = 0;  // messages that a link holds; 0: what the plans say
  Placement placement = Placement::kBoth;
  // Also: every reduced output is one fold over the ranks in the order 0, 1, 2, ...
  // With `host_of`: one fold over the hosts in that order, each host's value being one fold over its ranks in theirs.
  bool rank_ordered = false;
  // Also: a step that sends what it stores, or else one block of a buffer, may send a reference to it. The receiver reads
  // when its step happens, and that must be before (through messages, not by luck) the owner stores to the same place.
  bool in_place_by_reference = false;
  // Also: what a step receives may be put where it stores it as soon as it has been sent, where EarlyOf says so: all that was there has
  // been read before that, through messages, not by luck.
  bool early = false;
  // By rank: its host, 0, 1, 2, ...; empty: all are on one. The same host throughout is as good as empty.
  std::span<const std::int32_t> host_of = {};
};

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_CHECK_OPTIONS_H_
