// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/message_rounds.h"

#include <algorithm>
#include <unordered_map>

namespace tutti::sim {
namespace {

std::uint8_t PartOf(const plan::Step& step) { return step.out != plan::kNoBlock ? 1 : 0; }

}  // namespace

MessageRounds::MessageRounds(Period& period) : period_(period) {
  Number();
  FindNeeds();
  exist_ = FindRounds() && ArriveInOrder();
}

void MessageRounds::Number() {
  for (int place = 0; place < period_.size(); ++place) {
    const plan::RankPlan& plan = period_.plan(place);
    for (int i = 0; i < plan.step_count(); ++i) {
      const plan::Step step = plan.step(i);
      for (const std::int32_t to : step.to) {
        const std::uint32_t wire = period_.WireTo(place, to);
        if (wire >= wires_.size()) wires_.resize(wire + 1);
        wires_[wire].part_of.push_back(PartOf(step));
      }
    }
  }
  needs_.resize(2 * wires_.size());
}

// visit(step, wire, message): in the order of the plan.
template <typename Visit>
void MessageRounds::ForReceives(int place, Visit visit) const {
  std::unordered_map<std::uint32_t, std::size_t> taken;  // blocks, by wire
  const plan::RankPlan& plan = period_.plan(place);
  for (int i = 0; i < plan.step_count(); ++i) {
    for (const plan::Operand& operand : plan.step(i).operands) {
      if (operand.local()) continue;
      const Program::Wire wire = period_.WireFrom(place, operand.index);
      const std::size_t block = taken[wire.place]++;
      visit(i, wire, 2 * wire.place + wires_[wire.place].part_of[block]);
    }
  }
}

void MessageRounds::FindNeeds() {
  for (int place = 0; place < period_.size(); ++place) {
    const plan::RankPlan& plan = period_.plan(place);
    ForReceives(place, [&](int i, const Program::Wire&, Key needed) {
      const plan::Step step = plan.step(i);
      for (const std::int32_t to : step.to) {
        std::vector<Key>& needs = needs_[2 * period_.WireTo(place, to) + PartOf(step)];
        if (std::ranges::find(needs, needed) == needs.end()) needs.push_back(needed);
      }
    });
  }
}

// False: some wait for each other.
bool MessageRounds::FindRounds() {
  std::vector<Key> open;
  for (std::uint32_t wire = 0; wire < wires_.size(); ++wire) {
    for (const Key part : {0u, 1u}) {
      if (std::ranges::count(wires_[wire].part_of, part) > 0) open.push_back(2 * wire + part);
    }
  }
  while (!open.empty()) {
    const std::size_t before = open.size();
    std::vector<Key> ready;
    std::erase_if(open, [&](Key message) {
      const bool is = std::ranges::all_of(needs_[message], [&](Key needed) { return RoundOf(needed) >= 0; });
      if (is) ready.push_back(message);
      return is;
    });
    for (const Key message : ready) wires_[message / 2].round[message % 2] = count_;
    ++count_;
    if (open.size() == before) return false;
  }
  return true;
}

int MessageRounds::RoundOfStep(int place, int step) const {
  int round = count_;
  const plan::Step of = period_.plan(place).step(step);
  for (const std::int32_t to : of.to) round = std::min(round, RoundOf(2 * period_.WireTo(place, to) + PartOf(of)));
  return round;
}

std::unordered_map<MessageRounds::Key, MessageRounds::Wanted> MessageRounds::WantedAt(int place) const {
  std::unordered_map<Key, Wanted> wanted;
  ForReceives(place, [&](int i, const Program::Wire& wire, Key message) {
    const auto [known, fresh] = wanted.try_emplace(message, Wanted{.round = count_, .wire = wire});
    known->second.round = std::min(known->second.round, RoundOfStep(place, i));
  });
  return wanted;
}

// Where a wire has two messages, the one that is sent first is wanted first.
bool MessageRounds::ArriveInOrder() const {
  for (int place = 0; place < period_.size(); ++place) {
    const std::unordered_map<Key, Wanted> wanted = WantedAt(place);
    for (const auto& [message, want] : wanted) {
      const auto other = wanted.find(message ^ 1);
      if (other == wanted.end()) continue;
      const int sent = RoundOf(message), other_sent = RoundOf(message ^ 1);
      if (sent == other_sent || (sent < other_sent && want.round >= other->second.round)) return false;
    }
  }
  return true;
}

std::vector<MessageRounds::Round> MessageRounds::RoundsOf(int place) const {
  std::vector<Round> rounds(static_cast<std::size_t>(count_) + 1);
  for (const auto& [message, want] : WantedAt(place))
    rounds[static_cast<std::size_t>(want.round)].received.push_back(want.wire);
  const plan::RankPlan& plan = period_.plan(place);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    rounds[static_cast<std::size_t>(RoundOfStep(place, i))].steps.push_back(i);
    for (const std::int32_t to : step.to) {
      const std::uint32_t wire = period_.WireTo(place, to);
      std::vector<Message>& sent = rounds[static_cast<std::size_t>(RoundOf(2 * wire + PartOf(step)))].sent;
      const auto known = std::ranges::find(sent, wire, &Message::wire);
      known == sent.end() ? sent.push_back({.wire = wire, .blocks = 1}) : (++known->blocks, void());
    }
  }
  for (Round& round : rounds) std::ranges::sort(round.received, {}, &Program::Wire::place);
  return rounds;
}

}  // namespace tutti::sim
