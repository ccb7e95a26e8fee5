// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What the engine does with values that switches copy and fold.

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "sim/engine.h"
#include "sim/switch_groups.h"
#include "sim/switch_traffic.h"

namespace tutti::sim {

void Engine::ForgetSwitches() {
  if (switches_ != nullptr) switches_->Forget();
}

SwitchTraffic& Engine::Switches() {
  if (switches_ == nullptr) {
    switches_ = std::make_shared<SwitchTraffic>(lines_->graph, machine_.nodes, options_.routing.policy,
                                                options_.costs.switches, *router_, messages_);
  }
  return *switches_;
}

// The value of a lane's step, to one group or, of offers that each leave for a reader, to one after the other. Returns when the lane is
// free: what it offers it does not write, its readers fetch it.
Time Engine::SendThroughSwitches(Active& active, const Lane& lane, Time work_ends) {
  const Program::Step& step = active.run->StepOf(lane);
  const Program::Switching& way = lane.program->switching[static_cast<std::size_t>(lane.step)];
  const std::span<const Program::End> ends(lane.program->ends.data() + step.first_end + step.receives, step.sends);
  if (way.kind != Program::Switching::Kind::kOffers) {
    const Time left = SendToGroup(active, lane, lane.program->groups[way.first_group], ends, work_ends);
    return way.kind == Program::Switching::Kind::kMulticast ? std::max(work_ends, left) : work_ends;
  }
  for (std::uint32_t i = 0; i < step.sends; ++i) {
    SendToGroup(active, lane, lane.program->groups[way.first_group + i], ends.subspan(i, 1), work_ends);
  }
  return work_ends;
}

// Returns when the value's last byte is on the rank's link, where that is known.
Time Engine::SendToGroup(Active& active, const Lane& lane, std::uint32_t index, std::span<const Program::End> ends,
                         Time work_ends) {
  Run& run = *active.run;
  const int channel = run.channel_of(static_cast<std::uint32_t>(&lane - run.lanes().data()));
  const SwitchGroup& group = run.switch_groups(channel).group(index);
  const auto first_lane = static_cast<std::size_t>(channel * run.ranks());
  const auto place_in = [](const std::vector<std::int32_t>& positions, std::int32_t position) {
    return static_cast<std::size_t>(std::ranges::lower_bound(positions, position) - positions.begin());
  };
  std::vector<std::vector<SwitchTraffic::Receipt>> receipts(group.to.size());
  std::uint32_t wire = 0;
  for (const Program::End& end : ends) {
    wire = run.WireOf(lane, end);
    Wire& to = run.wires()[wire];
    receipts[place_in(group.to, static_cast<std::int32_t>(to.to - first_lane))].push_back({wire, to.sent++});
  }
  ++outcome_.messages;
  SwitchedFlow flow{.channel = channel};
  const auto node_of = [&](std::int32_t position) {
    return machine_.nodes[static_cast<std::size_t>(run.lanes()[first_lane + static_cast<std::size_t>(position)].rank)];
  };
  for (const std::int32_t position : group.from) flow.from.push_back(node_of(position));
  for (const std::int32_t position : group.to) flow.to.push_back(node_of(position));
  flow.number =
      Mix(static_cast<std::uint64_t>(active.operation->communicator) << 32 | static_cast<std::uint32_t>(channel));
  flow.number =
      Mix(flow.number +
          (static_cast<std::uint64_t>(group.from.front()) << 32 | static_cast<std::uint32_t>(group.to.front())) +
          options_.routing.seed);
  const Result<std::uint32_t> tree = Switches().TreeOf(flow);
  if (!tree.ok()) {
    if (no_switch_.ok()) {
      no_switch_ = Status(tree.status().code(), fmt::format("{}: {}", active.operation->name, tree.status().message()),
                          lane.rank);
    }
    return work_ends;
  }
  const bool network = switches_->tree(*tree).network;
  const auto position = static_cast<std::int32_t>(&lane - run.lanes().data() - static_cast<std::ptrdiff_t>(first_lane));
  const SwitchedValue value{.run = OperationOf(active),
                            .wire = wire,
                            .group = static_cast<std::uint64_t>(channel) << 48 |
                                     static_cast<std::uint64_t>(index) << 24 | static_cast<std::uint32_t>(lane.round),
                            .member = static_cast<std::uint32_t>(place_in(group.from, position)),
                            .wire_bytes = WireBytes(active.operation->protocol, lane.bytes),
                            .sent = now_,
                            .after = network ? active.network_hop : active.hop};
  return Launch(switches_->Enter(*tree, value, receipts), lane.rank, network, active.step, work_ends);
}

// A value's message begins its way, as Engine::SendOne lets others.
Time Engine::Launch(std::uint32_t index, int rank, bool network, Time step, Time work_ends) {
  Message& message = messages_[index];
  network_->Route(message, message.route);
  message.tail = work_ends;
  if (network) {
    Time& free = ranks_[static_cast<std::size_t>(rank)].nic_free;
    free = std::max(free, work_ends) + FromUs(options_.costs.nic_message_us);
    Push(free, kDepart, index);
    return work_ends;
  }
  Time left = work_ends;
  if (!network_->Begin(index, now_ + step, left)) lost_.push_back(index);
  return left;
}

void Engine::Meet(std::uint32_t index) {
  for (const std::uint32_t message : switches_->Meet(index)) {
    network_->Route(messages_[message], messages_[message].route);
    if (!network_->Advance(message, now_)) lost_.push_back(message);
  }
}

void Engine::DeliverSwitched(std::uint32_t index) {
  const Message message = messages_[index];
  const std::vector<SwitchTraffic::Receipt> receipts = switches_->Arrive(index);
  Active& active = active_[message.run];
  if (active.run == nullptr || receipts.empty()) return;  // nobody reads it, or a rank's own copy
  std::vector<Wire>& wires = active.run->wires();
  const std::uint32_t receiver = wires[receipts.front().wire].to;
  Lane& lane = active.run->lanes()[receiver];
  Log(message, wires[receipts.front().wire]);
  bool awaited = false;
  for (const auto& [wire, order] : receipts) {
    const std::uint64_t key = static_cast<std::uint64_t>(message.run) << 32 | wire;
    awaited |= lane.waits_for == wire;
    if (order != wires[wire].arrived) {  // an earlier one waits for others, or takes another way
      early_.emplace(key, order);
      continue;
    }
    ++wires[wire].arrived;
    while (!early_.empty() && early_.erase({key, wires[wire].arrived}) > 0) ++wires[wire].arrived;
  }
  if (lane.state != Lane::State::kWaitsForMessage || !awaited) return;
  lane.state = Lane::State::kRuns;
  GoOn(active, receiver);
}

}  // namespace tutti::sim
