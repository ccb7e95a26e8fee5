// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_FOOTPRINT_H_
#define TUTTI_PLAN_FOOTPRINT_H_

#include <span>

#include "plan/plan.h"

namespace tutti::plan {

// What a plan needs of the memory of links and senders, over all its ranks. The length of a chunk follows from it, and
// both ends of every link must cut alike; so all ranks must work with the same footprint.
struct Footprint {
  Collective collective = Collective::kAllReduce;
  int link_slots = 1;  // RankPlan::link_slots
  // Sends of one rank that may be in flight at once: enough for every link to hold its link_slots and one more that
  // is being read, or for two whole rounds, whichever is less; and one to fill meanwhile.
  int window = 1;
  // Some rank sends values that it keeps nowhere in its own buffers: partial sums, or what it only passes on.
  bool forwards = false;
  int blocks_per_piece = 1;  // most of any buffer of any rank
  int depth = 1;             // how often the plans were deepened (RankPlan::Deepen)

  bool operator==(const Footprint&) const = default;
};

// Plans of several ranks of one collective; one of each kind of rank is enough. Of several hosts who passes values on, and how
// many, depends on the root, too: take the plans of every root that may come. REQUIRES: not empty.
Footprint MeasureFootprint(std::span<const RankPlan> plans);

// Of the same plans after RankPlan::Deepen.
Footprint Deepen(const Footprint& footprint, int times);

// Makes `footprint` one that does for either. REQUIRES: both are of one collective, and as deep.
void TakeMost(const Footprint& other, Footprint& footprint);

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_FOOTPRINT_H_
