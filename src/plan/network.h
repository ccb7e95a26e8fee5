// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_NETWORK_H_
#define TUTTI_PLAN_NETWORK_H_

// What a plan asks of the network between hosts, counted from the plan itself.

#include <cstdint>
#include <span>

#include "plan/plan.h"

namespace tutti::plan {

// For one round; messages inside a host do not count. Amounts of data are in units of the collective's `count` (bytes / S),
// as in Cost. "max": of the rank, or the host, that has most. A multicast is sent once, and a reducing read received once.
struct NetworkCost {
  int hops = 0;  // messages between hosts, one after the other, on the longest chain of steps that wait for each other
  double sent_max = 0, received_max = 0;  // by a rank: what its network interface carries where each has its own
  double host_sent_max = 0, host_received_max = 0;  // by a host: where its ranks share one
  int messages_max = 0;                             // that a rank sends
  // That a rank sends or receives, whichever is more. Those that leave over one link at the same time (Timeline::hop) can cross
  // together and count as one.
  int bursts_max = 0;
  int peers_max = 0;  // ranks of other hosts that a rank sends to or receives from
  // Links, a sender and a receiver each, from one host to another: of the pair of hosts that has most; none for what goes through
  // switches that copy or fold. What goes over a link
  // without an answer in between can cross the network as one message, so this is the least number of messages.
  int links_max = 0;

  bool operator==(const NetworkCost&) const = default;
};

// `plans`: every rank's, in rank order, not of a grouped send and receive. `host_of`: by rank. REQUIRES: as of Evaluate.
NetworkCost EvaluateNetwork(std::span<const RankPlan> plans, std::span<const std::int32_t> host_of);

// Makes each figure of `cost` the larger of both.
void TakeMost(const NetworkCost& other, NetworkCost& cost);

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_NETWORK_H_
