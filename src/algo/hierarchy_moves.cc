// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Gather, scatter and all_to_all of several hosts. A piece takes up to three messages: inside its host to the rank that sends
// it, over the network, and inside the other host to the rank that wants it.
//
//   all_to_all by rails, from host 0 to host 1              by leaders
//     0 --- pieces for 3, 4, 5 ---> 3 -+-> 4, 5               1, 2 -> 0 --- all nine ---> 3 -> 4, 5
//     1 --- pieces for 3, 4, 5 ---> 4 -+-> 3, 5
//     2 --- pieces for 3, 4, 5 ---> 5 -+-> 3, 4
//
// So a rank has one link to another host, in which all its pieces for that host follow each other, in the order of the ranks
// there. The link holds all of them at once: what moves links' messages over the network can put them into one.
//
// Stages: in a time slot a rank deals with what arrives of round t - 1, then sends round t. What goes on inside a host is in
// the stage of what comes before or after it on the network, in the same order on all ranks of the host.

#include <algorithm>

#include "algo/build.h"
#include "algo/hierarchy.h"

namespace tutti::algo {

using plan::In;
using plan::kNoBlock;
using plan::Operand;
using plan::RankPlan;
using plan::Recv;

namespace {

// Who sends a rank's piece to another host, and who takes it there.
class Route {
 public:
  Route(const Request& q, Lanes lanes) : hosts(q.hosts), rails(q, lanes), own(q.hosts.HostOf(q.rank)) {}
  // The rank of `rank`'s host that talks to other hosts for it.
  int Gate(int rank) const { return rails.Owner(hosts.HostOf(rank), rails.Lane(rank)); }
  // The rank of `host` that talks to `rank`'s gate.
  int GateAt(int host, int rank) const { return rails.Owner(host, rails.Lane(rank)); }
  // Other hosts, the next one first.
  std::vector<int> HostsAfter() const {
    std::vector<int> others;
    for (int k = 1; k < hosts.count(); ++k) others.push_back(Wrap(own + k, hosts.count()));
    return others;
  }
  std::vector<int> HostsBefore() const {
    std::vector<int> others = HostsAfter();
    std::ranges::reverse(others);
    return others;
  }

  Hosts hosts;
  Rails rails;
  int own;  // host
};

int MostElsewhere(const Hosts& hosts, int host) {
  int most = 1;
  for (int other = 0; other < hosts.count(); ++other) {
    if (other != host) most = std::max(most, hosts.SizeOf(other));
  }
  return most;
}

// Pieces of one host's ranks arrive and are handed out. Gates take turns, one sender each, so that nobody waits in a circle.
void AddArrivals(const Request& q, const Route& route, int from, RankPlan* plan) {
  const auto ranks = route.hosts.RanksOf(route.own);
  std::vector<std::vector<std::int32_t>> senders(ranks.size());  // by the gate that takes their pieces
  for (const std::int32_t sender : route.hosts.RanksOf(from)) {
    senders[static_cast<std::size_t>(route.hosts.IndexOf(route.GateAt(route.own, sender)))].push_back(sender);
  }
  const auto own = static_cast<std::size_t>(route.hosts.IndexOf(q.rank));
  const std::size_t turns = std::ranges::max(senders, {}, [](const auto& list) { return list.size(); }).size();
  for (std::size_t turn = 0; turn < turns; ++turn) {
    if (turn < senders[own].size()) {
      const std::int32_t sender = senders[own][turn];
      for (const std::int32_t rank : ranks) {
        if (rank == q.rank) plan->Add({Recv(route.Gate(sender))}, {}, sender, kStage1);
        if (rank != q.rank) plan->Add({Recv(route.Gate(sender))}, {rank}, kNoBlock, kStage1);
      }
    }
    for (const std::int32_t gate : HostPeersAfter(route.hosts, q.rank)) {
      const auto& list = senders[static_cast<std::size_t>(route.hosts.IndexOf(gate))];
      if (turn < list.size()) plan->Add({Recv(gate)}, {}, list[turn], kStage1);
    }
  }
}

// This host's pieces for another one: to the own gate, or as a gate over the network.
void AddDepartures(const Request& q, const Route& route, int to, RankPlan* plan) {
  if (route.Gate(q.rank) != q.rank) {
    for (const std::int32_t rank : route.hosts.RanksOf(to)) plan->Add({In(rank)}, {route.Gate(q.rank)}, kNoBlock);
    return;
  }
  for (const std::int32_t sender : route.hosts.RanksOf(route.own)) {
    if (route.Gate(sender) != q.rank) continue;
    for (const std::int32_t rank : route.hosts.RanksOf(to)) {
      plan->Add({sender == q.rank ? In(rank) : Recv(sender)}, {route.GateAt(to, sender)}, kNoBlock);
    }
  }
}

RankPlan AllToAll(const Request& q, Lanes lanes) {
  const Route route(q, lanes);
  int slots = q.hosts.most();
  if (lanes == Lanes::kLeader) {
    for (int host = 0; host < q.hosts.count(); ++host) {
      slots = std::max(slots, q.hosts.SizeOf(host) * MostElsewhere(q.hosts, host));
    }
  }
  RankPlan plan = Start(q, 1, slots);
  for (const int host : route.HostsBefore()) AddArrivals(q, route, host, &plan);
  for (const int host : route.HostsAfter()) AddDepartures(q, route, host, &plan);
  const std::vector<std::int32_t> peers = HostPeersAfter(q.hosts, q.rank);
  for (const std::int32_t peer : peers) plan.Add({In(peer)}, {peer}, kNoBlock);
  plan.Add({In(q.rank)}, {}, q.rank);
  for (auto peer = peers.rbegin(); peer != peers.rend(); ++peer) plan.Add({Recv(*peer)}, {}, *peer);
  return plan;
}

// Whatever the root, so that all plans of a collective ask the same of links.
int SlotsOfRooted(const Request& q, Lanes lanes) { return lanes == Lanes::kLeader ? q.hosts.most() : 1; }

RankPlan Gather(const Request& q, Lanes lanes) {
  const Route route(q, lanes);
  const int root_host = q.hosts.HostOf(q.root);
  RankPlan plan = Start(q, 1, SlotsOfRooted(q, lanes));
  if (route.own != root_host) {
    const int gate = route.Gate(q.rank);
    if (gate != q.rank) plan.Add({In(0)}, {gate}, kNoBlock);
    for (const std::int32_t rank : q.hosts.RanksOf(route.own)) {
      if (gate != q.rank || route.Gate(rank) != q.rank) continue;
      plan.Add({rank == q.rank ? In(0) : Recv(rank)}, {route.GateAt(root_host, rank)}, kNoBlock);
    }
    return plan;
  }
  for (const int host : route.HostsBefore()) {
    for (const std::int32_t rank : q.hosts.RanksOf(host)) {
      const int gate = route.GateAt(root_host, rank);
      const int sender = gate == q.rank ? route.Gate(rank) : gate;
      if (q.rank == q.root) plan.Add({Recv(sender)}, {}, rank, kStage1);
      if (q.rank == gate && gate != q.root) plan.Add({Recv(sender)}, {q.root}, kNoBlock, kStage1);
    }
  }
  if (q.rank != q.root) {
    plan.Add({In(0)}, {q.root}, kNoBlock);
    return plan;
  }
  plan.Add({In(0)}, {}, q.rank);
  for (const std::int32_t peer : HostPeersAfter(q.hosts, q.rank)) plan.Add({Recv(peer)}, {}, peer);
  return plan;
}

// The other way round.
RankPlan Scatter(const Request& q, Lanes lanes) {
  const Route route(q, lanes);
  const int root_host = q.hosts.HostOf(q.root);
  RankPlan plan = Start(q, 1, SlotsOfRooted(q, lanes));
  if (route.own != root_host) {
    const int gate = route.Gate(q.rank);
    if (gate != q.rank) plan.Add({Recv(gate)}, {}, 0, kStage1);
    for (const std::int32_t rank : q.hosts.RanksOf(route.own)) {
      if (gate != q.rank || route.Gate(rank) != q.rank) continue;
      const Operand piece = Recv(route.GateAt(root_host, rank));
      if (rank == q.rank) plan.Add({piece}, {}, 0, kStage1);
      if (rank != q.rank) plan.Add({piece}, {rank}, kNoBlock, kStage1);
    }
    return plan;
  }
  for (const int host : route.HostsAfter()) {
    for (const std::int32_t rank : q.hosts.RanksOf(host)) {
      const int gate = route.GateAt(root_host, rank);
      const int next = gate == q.rank ? route.Gate(rank) : gate;
      if (q.rank == q.root) plan.Add({In(rank)}, {next}, kNoBlock);
      if (q.rank == gate && gate != q.root) plan.Add({Recv(q.root)}, {next}, kNoBlock);
    }
  }
  if (q.rank != q.root) {
    plan.Add({Recv(q.root)}, {}, 0);
    return plan;
  }
  for (const std::int32_t peer : HostPeersAfter(q.hosts, q.rank)) plan.Add({In(peer)}, {peer}, kNoBlock);
  plan.Add({In(q.rank)}, {}, 0);
  return plan;
}

}  // namespace

RankPlan MovePieces(const Request& request, Lanes lanes) {
  if (request.collective == Collective::kGather) return Gather(request, lanes);
  if (request.collective == Collective::kScatter) return Scatter(request, lanes);
  return AllToAll(request, lanes);
}

}  // namespace tutti::algo
