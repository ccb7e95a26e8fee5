// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/shared_programs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "plan/plan.h"
#include "sim/message_rounds.h"
#include "sim/plans.h"
#include "sim/program_writer.h"

namespace tutti::sim {

using plan::Operand;
using plan::RankPlan;

namespace {

// Which hop each step of a period belongs to, as plan::MakeTimeline counts them, and each message of its wires.
class Hops {
 public:
  explicit Hops(Period& period) : of_step_(static_cast<std::size_t>(period.size())) {
    std::vector<Reader> readers(static_cast<std::size_t>(period.size()));
    for (bool moves = true; moves;) {
      moves = false;
      complete_ = true;
      for (int place = 0; place < period.size(); ++place) {
        while (RunStep(period, place, readers[static_cast<std::size_t>(place)])) moves = true;
        complete_ =
            complete_ && std::ssize(of_step_[static_cast<std::size_t>(place)]) == period.plan(place).step_count();
      }
    }
  }

  bool complete() const { return complete_; }  // no step waits for ever
  int of_step(int place, int step) const {
    return of_step_[static_cast<std::size_t>(place)][static_cast<std::size_t>(step)];
  }
  // How many messages a wire's first `messages` ones become, where those of a hop are one.
  std::uint32_t Merged(std::uint32_t wire, std::uint32_t messages) const { return merged_[wire][messages - 1]; }

 private:
  struct Reader {
    int hop = 0;
    std::size_t operand = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> taken;  // by wire
  };
  void Grow(std::uint32_t wire) {
    if (wire < hop_of_.size()) return;
    hop_of_.resize(wire + 1);
    merged_.resize(wire + 1);
  }
  bool RunStep(Period& period, int place, Reader& reader) {
    std::vector<int>& done = of_step_[static_cast<std::size_t>(place)];
    const RankPlan& plan = period.plan(place);
    if (std::ssize(done) == plan.step_count()) return false;
    const plan::Step step = plan.step(static_cast<int>(done.size()));
    for (; reader.operand < step.operands.size(); ++reader.operand) {
      const Operand& operand = step.operands[reader.operand];
      if (operand.local()) continue;
      const std::uint32_t wire = period.WireFrom(place, operand.index).place;
      Grow(wire);
      std::uint32_t& taken = reader.taken[wire];
      if (taken == hop_of_[wire].size()) return false;
      reader.hop = std::max(reader.hop, hop_of_[wire][taken++] + 1);
    }
    for (const std::int32_t to : step.to) {
      const std::uint32_t wire = period.WireTo(place, to);
      Grow(wire);
      std::vector<std::uint32_t>& merged = merged_[wire];
      const bool fresh = merged.empty() || hop_of_[wire].back() != reader.hop;
      merged.push_back((merged.empty() ? 0 : merged.back()) + (fresh ? 1 : 0));
      hop_of_[wire].push_back(reader.hop);
    }
    done.push_back(reader.hop);
    reader.operand = 0;
    return true;
  }

  std::vector<std::vector<int>> of_step_;  // by place in the period
  std::vector<std::vector<int>> hop_of_;   // by wire and message
  std::vector<std::vector<std::uint32_t>> merged_;
  bool complete_ = false;
};

void CompileAsIs(Period& period, const Cut& cut, SharedPrograms& shared) {
  for (int place = 0; place < period.size(); ++place) {
    shared.programs.push_back(WriteSteps(
        period.plan(place), cut, [&](int from) { return period.WireFrom(place, from); },
        [&](int to) { return Program::Wire{.place = period.WireTo(place, to)}; }, [](Writer&, int) {}));
  }
}

// Steps of one hop become one. It waits for all that any of them wants and has not had, and sends one message over each wire.
Program CompileMerged(Period& period, int place, const Hops& hops, const Cut& cut) {
  const RankPlan& plan = period.plan(place);
  const Sizes sizes(plan, cut);
  Writer writer(plan, cut);
  std::unordered_map<std::uint32_t, std::array<std::uint32_t, 2>> had;  // by wire: messages of the plan, merged ones
  for (int i = 0; i < plan.step_count();) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sends;  // wires and blocks
    const std::uint64_t block = sizes.Of(plan.step(i));
    writer.Begin();
    for (const int hop = hops.of_step(place, i); i < plan.step_count() && hops.of_step(place, i) == hop; ++i) {
      const plan::Step step = plan.step(i);
      for (const Operand& operand : step.operands) {
        if (operand.local()) continue;
        const Program::Wire wire = period.WireFrom(place, operand.index);
        auto& [messages, merged] = had[wire.place];
        if (hops.Merged(wire.place, ++messages) == merged) continue;
        ++merged;
        writer.Receive(writer.WireAt(wire));
      }
      for (const std::int32_t to : step.to) {
        const std::uint32_t wire = writer.WireAt({.place = period.WireTo(place, to)});
        const auto known = std::ranges::find(sends, wire, &std::pair<std::uint32_t, std::uint32_t>::first);
        known == sends.end() ? sends.emplace_back(wire, 1) : (++known->second, *known);
      }
      writer.AddWork(WorkOf(step));
    }
    for (const auto& [wire, blocks] : sends) writer.Send(wire, blocks);
    writer.End(block, 0);
  }
  Program program = writer.Finish();
  program.link_slots = plan.step_count() + 1;
  return program;
}

// Each round is a step.
Program CompileRounds(Period& period, int place, const MessageRounds& rounds, const Cut& cut) {
  const RankPlan& plan = period.plan(place);
  const Sizes sizes(plan, cut);
  Writer writer(plan, cut);
  for (const MessageRounds::Round& round : rounds.RoundsOf(place)) {
    if (round.steps.empty() && round.sent.empty() && round.received.empty()) continue;
    writer.Begin();
    for (const Program::Wire& wire : round.received) writer.Receive(writer.WireAt(wire));
    for (const MessageRounds::Message& message : round.sent)
      writer.Send(writer.WireAt({.place = message.wire}), message.blocks);
    for (const int step : round.steps) writer.AddWork(WorkOf(plan.step(step)));
    writer.End(sizes.Of(plan.step(round.steps.empty() ? 0 : round.steps.front())), 0);
  }
  Program program = writer.Finish();
  program.link_slots = plan.step_count() + 1;
  return program;
}

bool AllHaveOneStage(const Period& period) {
  for (int place = 0; place < period.size(); ++place) {
    if (!HasOneStage(period.plan(place))) return false;
  }
  return true;
}

}  // namespace

SharedPrograms CompileShared(const PlanSource& plans, int ranks, int channel, const Cut& cut, Merge merge) {
  Period period(plans, ranks, channel);
  SharedPrograms shared{.period = period.size(), .turns = period.turns()};
  const bool merges = merge == Merge::kTogether && AllHaveOneStage(period);
  std::optional<MessageRounds> rounds;
  if (merges) rounds.emplace(period);
  std::optional<Hops> hops;
  if (merges && !rounds->exist()) hops.emplace(period);
  if (rounds && rounds->exist()) {
    for (int place = 0; place < period.size(); ++place) {
      shared.programs.push_back(CompileRounds(period, place, *rounds, cut));
    }
  } else if (hops && hops->complete()) {
    for (int place = 0; place < period.size(); ++place) {
      shared.programs.push_back(CompileMerged(period, place, *hops, cut));
    }
  } else {
    CompileAsIs(period, cut, shared);
  }
  shared.wires = period.wires();
  return shared;
}

}  // namespace tutti::sim
