// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/network.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "plan/footprint.h"
#include "plan/timeline.h"

namespace tutti::plan {
namespace {

struct Traffic {
  double sent = 0, received = 0;
  int messages = 0;
  std::set<std::int32_t> peers;
};

}  // namespace

NetworkCost EvaluateNetwork(std::span<const RankPlan> plans, std::span<const std::int32_t> host_of) {
  const Timeline timeline = MakeTimeline(plans, host_of);
  const double block = 1.0 / MeasureFootprint(plans).blocks_per_piece;
  std::vector<Traffic> ranks(plans.size());
  std::map<std::int32_t, Traffic> hosts;
  std::map<std::array<std::int32_t, 2>, std::set<std::array<std::int32_t, 2>>> links;  // by pair of hosts
  for (const Timeline::Message& message : timeline.messages) {
    const std::int32_t from = host_of[message.from], to = host_of[message.to];
    if (from == to) continue;
    for (Traffic* sender : {&ranks[message.from], &hosts[from]}) sender->sent += block;
    for (Traffic* receiver : {&ranks[message.to], &hosts[to]}) receiver->received += block;
    ++ranks[message.from].messages;
    ranks[message.from].peers.insert(message.to);
    ranks[message.to].peers.insert(message.from);
    links[{from, to}].insert({message.from, message.to});
  }
  NetworkCost cost{.hops = timeline.hops};
  for (const Traffic& rank : ranks) {
    cost.sent_max = std::max(cost.sent_max, rank.sent);
    cost.received_max = std::max(cost.received_max, rank.received);
    cost.messages_max = std::max(cost.messages_max, rank.messages);
    cost.peers_max = std::max(cost.peers_max, static_cast<int>(rank.peers.size()));
  }
  for (const auto& [host, traffic] : hosts) {
    cost.host_sent_max = std::max(cost.host_sent_max, traffic.sent);
    cost.host_received_max = std::max(cost.host_received_max, traffic.received);
  }
  for (const auto& [pair, between] : links) cost.links_max = std::max(cost.links_max, static_cast<int>(between.size()));
  return cost;
}

}  // namespace tutti::plan
