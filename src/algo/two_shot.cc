// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Two-shot: the data are cut into parts, one rank is responsible for each, and everybody talks to it directly.
//
//   all_reduce, 3 ranks            rank 0           rank 1           rank 2
//     stage 0: parts to owners     in1>1 in2>2      in2>2 in0>0      in0>0 in1>1
//     stage 1: owner folds, sends  out0 = 0+1+2     out1 = 0+1+2     out2 = 0+1+2    each to both others
//     stage 2: parts arrive        out1 out2        out2 out0        out0 out1
//
// Two hops and 2 (n-1)/n of the data sent per rank, as few bytes as any all-reduce; every part is one fold in
// rank order. A broadcast scatters its parts from the root, and each rank passes its part on to all others:
// the root sends the data once, whatever n. A reduce is the mirror image. Both cut the data into n - 1 parts,
// none for the root, whose own links are the bottleneck; but of a reduce between two ranks the root folds half.
//
// Stages: in a time slot a rank takes what arrives of round t - 2, folds t - 1, and sends t; in this order a
// link never holds more than one message of each kind.

#include <vector>

#include "algo/build.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::RankPlan;
using plan::Recv;

RankPlan AllReduce(const Request& q) {
  RankPlan plan = Start(q, q.ranks, 2);
  for (int peer : PeersBefore(q.rank, q.ranks)) plan.Add({Recv(peer)}, {}, peer, kStage2);
  const std::vector<std::int32_t> peers = PeersAfter(q.rank, q.ranks);
  plan.Add(Fold(q.rank, q.rank, peers), peers, q.rank, kStage1);
  for (int peer : peers) plan.Add({In(peer)}, {peer}, kNoBlock, kStage0);
  return plan;
}

// The ranks other than the root own one part each: part i belongs to OwnerOf(i, root).
int PartOf(int rank, int root) { return rank < root ? rank : rank - 1; }

std::vector<std::int32_t> Without(std::vector<std::int32_t> peers, int root) {
  std::erase(peers, root);
  return peers;
}

RankPlan Broadcast(const Request& q) {
  RankPlan plan = Start(q, q.ranks - 1, 1);
  if (q.rank == q.root) {
    for (int peer : PeersAfter(q.rank, q.ranks)) {
      plan.Add({In(PartOf(peer, q.root))}, {peer}, kNoBlock, kStage0);
    }
    for (int part = 0; part < q.ranks - 1; ++part) plan.Add({In(part)}, {}, part, kStage0);
    return plan;
  }
  for (int peer : Without(PeersBefore(q.rank, q.ranks), q.root)) {
    plan.Add({Recv(peer)}, {}, PartOf(peer, q.root), kStage2);
  }
  plan.Add(std::vector{Recv(q.root)}, Without(PeersAfter(q.rank, q.ranks), q.root), PartOf(q.rank, q.root), kStage1);
  return plan;
}

RankPlan Reduce(const Request& q) {
  const bool root_folds = q.ranks == 2;
  const auto part_of = [&](int rank) { return root_folds ? rank : PartOf(rank, q.root); };
  // With 1 slot it would run as it is, but not deeper.
  RankPlan plan = Start(q, root_folds ? 2 : q.ranks - 1, root_folds ? 2 : 1);
  const std::vector<std::int32_t> peers = PeersAfter(q.rank, q.ranks);
  if (q.rank == q.root) {
    for (int peer : PeersBefore(q.rank, q.ranks)) plan.Add({Recv(peer)}, {}, part_of(peer), kStage2);
    if (root_folds) plan.Add(Fold(q.rank, part_of(q.rank), peers), {}, part_of(q.rank), kStage1);
  } else {
    plan.Add(Fold(q.rank, part_of(q.rank), peers), std::vector<std::int32_t>{q.root}, kNoBlock, kStage1);
  }
  for (int peer : root_folds ? peers : Without(peers, q.root)) plan.Add({In(part_of(peer))}, {peer}, kNoBlock, kStage0);
  return plan;
}

RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  if (q.collective == Collective::kAllReduce) return AllReduce(q);
  return q.collective == Collective::kBroadcast ? Broadcast(q) : Reduce(q);
}

}  // namespace

Entry TwoShotEntry() {
  return {.algorithm = Algorithm::kTwoShot,
          .name = "two_shot",
          .nccl_name = "",
          .supports =
              [](Collective c, const Hosts&) {
                return c == Collective::kAllReduce || c == Collective::kBroadcast || c == Collective::kReduce;
              },
          .rank_ordered = [](Collective c, const Hosts& hosts) { return !Reduces(c) || hosts.flat(); },
          // A part comes back to a rank only after its owner has read that rank's contribution to it.
          .in_place_by_reference = [](Collective, const Hosts&) { return true; },
          .few_links = [](Collective) { return false; },
          .build = Build};
}

}  // namespace tutti::algo
