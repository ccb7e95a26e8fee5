// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/soak_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tests/diag/dice.h"

namespace tutti::tests {
namespace {

// Waits that add up to less than this are no reason for a WARN, which comes after 10 s.
constexpr int kMostWaitMs = 6500;
constexpr double kMostJitter = 1.05;
constexpr int kPauseEveryMs = 16'000;
constexpr std::size_t kUsualFloats = 30'000, kMostFloats = 300'000;

SoakCall AnyCall(int ranks, std::size_t most, Dice& dice) {
  constexpr Collective kKinds[] = {Collective::kAllReduce,     Collective::kAllReduce, Collective::kAllGather,
                                   Collective::kReduceScatter, Collective::kBroadcast, Collective::kBarrier};
  constexpr std::size_t kCounts[] = {1, 100, 4096, 30'000, 300'000};
  return {.kind = kKinds[dice.Any(6)], .count = std::min(kCounts[dice.Any(5)], most), .root = dice.Any(ranks)};
}

// A pause, at a step that others would wait for so long anyway.
void AddPause(SoakStep& step, int waits_ms, Dice& dice) {
  step.pause = static_cast<Pause>(1 + dice.Any(kPauses - 1));
  switch (step.pause) {
    case Pause::kSleep:
      step.pause_ms = std::max(0, dice.Between(500, kMostWaitMs) - waits_ms);
      break;
    case Pause::kSlowStore:
    case Pause::kSaving:
    case Pause::kCompile:
      step.pause_ms = dice.Between(2000, 30'000);
      break;
    case Pause::kFork:
      step.pause_ms = dice.Between(0, 3000);
      break;
    case Pause::kStop:
      step.pause_ms = dice.Between(50, 850);
      break;
    case Pause::kBurn:
      step.pause_ms = dice.Between(50, 300);
      break;
    case Pause::kEverybody:
      step.pause_ms = dice.Between(1000, 20'000);
      break;
    default:
      break;
  }
}

}  // namespace

const char* Name(Pause pause) {
  constexpr const char* kNames[kPauses] = {"none",    "sleep", "checkpoint", "slow store", "saving",
                                           "compile", "fork",  "stop",       "burn",       "everybody"};
  return kNames[static_cast<int>(pause)];
}

SoakPlan SoakPlan::Of(std::uint64_t seed, Means means) {
  Dice dice(seed);
  SoakPlan plan;
  const int hosts = dice.Between(1, kMostHosts);
  const int ranks = std::max(hosts, 2) + dice.Any(3);
  plan.host_of = Spread(ranks, hosts, dice);
  plan.name_spaces = dice.OneIn(3) && means.name_spaces;
  constexpr const char* kAlgorithms[] = {"", "", "ring", "tree"};
  constexpr const char* kProtocols[] = {"", "", "LL", "Simple"};
  plan.algo = kAlgorithms[dice.Any(4)];
  plan.proto = kProtocols[dice.Any(4)];
  constexpr int kMostLoad[] = {100, 100, 103, 110, 150, 250};  // per cent
  const int load = kMostLoad[dice.Any(6)];
  const bool late = dice.OneIn(3);
  for (int r = 0; r < ranks; ++r) {
    plan.load.push_back(dice.Between(100, load) * 0.01);
    plan.join_ms.push_back(late ? dice.Any(3500) : 0);
    plan.leave_ms.push_back(dice.Any(3000));
  }
  constexpr int kRhythms[] = {50, 200, 600, 1500, 2300};
  const int rhythm_ms = kRhythms[dice.Any(5)];
  const int most_work_ms = static_cast<int>(rhythm_ms * kMostJitter * load * 0.01);
  if (dice.OneIn(6)) plan.stage_ms = dice.Between(0, (kMostWaitMs - most_work_ms) / ranks);
  const double most_seconds = dice.Between(30, 150);
  std::vector<SoakCall> usual;  // of each step
  for (int i = dice.Between(1, 6); i > 0; --i) usual.push_back(AnyCall(ranks, kUsualFloats, dice));
  for (int slow = 0; plan.seconds < most_seconds;) {
    SoakStep step{.work_ms = dice.Between(rhythm_ms / 2, rhythm_ms), .victim = dice.Any(ranks)};
    const int waits_ms = most_work_ms + std::max(0, plan.stage_ms) * ranks;
    step.calls = usual;
    if (dice.OneIn(8)) step.calls = {AnyCall(ranks, kMostFloats, dice), AnyCall(ranks, kMostFloats, dice)};
    if (plan.steps.size() % kStepsApart == 0) step.calls.push_back({.kind = Collective::kBarrier});
    if (dice.Any(kPauseEveryMs) < rhythm_ms) AddPause(step, waits_ms, dice);
    if (slow == 0 && dice.OneIn(50)) slow = dice.Between(5, 20);
    if (slow > 0) --slow, step.slow_ms = dice.Between(5, 200);
    plan.seconds += 1e-3 * (step.work_ms * 0.01 * load + std::max(0, plan.stage_ms) * ranks + step.pause_ms +
                            step.slow_ms * static_cast<double>(step.calls.size()));
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

int SoakPlan::hosts() const { return 1 + *std::ranges::max_element(host_of); }

int SoakPlan::WorkMs(int step, int rank) const {
  Dice dice(static_cast<std::uint64_t>(step) * 131 + static_cast<std::uint64_t>(rank) + 1);
  return static_cast<int>(steps[static_cast<std::size_t>(step)].work_ms * load[static_cast<std::size_t>(rank)] *
                          dice.Between(98, static_cast<int>(100 * kMostJitter)) * 0.01);
}

std::string SoakPlan::Describe() const {
  return fmt::format("ranks on hosts {} ({}), {} {}, {} steps of {} ms in {:.0f} s{}", fmt::join(host_of, " "),
                     name_spaces ? "name spaces" : "host ids", algo.empty() ? "any" : algo,
                     proto.empty() ? "any" : proto, steps.size(), steps.front().work_ms, seconds,
                     stage_ms < 0 ? "" : fmt::format(", stages of {} ms", stage_ms));
}

}  // namespace tutti::tests
