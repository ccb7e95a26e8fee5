// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

namespace tutti::plan {

void RankPlan::Deepen(int times) {
  for (Packed& step : steps_) step.stage *= times;
  link_slots *= times;
}

void RankPlan::Add(std::span<const Operand> operands, std::span<const std::int32_t> to, int out, int stage,
                   Sending sending) {
  if (sending == Sending::kMulticastBack && out == kNoBlock) sending = Sending::kMulticast;
  if (to.empty() && sending != Sending::kMulticastBack) sending = Sending::kEach;
  steps_.push_back({.first_operand = static_cast<std::uint32_t>(operands_.size()),
                    .operand_count = static_cast<std::uint32_t>(operands.size()),
                    .first_target = static_cast<std::uint32_t>(targets_.size()),
                    .target_count = static_cast<std::uint32_t>(to.size()),
                    .out = out,
                    .stage = stage,
                    .sending = sending});
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  targets_.insert(targets_.end(), to.begin(), to.end());
}

}  // namespace tutti::plan
