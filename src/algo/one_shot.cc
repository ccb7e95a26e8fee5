// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// One-shot: everybody sends straight to whoever needs it, and who reduces does so in one fold.
//
//   all_reduce, 3 ranks          rank 0      rank 1      rank 2
//     stage 0: my input to all     in0  ------> in0 ------> in0 ---> (and back to 0, and 0 to 2)
//     stage 1: one fold          0 + 1 + 2   0 + 1 + 2   0 + 1 + 2   in rank order: the same bits everywhere
//
// One hop, the least there is. An all-reduce sends n - 1 times the data, so it is for small sizes; where
// every rank's data differ anyway (all_to_all, reduce_scatter, gather, scatter, all_gather on a full mesh) it
// is optimal too.
//
// Stages: a rank sends round t before it waits for round t - 1, hence two messages per link where both ends
// send.

#include <vector>

#include "algo/build.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::Operand;
using plan::RankPlan;
using plan::Recv;

// in0 to every other rank; then one fold of all (all_reduce, barrier) or each into its own place
// (all_gather).
RankPlan AllToEverybody(const Request& q) {
  RankPlan plan = Start(q, 1, q.collective == Collective::kBarrier ? 1 : 2);  // a barrier has one round
  plan.Add(std::vector{In(0)}, PeersAfter(q.rank, q.ranks), kNoBlock, kStage0);
  if (q.collective != Collective::kAllGather) {
    plan.Add(Fold(q.rank, 0, PeersAfter(q.rank, q.ranks)), {}, 0, kStage1);
    return plan;
  }
  plan.Add({In(0)}, {}, q.rank, kStage0);
  for (int peer : PeersBefore(q.rank, q.ranks)) plan.Add({Recv(peer)}, {}, peer, kStage1);
  return plan;
}

// in(p) to rank p; then one fold of all (reduce_scatter) or each into its own place (all_to_all).
RankPlan EachItsOwn(const Request& q) {
  RankPlan plan = Start(q, 1, 2);
  for (int peer : PeersAfter(q.rank, q.ranks)) plan.Add({In(peer)}, {peer}, kNoBlock, kStage0);
  if (q.collective == Collective::kReduceScatter) {
    plan.Add(Fold(q.rank, q.rank, PeersAfter(q.rank, q.ranks)), {}, 0, kStage1);
    return plan;
  }
  plan.Add({In(q.rank)}, {}, q.rank, kStage0);
  for (int peer : PeersBefore(q.rank, q.ranks)) plan.Add({Recv(peer)}, {}, peer, kStage1);
  return plan;
}

// broadcast, scatter: the root sends to everybody.
RankPlan FromRoot(const Request& q) {
  RankPlan plan = Start(q, 1, 1);
  if (q.rank != q.root) {
    plan.Add({Recv(q.root)}, {}, 0, kStage1);
  } else if (q.collective == Collective::kBroadcast) {
    plan.Add(std::vector{In(0)}, PeersAfter(q.rank, q.ranks), kNoBlock, kStage0);
    plan.Add({In(0)}, {}, 0, kStage0);
  } else {
    for (int peer : PeersAfter(q.rank, q.ranks)) plan.Add({In(peer)}, {peer}, kNoBlock, kStage0);
    plan.Add({In(q.rank)}, {}, 0, kStage0);
  }
  return plan;
}

// reduce, gather: everybody sends to the root.
RankPlan ToRoot(const Request& q) {
  RankPlan plan = Start(q, 1, 1);
  if (q.rank != q.root) {
    plan.Add({In(0)}, {q.root}, kNoBlock, kStage0);
  } else if (q.collective == Collective::kReduce) {
    plan.Add(Fold(q.rank, 0, PeersAfter(q.rank, q.ranks)), {}, 0, kStage1);
  } else {
    plan.Add({In(0)}, {}, q.rank, kStage0);
    for (int peer : PeersAfter(q.rank, q.ranks)) plan.Add({Recv(peer)}, {}, peer, kStage1);
  }
  return plan;
}

RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  switch (q.collective) {
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return EachItsOwn(q);
    case Collective::kBroadcast:
    case Collective::kScatter:
      return FromRoot(q);
    case Collective::kReduce:
    case Collective::kGather:
      return ToRoot(q);
    default:
      return AllToEverybody(q);
  }
}

}  // namespace

Entry OneShotEntry() {
  return {.algorithm = Algorithm::kOneShot,
          .name = "one_shot",
          .nccl_name = "",
          .supports = [](Collective c, const Hosts&) { return c != Collective::kSendRecv; },
          .rank_ordered = [](Collective c, const Hosts& hosts) { return !Reduces(c) || hosts.flat(); },
          // A rank stores its result while slower peers may still read its input from the same place.
          .in_place_by_reference =
              [](Collective c, const Hosts& hosts) {
                return hosts.ranks() == 1 ||
                       (c != Collective::kAllReduce && c != Collective::kAllToAll && c != Collective::kBarrier);
              },
          .apart_by_reference = [](Collective c,
                                   const Hosts& hosts) { return c == Collective::kAllReduce && hosts.count() == 1; },
          .few_links = [](Collective) { return false; },
          .build = Build};
}

}  // namespace tutti::algo
