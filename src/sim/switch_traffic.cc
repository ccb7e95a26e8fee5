// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/switch_traffic.h"

#include <algorithm>

namespace tutti::sim {

SwitchTraffic::SwitchTraffic(const topo::Graph& graph, std::span<const int> nodes, const topo::PolicyOptions& policy,
                             const SwitchCosts& costs, Router& router, Messages& messages)
    : trees_(graph, nodes, policy, costs, router), read_us_(costs.read_us), messages_(messages) {}

// That of other members of the group, or a new one.
std::uint32_t SwitchTraffic::FlightOf(std::uint32_t index, const SwitchedValue& value) {
  const auto [known, fresh] = known_.try_emplace({value.run, value.group}, 0);
  if (!fresh) return known->second;
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(flights_.size()));
    flights_.emplace_back();
  }
  known->second = free_.back();
  free_.pop_back();
  const SwitchTree& tree = trees_.tree(index);
  Flight& flight = flights_[known->second];
  flight = {.tree = index, .value = value};
  for (const SwitchTree::Segment& segment : tree.up) flight.joints.push_back({.left = segment.joined});
  flight.joints.push_back({.left = tree.joined_at_root});
  flight.left =
      static_cast<std::uint32_t>(std::ranges::count_if(tree.parts, [](const auto& parts) { return parts.empty(); }));
  flight.receipts.resize(flight.left);
  return known->second;
}

std::uint32_t SwitchTraffic::Enter(std::uint32_t tree, const SwitchedValue& value,
                                   std::span<const std::vector<Receipt>> receipts) {
  const std::uint32_t index = FlightOf(tree, value);
  Flight& flight = flights_[index];
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    flight.receipts[i].insert(flight.receipts[i].end(), receipts[i].begin(), receipts[i].end());
  }
  return Start(index, value.member, 0);
}

std::uint32_t SwitchTraffic::Start(std::uint32_t index, std::uint32_t segment, Time tail) {
  const Flight& flight = flights_[index];
  const SwitchTree& tree = trees_.tree(flight.tree);
  const auto ups = static_cast<std::uint32_t>(tree.up.size());
  const bool up = segment < ups, last = !up && tree.parts[segment - ups].empty();
  const bool reads = tree.up.size() > 1 && !tree.network;
  return messages_.Add({.run = flight.value.run,
                        .wire = flight.value.wire,
                        .route = (up ? tree.up[segment] : tree.down[segment - ups]).route,
                        .charge = tree.charge,
                        .way = last ? Message::Way::kSwitchedLast : Message::Way::kSwitched,
                        .wire_bytes = flight.value.wire_bytes,
                        .sent = flight.value.sent,
                        .tail = tail,
                        .after = flight.value.after + (reads ? FromUs(read_us_) : 0),
                        .turn = static_cast<std::uint64_t>(index) << 32 | segment});
}

std::span<const std::uint32_t> SwitchTraffic::Meet(std::uint32_t index) {
  const Message message = messages_[index];
  messages_.Remove(index);
  started_.clear();
  const auto at = static_cast<std::uint32_t>(message.turn >> 32);
  const auto segment = static_cast<std::uint32_t>(message.turn);
  Flight& flight = flights_[at];
  const SwitchTree& tree = trees_.tree(flight.tree);
  const auto ups = static_cast<std::uint32_t>(tree.up.size());
  Time tail = message.tail;
  std::uint32_t parted = segment - ups;
  if (segment < ups) {
    const std::int32_t next = tree.up[segment].next;
    Joint& joint = flight.joints[next < 0 ? ups : static_cast<std::uint32_t>(next)];
    tail = joint.tail = std::max(joint.tail, tail);
    if (--joint.left > 0) return started_;
    if (next >= 0) {
      started_.push_back(Start(at, static_cast<std::uint32_t>(next), tail));
      return started_;
    }
    known_.erase({flight.value.run, flight.value.group});
    parted = static_cast<std::uint32_t>(tree.down.size());
  }
  for (const std::uint32_t part : tree.parts[parted]) started_.push_back(Start(at, ups + part, tail));
  return started_;
}

std::vector<SwitchTraffic::Receipt> SwitchTraffic::Arrive(std::uint32_t index) {
  const Message message = messages_[index];
  messages_.Remove(index);
  const auto at = static_cast<std::uint32_t>(message.turn >> 32);
  Flight& flight = flights_[at];
  const auto receiver =
      static_cast<std::uint32_t>(message.turn) - static_cast<std::uint32_t>(trees_.tree(flight.tree).up.size());
  std::vector<Receipt> receipts = std::move(flight.receipts[receiver]);
  if (--flight.left == 0) free_.push_back(at);
  return receipts;
}

}  // namespace tutti::sim
