// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/plant_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/check.h"
#include "plan/text.h"

namespace tutti::plan {
namespace {

constexpr std::string_view kNames[kFaultKinds] = {"drop-send", "wrong-block", "double", "swap", "drop-receive"};

// A step that can be changed.
struct Draft {
  std::vector<Operand> operands;
  std::vector<std::int32_t> to;
  int out;
  int stage;
  Sending sending;
};

std::vector<Draft> Open(const RankPlan& plan) {
  std::vector<Draft> drafts;
  for (int i = 0; i < plan.step_count(); ++i) {
    const Step step = plan.step(i);
    drafts.push_back({{step.operands.begin(), step.operands.end()},
                      {step.to.begin(), step.to.end()},
                      step.out,
                      step.stage,
                      step.sending});
  }
  return drafts;
}

RankPlan Close(const RankPlan& plan, const std::vector<Draft>& drafts) {
  RankPlan changed(plan.collective, plan.rank, plan.ranks);
  changed.root = plan.root;
  changed.in_blocks = plan.in_blocks;
  changed.out_blocks = plan.out_blocks;
  changed.link_slots = plan.link_slots;
  changed.in_sizes = plan.in_sizes;
  changed.out_sizes = plan.out_sizes;
  for (const Draft& draft : drafts) changed.Add(draft.operands, draft.to, draft.out, draft.stage, draft.sending);
  return changed;
}

// Each of these changes step `index`, or returns false and leaves it alone.
bool DropSend(const RankPlan&, std::vector<Draft>& steps, int index) {
  if (steps[index].to.empty()) return false;
  steps[index].to.pop_back();
  return true;
}

// Where a step names several blocks, changing one would be noticed before anything runs; so rather not those.
bool WrongBlock(const RankPlan& plan, std::vector<Draft>& steps, int index) {
  Draft& step = steps[index];
  const auto named = std::ranges::count_if(step.operands, &Operand::local);
  if (named + (step.out != kNoBlock) != 1) return false;
  for (Operand& operand : step.operands) {
    if (operand.kind != Operand::Kind::kIn || plan.in_blocks < 2) continue;
    operand.index = (operand.index + 1) % plan.in_blocks;
    return true;
  }
  if (step.out == kNoBlock || plan.out_blocks < 2) return false;
  step.out = (step.out + 1) % plan.out_blocks;
  return true;
}

bool Double(const RankPlan& plan, std::vector<Draft>& steps, int index) {
  if (plan.collective == Collective::kBarrier) return false;
  std::vector<Operand>& operands = steps[index].operands;
  const auto own =
      std::find_if(operands.begin(), operands.end(), [](const Operand& o) { return o.kind == Operand::Kind::kIn; });
  if (own == operands.end()) return false;
  operands.push_back(Operand(*own));
  return true;
}

bool DropReceive(const RankPlan&, std::vector<Draft>& steps, int index) {
  Draft& step = steps[index];
  for (std::size_t i = step.operands.size(); i-- > 0;) {
    if (step.operands[i].local()) continue;
    if (step.operands.size() > 1) {
      step.operands.erase(step.operands.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    if (!step.to.empty()) return false;
    steps.erase(steps.begin() + index);
    return true;
  }
  return false;
}

bool SwapOperands(const RankPlan& plan, std::vector<Draft>& steps, int index) {
  std::vector<Operand>& operands = steps[index].operands;
  if (!Reduces(plan.collective) || operands.size() < 2) return false;
  std::swap(operands[0], operands[1]);
  return true;
}

bool SwapStores(const RankPlan& plan, std::vector<Draft>& steps, int index) {
  if (plan.collective == Collective::kBarrier || steps[index].out == kNoBlock) return false;
  for (int other = 0; other < index; ++other) {
    if (steps[other].out == kNoBlock || steps[other].out == steps[index].out) continue;
    std::swap(steps[other].out, steps[index].out);
    return true;
  }
  return false;
}

}  // namespace

std::string_view Name(FaultKind kind) { return kNames[static_cast<int>(kind)]; }

std::optional<FaultKind> ParseFaultKind(std::string_view name) {
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<FaultKind>(found - std::begin(kNames));
}

std::optional<std::string> PlantFault(FaultKind kind, std::span<RankPlan> plans) {
  const bool ordered = kind == FaultKind::kSwap && !plans.empty() && Reduces(plans[0].collective) &&
                       Check(plans, {.rank_ordered = true}).ok();
  bool (*const changes[kFaultKinds])(const RankPlan&, std::vector<Draft>&, int) = {
      DropSend, WrongBlock, Double, ordered ? SwapOperands : SwapStores, DropReceive};
  const auto change = changes[static_cast<int>(kind)];

  for (std::size_t i = 0; i < plans.size(); ++i) {
    RankPlan& plan = plans[(plans.size() / 2 + i) % plans.size()];
    std::vector<Draft> drafts = Open(plan);
    for (int k = 0; k < plan.step_count(); ++k) {
      const int index = (plan.step_count() / 2 + k) % plan.step_count();
      if (!change(plan, drafts, index)) continue;
      const std::string before = Print(plan.step(index));
      const bool left_out = std::ssize(drafts) < plan.step_count();
      plan = Close(plan, drafts);
      if (left_out) return fmt::format("rank {}, step {}: '{}' was left out", plan.rank, index, before);
      return fmt::format("rank {}, step {}: '{}' became '{}'", plan.rank, index, before, Print(plan.step(index)));
    }
  }
  return std::nullopt;
}

}  // namespace tutti::plan
