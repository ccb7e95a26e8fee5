// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/failures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::exec::gpu {
namespace {

constexpr int kPeerBits = 16, kNumberBits = 16, kBlockBits = 16;

std::uint32_t Bit(int rank) { return std::uint32_t{1} << rank; }

bool TakesFrom(const Program& program, const ProgramStep& step, int peer) {
  for (int k = 0; k < step.operands; ++k) {
    const ProgramOperand& operand = program.operand(step.first_operand + k);
    if (operand.kind == ProgramOperand::kRecv && operand.peer == peer) return true;
  }
  return false;
}

bool SendsTo(const Program& program, const ProgramStep& step, int peer) {
  for (int k = 0; k < step.targets; ++k) {
    if (program.target(step.first_target + k).peer == peer) return true;
  }
  return false;
}

bool SendsInput(const Program& program, const ProgramStep& step) {
  return step.operands == 1 && program.operand(step.first_operand).kind == ProgramOperand::kIn;
}

bool PassesOn(const Program& program, const ProgramStep& step) {
  return step.targets > 0 && !SendsInput(program, step);
}

// The only step of those for which `is` holds; -1: there is none, or another one too.
template <typename Is>
int OnlyStep(const PreparedPlan& plan, const Is& is) {
  int found = -1;
  for (int s = 0; s < plan.program.steps; ++s) {
    if (!is(plan.program.step(s))) continue;
    if (found >= 0) return -1;
    found = s;
  }
  return found;
}

// Of a short form, in which a value that is passed on comes first: the step whose operand take `number` is.
int StepOfTake(const PreparedPlan& plan, int number, int peer) {
  const Program& p = plan.program;
  const int passed_on = OnlyStep(plan, [&](const ProgramStep& s) { return PassesOn(p, s); });
  if (passed_on >= 0 && number < p.step(passed_on).operands) return passed_on;
  return OnlyStep(plan, [&](const ProgramStep& s) { return !PassesOn(p, s) && TakesFrom(p, s, peer); });
}

// Of a relay: the step that a role plays with a peer.
int StepOfRole(const PreparedPlan& plan, std::uint8_t role, bool data, int peer) {
  const Program& p = plan.program;
  return OnlyStep(plan, [&](const ProgramStep& s) {
    const bool meets = data ? TakesFrom(p, s, peer) : SendsTo(p, s, peer);
    const bool receives = s.operands == 1 && s.targets == 0 && !SendsInput(p, s);
    const bool plays = role == RelayRole::kSend      ? SendsInput(p, s)
                       : role == RelayRole::kReceive ? receives
                                                     : !SendsInput(p, s) && !receives;
    return meets && plays;
  });
}

void ReadTeam(const Lowered& lowered, const Failure& failure, FailedWait& wait) {
  const bool relay = lowered.form == Form::kRelay;
  int matches = 0;
  for (int t = 0; t < lowered.teams_per_block; ++t) {
    const int team = t * lowered.blocks + failure.block;
    for (const Lowered::Teams& teams : lowered.teams) {
      if (team < teams.first_team || team >= teams.first_team + teams.channels) continue;
      if (((wait.for_data ? teams.sources : teams.targets) & Bit(failure.seat)) == 0) continue;
      const int channel = team - teams.first_team;
      const int step = relay ? StepOfRole(*lowered.plan, teams.part, wait.for_data, failure.seat) : -1;
      if (++matches == 1) {
        wait.channel = channel;
        wait.step = step;
        continue;
      }
      if (channel != wait.channel) wait.channel = -1;
      if (step != wait.step) wait.or_step = step;
    }
  }
  if (matches > 2) wait.step = wait.or_step = -1;
  for (int* step : {&wait.step, &wait.or_step}) {
    if (*step >= 0) *step = lowered.plan->plan_steps[static_cast<std::size_t>(*step)];
  }
  const auto transfer = static_cast<std::size_t>(failure.place);
  if (!relay && transfer < lowered.steps.size()) wait.step = lowered.steps[transfer];
}

int RankAt(const Lowered& lowered, int seat) {
  const auto at = static_cast<std::size_t>(seat);
  return at < lowered.rank_of.size() ? lowered.rank_of[at] : seat;
}

}  // namespace

Lowered LoweredOf(const PreparedPlan& plan, const Program& program) {
  return {.form = program.is_short == kSteps ? Form::kSteps : Form::kShort, .plan = &plan, .rank_of = plan.rank_of};
}

Lowered LoweredOf(const PreparedPlan& plan, const Relay& relay) {
  Lowered lowered{
      .form = Form::kRelay, .plan = &plan, .blocks = relay.blocks, .teams_per_block = relay.teams_per_block};
  for (int i = 0; i < relay.roles; ++i) {
    const RelayRole& role = relay.role[i];
    Lowered::Teams teams{.first_team = static_cast<std::uint16_t>(i * relay.slices),
                         .channels = relay.slices,
                         .part = static_cast<std::uint8_t>(role.kind)};
    for (int k = 0; k < role.sources; ++k) teams.sources |= Bit(role.source[k]);
    for (int k = 0; k < role.targets; ++k) teams.targets |= Bit(role.target[k]);
    lowered.teams.push_back(teams);
  }
  return lowered;
}

Lowered LoweredOf(const PreparedPlan& plan, const Group& group, std::vector<std::uint16_t> steps,
                  std::vector<int> rank_of) {
  Lowered lowered{.form = Form::kMoves,
                  .plan = &plan,
                  .blocks = group.blocks,
                  .teams_per_block = group.teams_per_block,
                  .steps = std::move(steps),
                  .rank_of = std::move(rank_of)};
  for (int i = 0; i < group.lanes; ++i) {
    const GroupLane& lane = group.lane[i];
    lowered.teams.push_back({.first_team = lane.first_team,
                             .channels = lane.channels,
                             .part = lane.kind,
                             .sources = lane.kind == GroupLane::kReceive ? Bit(lane.peer) : 0,
                             .targets = lane.kind == GroupLane::kSend ? Bit(lane.peer) : 0});
  }
  return lowered;
}

FailedWait ReadFailure(const Lowered& lowered, std::uint64_t word) {
  const Failure failure = UnpackFailure(word);
  FailedWait wait{.form = lowered.form,
                  .collective = lowered.plan->collective,
                  .for_data = failure.what == kWaitedForData,
                  .peer = RankAt(lowered, failure.seat),
                  .round = failure.round};
  if (lowered.form == Form::kRelay || lowered.form == Form::kMoves) {
    ReadTeam(lowered, failure, wait);
    return wait;
  }
  wait.channel = failure.block;
  if (!wait.for_data) return wait;  // a channel waits for room before the steps of a round
  const int step =
      lowered.form == Form::kSteps ? failure.place : StepOfTake(*lowered.plan, failure.place, failure.seat);
  if (step >= 0) wait.step = lowered.plan->plan_steps[static_cast<std::size_t>(step)];
  return wait;
}

std::string Describe(const FailedWait& wait) {
  constexpr std::string_view kForms[] = {"step by step", "in short form", "as a relay", "as sends and receives"};
  std::string text = !wait.form ? std::string("one of many")
                     : wait.collective == Collective::kSendRecv
                         ? std::string("a group of sends and receives")
                         : fmt::format("{} {}", Name(wait.collective), kForms[static_cast<std::size_t>(*wait.form)]);
  if (wait.step >= 0) {
    const std::string other = wait.or_step >= 0 ? fmt::format(" or {}", wait.or_step) : "";
    text += fmt::format(", at step {}{} of its plan", wait.step, other);
  }
  if (wait.round >= 0) text += fmt::format(", round {}", wait.round);
  if (wait.channel >= 0) text += fmt::format(", channel {}", wait.channel);
  const std::string peer = wait.peer >= 0 ? fmt::format("rank {}", wait.peer) : "another rank";
  return text + fmt::format(": waited for {} {}", wait.for_data ? "data from" : "room at", peer);
}

HostWords* Failures::WordsFor(const Lowered& lowered) {
  const std::lock_guard lock(mutex_);
  const auto end = slots_.begin() + std::min(used_, kSlots);
  const auto same = std::find_if(slots_.begin(), end, [&](const Slot& slot) { return slot.lowered == lowered; });
  if (same != end) return device_ + (same - slots_.begin());
  const int turn = used_++ % kSlots;
  if (used_ == 2 * kSlots) used_ = kSlots;  // so that it stays small
  Slot& slot = slots_[static_cast<std::size_t>(turn)];
  if (slot.lowered) {
    slot.shared = true;
    slot.one_seating &= slot.lowered->rank_of == lowered.rank_of;
  }
  slot.lowered = lowered;
  return device_ + turn;
}

void Failures::Forget(const PreparedPlan& plan) {
  const std::lock_guard lock(mutex_);
  for (Slot& slot : slots_) {
    if (!slot.lowered || slot.lowered->plan != &plan) continue;
    slot.shared = true;
    slot.lowered->plan = nullptr;
  }
}

void Failures::EndKernels() {
  for (int i = 0; host_ != nullptr && i < kSlots; ++i) static_cast<volatile HostWords&>(host_[i]).abort = 1;
}

bool Failures::ending() const {
  return host_ != nullptr && static_cast<const volatile HostWords&>(host_[0]).abort != 0;
}

std::optional<FailedWait> Failures::Find() {
  for (int i = 0; host_ != nullptr && i < kSlots; ++i) {
    const std::uint64_t failure = static_cast<const volatile HostWords&>(host_[i]).failure;
    if (failure == 0) continue;
    const std::lock_guard lock(mutex_);
    const Slot& slot = slots_[static_cast<std::size_t>(i)];
    if (!slot.lowered) continue;
    if (!slot.shared) return ReadFailure(*slot.lowered, failure);
    const Failure open = UnpackFailure(failure);
    return FailedWait{.for_data = open.what == kWaitedForData,
                      .peer = slot.one_seating ? RankAt(*slot.lowered, open.seat) : -1};
  }
  return std::nullopt;
}

}  // namespace tutti::exec::gpu
