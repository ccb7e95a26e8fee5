// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_COST_H_
#define TUTTI_PLAN_COST_H_

// What a plan costs, counted from the plan itself: what the tuner's model, the tools and docs/algorithms.md
// use.

#include <span>

#include "plan/plan.h"

namespace tutti::plan {

// For one round. Amounts of data are in units of the collective's `count` (bytes / S, where S = count *
// sizeof an element), all blocks taken as equal; in elements for a grouped send and receive. "max": of the
// rank that has most. What goes through a switch is counted on the rank's own link: a multicast once for its sender and once for
// each receiver, itself too where it comes back; a reducing read once for each rank that offers and once for the reader. What a
// switch folds no rank does.
struct Cost {
  int hops = 0;             // messages one after the other on the longest chain of steps that wait for each other
  int stages = 1;           // highest stage + 1: how many rounds a software pipeline of this plan overlaps
  int steps_max = 0;        // of one rank
  double sent_max = 0;      // data sent, once for every target, or once for all where a switch copies
  double posted_max = 0;    // data sent, a step with several targets once: what a shared buffer would carry
  double received_max = 0;  // data received
  double moved_max = 0;     // data sent, with several targets once, and received: at most posted_max + received_max
  // Of all ranks together / ranks.
  double posted_mean = 0, received_mean = 0, folded_mean = 0;
  double folded_max = 0;  // operands of folds (steps of two operands or more)
  double stored_max = 0;  // data stored to the output
  int peers_max = 0;      // ranks that a rank exchanges messages with
  int messages_max = 0;   // messages that a rank sends
  int ends_max = 0;       // messages that a rank sends or receives
  bool one_way = false;   // no rank gets anything that depends on what it has sent: it may be operations ahead

  bool operator==(const Cost&) const = default;
};

// REQUIRES: Check(plans) is ok, or would be; a plan that waits for ever has as many hops as can be run.
Cost Evaluate(std::span<const RankPlan> plans);

// Makes each figure of `cost` the larger of both.
void TakeMost(const Cost& other, Cost& cost);

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_COST_H_
