// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/lowered.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "exec/gpu/lower/copies.h"

namespace tutti::exec::gpu {
namespace {

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
  const bool relay = lowered.form == Form::kRelay, data = wait.awaited == Awaited::kData;
  std::vector<int> channels, steps;  // of the teams of that block which may have waited so
  const auto add = [](std::vector<int>& list, int value) {
    if (std::ranges::find(list, value) == list.end()) list.push_back(value);
  };
  for (int t = 0; t < lowered.teams_per_block; ++t) {
    const int team = t * lowered.blocks + failure.block;
    for (const Lowered::Teams& teams : lowered.teams) {
      if (team < teams.first_team || team >= teams.first_team + teams.channels) continue;
      if (((data ? teams.sources : teams.targets) & Bit(failure.seat)) == 0) continue;
      add(channels, team - teams.first_team);
      if (relay) add(steps, StepOfRole(*lowered.plan, teams.part, data, failure.seat));
    }
  }
  if (channels.size() == 1) wait.channel = channels[0];
  const auto plan_step = [&](int step) {
    return step < 0 ? -1 : lowered.plan->plan_steps[static_cast<std::size_t>(step)];
  };
  if (steps.size() == 1 || steps.size() == 2) wait.step = plan_step(steps[0]);
  if (steps.size() == 2) wait.or_step = plan_step(steps[1]);
  const auto transfer = static_cast<std::size_t>(failure.place);
  if (!relay && transfer < lowered.steps.size()) wait.step = lowered.steps[transfer];
}

Awaited AwaitedOf(const Failure& failure) { return failure.what == kWaitedForData ? Awaited::kData : Awaited::kRoom; }

Awaited AwaitedOf(const PreparedPlan& plan, const CopyWait& wait) {
  if (wait.peer == plan.rank) return Awaited::kOwnCopies;
  return wait.stage == transport::p2p::kLeaving ? Awaited::kData : Awaited::kRoom;
}

int RankAt(const Lowered& lowered, int seat) {
  const auto at = static_cast<std::size_t>(seat);
  return at < lowered.rank_of.size() ? lowered.rank_of[at] : seat;
}

}  // namespace

Lowered LoweredOf(const PreparedPlan& plan, const Program& program) {
  return {.form = program.is_short == kSteps ? Form::kSteps : Form::kShort, .plan = &plan, .rank_of = plan.rank_of};
}

Lowered LoweredOfBatch(const PreparedPlan& plan) {
  return {.form = Form::kSteps, .plan = &plan, .rank_of = plan.rank_of};
}

Lowered LoweredOfCopies(const PreparedPlan& plan) { return {.form = Form::kCopies, .plan = &plan}; }

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
                  .awaited = AwaitedOf(failure),
                  .peer = RankAt(lowered, failure.seat),
                  .round = failure.round};
  if (lowered.form == Form::kRelay || lowered.form == Form::kMoves) {
    ReadTeam(lowered, failure, wait);
    return wait;
  }
  wait.channel = failure.block;
  if (wait.awaited == Awaited::kRoom) return wait;  // a channel waits for room before the steps of a round
  const int step =
      lowered.form == Form::kSteps ? failure.place : StepOfTake(*lowered.plan, failure.place, failure.seat);
  if (step >= 0) wait.step = lowered.plan->plan_steps[static_cast<std::size_t>(step)];
  return wait;
}

FailedWait ReadShared(std::uint64_t word, const Lowered* any) {
  const Failure failure = UnpackFailure(word);
  return {.awaited = AwaitedOf(failure), .peer = any != nullptr ? RankAt(*any, failure.seat) : -1};
}

// Pieces go whole, so there is one round.
FailedWait ReadFailure(const Lowered& lowered, const CopyWait& wait) {
  FailedWait failed{.form = lowered.form,
                    .collective = lowered.plan->collective,
                    .awaited = AwaitedOf(*lowered.plan, wait),
                    .peer = wait.peer,
                    .round = 0};
  const plan::Moves& moves = lowered.plan->moves;
  const auto find = [&](const auto& list) {
    const auto found = std::ranges::find_if(list, [&](const auto& move) { return move.peer == wait.peer; });
    return found == list.end() ? -1 : found->step;
  };
  if (failed.awaited == Awaited::kData) failed.step = find(moves.receives);
  if (failed.awaited == Awaited::kRoom) failed.step = find(moves.sends);
  return failed;
}

std::string Describe(const FailedWait& wait) {
  constexpr std::string_view kForms[] = {"step by step", "in short form", "as a relay", "as sends and receives",
                                         "by copy engines"};
  std::string text = wait.awaited == Awaited::kSignals ? std::string("one-sided")
                     : !wait.form                      ? std::string("one of many")
                     : wait.collective == Collective::kSendRecv
                         ? std::string("a group of sends and receives")
                         : fmt::format("{} {}", Name(wait.collective), kForms[static_cast<std::size_t>(*wait.form)]);
  if (wait.step >= 0) {
    const std::string other = wait.or_step >= 0 ? fmt::format(" or {}", wait.or_step) : "";
    text += fmt::format(", at step {}{} of its plan", wait.step, other);
  }
  if (wait.round >= 0) text += fmt::format(", round {}", wait.round);
  if (wait.channel >= 0) text += fmt::format(", channel {}", wait.channel);
  const bool copies = wait.form == Form::kCopies;
  const std::string_view what = wait.awaited == Awaited::kData      ? "data from"
                                : wait.awaited == Awaited::kSignals ? "signals of"
                                : copies                            ? "the window of"
                                                                    : "room at";
  const std::string peer = wait.peer >= 0 ? fmt::format("rank {}", wait.peer) : "another rank";
  return text + (wait.awaited == Awaited::kOwnCopies ? ": waited for copies to itself"
                                                     : fmt::format(": waited for {} {}", what, peer));
}

}  // namespace tutti::exec::gpu
