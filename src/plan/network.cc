// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/network.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "plan/footprint.h"
#include "plan/timeline.h"

namespace tutti::plan {
namespace {

struct Traffic {
  double sent = 0, received = 0;
  int messages = 0, bursts_sent = 0, bursts_received = 0;
  std::set<std::int32_t> peers;
};

// A message between hosts: when it leaves. Those of a link follow each other in order.
struct Crossing {
  std::int32_t from, to;
  int hop;
  auto operator<=>(const Crossing&) const = default;
};

// Which of the messages of a multicast, or of a reducing read, are there on the ranks' own links: one at the end where a switch copies or
// folds.
class SwitchEnds {
 public:
  bool Leaves(const Timeline::Message& m, Sending sending) {
    const bool once = IsMulticast(sending) || sending == Sending::kOfferOnce;
    return !once || left_.emplace(m.from, m.from_step).second;
  }
  bool Arrives(const Timeline::Message& m, Sending sending) {
    return !IsOffer(sending) || arrived_.emplace(m.to, m.to_step).second;
  }

 private:
  std::set<std::pair<std::int32_t, std::int32_t>> left_, arrived_;  // ranks and steps
};

// Of the pair of hosts that has most.
int MostLinks(std::span<const Crossing> bursts, std::span<const std::int32_t> host_of) {
  std::map<std::array<std::int32_t, 2>, int> links;  // by pair of hosts
  int most = 0;
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    const auto [from, to, hop] = bursts[i];
    if (i > 0 && bursts[i - 1].from == from && bursts[i - 1].to == to) continue;
    most = std::max(most, ++links[{host_of[from], host_of[to]}]);
  }
  return most;
}

}  // namespace

NetworkCost EvaluateNetwork(std::span<const RankPlan> plans, std::span<const std::int32_t> host_of) {
  const Timeline timeline = MakeTimeline(plans, host_of);
  const double block = 1.0 / MeasureFootprint(plans).blocks_per_piece;
  std::vector<Traffic> ranks(plans.size());
  std::map<std::int32_t, Traffic> hosts;
  std::vector<Crossing> bursts;
  SwitchEnds ends;
  for (const Timeline::Message& message : timeline.messages) {
    const std::int32_t from = host_of[message.from], to = host_of[message.to];
    if (from == to) continue;
    const Sending sending = plans[message.from].step(message.from_step).sending;
    ranks[message.from].peers.insert(message.to);
    ranks[message.to].peers.insert(message.from);
    if (ends.Leaves(message, sending)) {
      for (Traffic* sender : {&ranks[message.from], &hosts[from]}) sender->sent += block;
      ++ranks[message.from].messages;
      if (sending != Sending::kEach) ++ranks[message.from].bursts_sent;
    }
    if (ends.Arrives(message, sending)) {
      for (Traffic* receiver : {&ranks[message.to], &hosts[to]}) receiver->received += block;
      if (sending != Sending::kEach) ++ranks[message.to].bursts_received;
    }
    if (sending != Sending::kEach) continue;
    bursts.push_back({message.from, message.to, timeline.hop[message.from][message.from_step]});
  }
  std::ranges::sort(bursts);
  bursts.erase(std::unique(bursts.begin(), bursts.end()), bursts.end());  // clang 14 knows no std::ranges::unique
  for (const Crossing& burst : bursts) {
    ++ranks[burst.from].bursts_sent;
    ++ranks[burst.to].bursts_received;
  }
  NetworkCost cost{.hops = timeline.hops, .links_max = MostLinks(bursts, host_of)};
  for (const Traffic& rank : ranks) {
    cost.sent_max = std::max(cost.sent_max, rank.sent);
    cost.received_max = std::max(cost.received_max, rank.received);
    cost.messages_max = std::max(cost.messages_max, rank.messages);
    cost.bursts_max = std::max({cost.bursts_max, rank.bursts_sent, rank.bursts_received});
    cost.peers_max = std::max(cost.peers_max, static_cast<int>(rank.peers.size()));
  }
  for (const auto& [host, traffic] : hosts) {
    cost.host_sent_max = std::max(cost.host_sent_max, traffic.sent);
    cost.host_received_max = std::max(cost.host_received_max, traffic.received);
  }
  return cost;
}

void TakeMost(const NetworkCost& other, NetworkCost& cost) {
  cost.hops = std::max(cost.hops, other.hops);
  cost.sent_max = std::max(cost.sent_max, other.sent_max);
  cost.received_max = std::max(cost.received_max, other.received_max);
  cost.host_sent_max = std::max(cost.host_sent_max, other.host_sent_max);
  cost.host_received_max = std::max(cost.host_received_max, other.host_received_max);
  cost.messages_max = std::max(cost.messages_max, other.messages_max);
  cost.bursts_max = std::max(cost.bursts_max, other.bursts_max);
  cost.peers_max = std::max(cost.peers_max, other.peers_max);
  cost.links_max = std::max(cost.links_max, other.links_max);
}

}  // namespace tutti::plan
