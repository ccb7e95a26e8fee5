// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// CollNet: the network's switches fold between hosts, and ranks of a host do so among themselves.
//
// collnet_direct   everybody of a host sends each part to its owner, who folds; the parts go through the switches by rail (sharp.cc);
//                  the owners hand them out. A rank sends 2 S (g-1)/g inside its host of g ranks, and S/g over the network.
// collnet_chain    the ranks of a host are a chain, at whose head the whole vector goes through the switches, and back down the chain:
//
//     host 0     2 --> 1 --> 0 --^^-- 3 <-- 4 <-- 5     host 1
//                2 <-- 1 <-- 0 <-^^-> 3 --> 4 --> 5
//
//                  Each channel has another rank as its head, so that all network interfaces have work. 2 (g-1) hops and one through
//                  the switches.
//
// After NCCL's CollNetDirect and CollNetChain.

#include <algorithm>
#include <span>
#include <vector>

#include "algo/build.h"
#include "algo/hierarchy.h"
#include "algo/switches.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::Operand;
using plan::RankPlan;
using plan::Recv;
using plan::Sending;

RankPlan BuildDirect(const Request& q) { return ComposeHierarchy(q, Lanes::kRails, Get(Algorithm::kSharp)); }

// Stages count hops from the far end of the longest chain.
RankPlan BuildChain(const Request& q) {
  const Hosts& hosts = q.hosts;
  const std::span<const std::int32_t> ranks = hosts.RanksOf(hosts.HostOf(q.rank));
  const auto at = [&](int place) { return ranks[static_cast<std::size_t>((place + q.channel) % std::ssize(ranks))]; };
  const int size = static_cast<int>(ranks.size()), place = Wrap(hosts.IndexOf(q.rank) - q.channel, size);
  std::vector<std::int32_t> heads, above, below;  // the next ones of the chain, towards its head and its end
  for (int host = 0; host < hosts.count(); ++host) {
    const auto others = hosts.RanksOf(host);
    heads.push_back(others[static_cast<std::size_t>(q.channel % std::ssize(others))]);
  }
  if (place > 0) above.push_back(at(place - 1));
  if (place < size - 1) below.push_back(at(place + 1));
  const int up = hosts.most() - 1 - place, down = hosts.most() + place;

  RankPlan plan = Start(q, 1, 2);
  const std::vector<Operand> fold = Fold(q.rank, 0, below);
  if (place > 0) {
    plan.Add(fold, above, kNoBlock, up);
    plan.Add(std::vector{Recv(above[0])}, below, 0, down);
  } else {
    plan.Add(fold, heads, kNoBlock, up, Sending::kOfferOnce);
    plan.Add(Offers(heads), below, 0, down);
  }
  return plan;
}

}  // namespace

Entry CollnetDirectEntry() {
  return InSwitches(Algorithm::kCollnetDirect, "collnet_direct", "COLLNETDIRECT", RailsPassSwitches, BuildDirect);
}

Entry CollnetChainEntry() {
  return InSwitches(
      Algorithm::kCollnetChain, "collnet_chain", "COLLNETCHAIN",
      [](Collective c, const Hosts& hosts) { return hosts.count() > 1 && c == Collective::kAllReduce; }, BuildChain);
}

}  // namespace tutti::algo
