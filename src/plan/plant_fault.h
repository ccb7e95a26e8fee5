// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_PLANT_FAULT_H_
#define TUTTI_PLAN_PLANT_FAULT_H_

// Damages a plan on purpose, so that tests, and anyone with the command line, can see the checker report it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plan/plan.h"

namespace tutti::plan {

enum class FaultKind : std::uint8_t {
  kDropSend,    // a step no longer sends to one of its targets
  kWrongBlock,  // a step reads or stores a neighbouring block
  kDouble,      // a step folds its own contribution in once more
  kSwap,        // where folds are in rank order, one folds two operands the other way round; else two moves are
                // stored in each other's place
  kDropReceive,  // a step no longer takes one of its messages, or of the offers of its reducing read; one that did nothing else is
                 // left out
};
inline constexpr int kFaultKinds = 5;

// "drop-send", "wrong-block", "double", "swap", "drop-receive".
std::string_view Name(FaultKind kind);
std::optional<FaultKind> ParseFaultKind(std::string_view name);

// Damages one step of one rank, in the middle of the plan where there is a choice. Returns what it did: "rank
// 2, step 3: '<1 + in0 -> out0' became '<1 + in0 + in0 -> out0'"; nullopt where the plan has no place for
// such a fault. REQUIRES: a plan that Check accepts.
std::optional<std::string> PlantFault(FaultKind kind, std::span<RankPlan> plans);

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_PLANT_FAULT_H_
