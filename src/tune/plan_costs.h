// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLAN_COSTS_H_
#define TUTTI_TUNE_PLAN_COSTS_H_

#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "algo/algorithm.h"
#include "tune/model.h"

namespace tutti::tune {

// What the plans of all algorithms cost among certain ranks. Each figure takes building every rank's plan, so it is found out
// once, when it is first asked for, and ranks of one process share it.
//
// Threads: any. While one finds out a figure, others that ask for the same one wait for it.
class PlanCosts {
 public:
  explicit PlanCosts(algo::Hosts hosts) : hosts_(std::move(hosts)) {}

  const algo::Hosts& hosts() const { return hosts_; }
  // As Chooser::CostOf. REQUIRES: the algorithm supports the collective.
  const PlanCost& Of(algo::Algorithm algorithm, Collective collective);
  // Whether Of has found that out. REQUIRES: nobody asks Of meanwhile.
  bool Knows(algo::Algorithm algorithm, Collective collective) const {
    return slots_[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(collective)].cost != nullptr;
  }
  // Messages that rank 0 sends or receives, where it is the root if there is one: no more than Of says of the rank that has most,
  // where RootsAreAlike. Takes building one plan. REQUIRES: as above.
  int EndsOfRankZero(algo::Algorithm algorithm, Collective collective);

 private:
  struct Slot {
    std::once_flag once;
    std::unique_ptr<const PlanCost> cost;
    std::once_flag counted;
    int ends = 0;
  };

  const algo::Hosts hosts_;
  std::array<std::array<Slot, kCollectives>, algo::kAlgorithms> slots_;
};

// Whether root 0 speaks for all roots (Chooser::CostOf).
bool RootsAreAlike(Collective collective, const algo::Hosts& hosts);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_PLAN_COSTS_H_
