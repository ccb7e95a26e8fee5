// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Sends and receives.
#include <string>
#include <utility>

#include "comm/host/jobs.h"
#include "comm/host/planner.h"
#include "comm/host/size_class.h"
#include "exec/cpu/prepared_plan.h"
#include "tune/chooser.h"

namespace tutti::comm {

using exec::cpu::PreparedPlan;

const PreparedPlan* Planner::FindTransferPlan(std::span<const Operation> operations) {
  ends_.clear();
  for (const Operation& operation : operations) ends_.push_back(EndOf(operation));
  if (const PreparedPlan* known = groups_.Find(ends_)) return known;
  std::string name = operations.size() == 1 ? std::string(Name(operations[0].kind)) : "a group of sends and receives";
  auto plan = Prepare(BuildGroup(ends_, rank_, ranks_), std::move(name));
  return groups_.Keep(ends_, std::move(plan), [&](const PreparedPlan& old) { return !jobs_.Hold(&old); });
}

exec::cpu::Lane Planner::FindLane(std::size_t bytes) {
  const int size_class = SizeClass(bytes);
  std::optional<exec::cpu::Lane>& lane = lanes_[size_class];
  if (!lane) [[unlikely]] {
    const tune::Choice choice = chooser_->ChooseTransfer(SmallestOfClass(size_class));
    lane = exec::cpu::Lane{choice.protocol, choice.by_reference};
  }
  return *lane;
}

}  // namespace tutti::comm
