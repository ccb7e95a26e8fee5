// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/run.h"

#include <algorithm>
#include <utility>

#include "plan/plan.h"
#include "sim/compile.h"
#include "sim/plans.h"
#include "sim/shared_programs.h"
#include "sim/switch_groups.h"

namespace tutti::sim {
namespace {

// Of more ranks, blocks that differ by less than an element's worth are taken as equal, so that one program serves all.
constexpr int kManyRanks = 4096;

}  // namespace

Run::Run(const PlanSource& plans, const std::vector<int>& ranks, const Shape& shape)
    : plans_(plans), ranks_(ranks), shape_(shape), shared_(static_cast<std::size_t>(shape.channels)) {
  lanes_.resize(static_cast<std::size_t>(shape.ranks) * static_cast<std::size_t>(shape.channels));
  for (int channel = 0; channel < shape.channels; ++channel) {
    for (int position = 0; position < shape.ranks; ++position) {
      Lane& lane = lanes_[static_cast<std::size_t>(channel) * static_cast<std::size_t>(shape.ranks) +
                          static_cast<std::size_t>(position)];
      lane.member = plans.RankAt(position, channel);
      lane.rank = ranks[static_cast<std::size_t>(lane.member)];
    }
    if (UsesShared(channel)) AddShared(channel);
    if (plans.UsesSwitches()) AddSwitchGroups(channel);
  }
}

Run::~Run() = default;

void Run::AddSwitchGroups(int channel) {
  std::vector<plan::RankPlan> all;
  for (int position = 0; position < shape_.ranks; ++position) all.push_back(plans_.Build(position, channel));
  switch_groups_.push_back(std::make_shared<SwitchGroups>(all));
}

const SwitchGroups& Run::switch_groups(int channel) const { return *switch_groups_[static_cast<std::size_t>(channel)]; }

std::uint32_t Run::LaneOf(int rank, int channel) const {
  return static_cast<std::uint32_t>(channel * shape_.ranks + plans_.PositionOf(rank, channel));
}

std::pair<int, int> Run::PortsOf(const Wire& wire) const {
  const auto position = [&](std::uint32_t lane) { return static_cast<int>(lane) % shape_.ranks; };
  const Ports ports = plans_.PortsOf(position(wire.from), position(wire.to), channel_of(wire.from));
  return {ports.out, ports.in};
}

Cut Run::CutOf(int channel) const {
  const plan::BlockCut parts = plan::BlockCut::Equal(shape_.bytes, shape_.channels, shape_.granule_bytes);
  return {.bytes = parts.Size(channel), .granule = shape_.granule_bytes, .chunk_bytes = shape_.chunk_bytes};
}

// Where blocks are equal, or nearly so among many ranks. A plan of the period says into how many a piece is cut.
bool Run::UsesShared(int channel) const {
  if (plans_.Period(channel) == 0) return false;
  if (shape_.merge == Merge::kTogether || shape_.ranks >= kManyRanks) return true;
  const plan::RankPlan plan = plans_.Build(0, channel);
  const int blocks = std::max(plan.in_blocks / plan::InPieces(plan.collective, plan.ranks),
                              plan.out_blocks / plan::OutPieces(plan.collective, plan.ranks));
  const plan::BlockCut cut = plan::BlockCut::Equal(CutOf(channel).bytes, blocks, shape_.granule_bytes);
  return blocks <= 1 || cut.block * static_cast<std::size_t>(blocks) == cut.count;
}

void Run::AddShared(int channel) {
  Cut cut = CutOf(channel);
  cut.equal_blocks = true;
  SharedPrograms shared = CompileShared(plans_, shape_.ranks, channel, cut, shape_.merge);
  const auto base = static_cast<std::uint32_t>(wires_.size());
  const auto first_lane = static_cast<std::uint32_t>(channel * shape_.ranks);
  const auto turns = static_cast<std::uint32_t>(shared.turns), period = static_cast<std::uint32_t>(shared.period);
  wires_.resize(base + shared.wires.size() * turns);
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    Wire* wire = wires_.data() + base + turn * shared.wires.size();
    for (const Period::Ends& ends : shared.wires) {
      *wire++ = {.from = first_lane + turn * period + ends.from,
                 .to = first_lane + (turn + ends.turns) % turns * period + ends.to};
    }
  }
  for (Program& program : shared.programs) {
    for (Program::Wire& wire : program.wires) wire.place += base;
    program.turns = turns;
    program.wires_per_turn = static_cast<std::uint32_t>(shared.wires.size());
  }
  shared_[static_cast<std::size_t>(channel)] = std::make_unique<SharedPrograms>(std::move(shared));
}

std::uint32_t Run::WireBetween(std::uint32_t from, std::uint32_t to) {
  const auto [known, fresh] =
      wire_between_.try_emplace(static_cast<std::uint64_t>(from) << 32 | to, static_cast<std::uint32_t>(wires_.size()));
  if (fresh) wires_.push_back({.from = from, .to = to});
  return known->second;
}

void Run::Begin(int rank) {
  for (int channel = 0; channel < shape_.channels; ++channel) {
    const std::uint32_t index = LaneOf(rank, channel);
    Lane& lane = lanes_[index];
    const auto position = static_cast<std::uint32_t>(plans_.PositionOf(rank, channel));
    if (const auto& shared = shared_[static_cast<std::size_t>(channel)]) {
      const auto period = static_cast<std::uint32_t>(shared->period);
      lane.program = &shared->programs[position % period];
      lane.turn = position / period;
    } else {
      const auto first = static_cast<std::uint32_t>(channel * shape_.ranks);
      const auto wire_of = [&](int from, int to) {
        return WireBetween(first + static_cast<std::uint32_t>(from), first + static_cast<std::uint32_t>(to));
      };
      const plan::RankPlan plan = plans_.Build(static_cast<int>(position), channel);
      const SwitchGroups* const groups = switch_groups_.empty() ? nullptr : &switch_groups(channel);
      auto program = std::make_unique<Program>(Compile(plan, CutOf(channel), wire_of, groups));
      lane.program = program.get();
      own_.emplace(index, std::move(program));
    }
    lane.state = Lane::State::kRuns;
    lane.step = -1;
  }
}

std::uint64_t Run::BytesOf(std::uint64_t block, int round) const {
  if (shape_.chunk_bytes == 0) return round == 0 ? block : 0;
  const std::uint64_t before = shape_.chunk_bytes * static_cast<std::uint64_t>(round);
  return block > before ? std::min(shape_.chunk_bytes, block - before) : 0;
}

bool Run::Advance(Lane& lane) {
  const Program& program = *lane.program;
  lane.ready = 0;
  while (lane.slot < program.rounds + program.last_stage) {
    if (++lane.step == static_cast<int>(program.steps.size())) {
      lane.step = -1;
      ++lane.slot;
      continue;
    }
    const Program::Step& step = StepOf(lane);
    lane.round = lane.slot - step.stage;
    if (lane.round < 0 || lane.round >= program.rounds) continue;
    lane.bytes = BytesOf(program.blocks[step.block], lane.round);
    if (lane.bytes > 0) return true;
  }
  lane.state = Lane::State::kEnded;
  own_.erase(static_cast<std::uint32_t>(&lane - lanes_.data()));
  return false;
}

bool Run::IsReady(Lane& lane) {
  const Program::Step& step = StepOf(lane);
  const Program::End* const ends = lane.program->ends.data() + step.first_end;
  for (; lane.ready < step.receives; ++lane.ready) {
    const std::uint32_t index = WireOf(lane, ends[lane.ready]);
    const Wire& wire = wires_[index];
    if (wire.arrived - wire.freed >= ends[lane.ready].count) continue;
    lane.state = Lane::State::kWaitsForMessage;
    lane.waits_for = index;
    return false;
  }
  const auto slots = static_cast<std::uint32_t>(std::max(lane.program->link_slots, shape_.link_messages));
  for (; lane.ready < step.receives + step.sends; ++lane.ready) {
    const std::uint32_t index = WireOf(lane, ends[lane.ready]);
    const Wire& wire = wires_[index];
    const std::uint32_t held = wire.sent - wire.freed;
    if (held >= slots) {
      lane.state = Lane::State::kWaitsForRoom;
      lane.waits_for = index;
      return false;
    }
    if (held + 1 == slots) lane.free_at = std::max(lane.free_at, wire.free_at);
  }
  return true;
}

}  // namespace tutti::sim
