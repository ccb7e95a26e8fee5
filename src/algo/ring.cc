// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Ring: every rank sends to the next one only and receives from the previous one only.
//
//   rank 0 --> rank 1 --> rank 2 --> rank 3 --+     block b of an all-reduce starts at rank b + 1, is folded
//      ^                                      |     with every rank's input on its way to rank b, where it
//      +--------------------------------------+     is complete, and goes round once more to be stored by all
//
// Fewest bytes: an all-reduce sends 2 (n-1)/n of the data per rank, all-gather and reduce-scatter n - 1
// blocks. But n - 1 hops (all-reduce: 2 (n-1)), and partial sums are folded in ring order, not in rank order.
//
// Broadcast and reduce are chains from or to the root, a round behind per rank; gather and scatter pass
// pieces along the ring, the nearest rank's first (gather) or the farthest's first (scatter). Odd channels
// run the ring backwards, so that two channels use both directions of every wire.

#include "algo/build.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::RankPlan;
using plan::Recv;

// The ring as one rank sees it.
struct Circle {
  explicit Circle(const Request& q) : rank(q.rank), ranks(q.ranks), direction(q.channel % 2 == 0 ? 1 : -1) {}

  int At(int distance) const { return Wrap(rank + direction * distance, ranks); }
  int next() const { return At(1); }
  int previous() const { return At(-1); }
  // How many hops `rank` lies behind `from`.
  int HopsFrom(int from) const { return Wrap(direction * (rank - from), ranks); }

  int rank, ranks, direction;
};

// Block b is complete on rank b: alone (reduce_scatter), or to be passed round (all_reduce).
void AddReduceScatter(const Circle& ring, RankPlan* plan) {
  const int last = ring.ranks - 1;
  plan->Add({In(ring.At(-1))}, {ring.next()}, kNoBlock);
  for (int k = 2; k <= last; ++k) {
    const int block = ring.At(-k);
    plan->Add(Fold(ring.rank, block, {ring.previous()}), std::vector<std::int32_t>{ring.next()}, kNoBlock);
  }
}

// Blocks of the ranks before this one arrive, nearest first; the last has come all the way round.
void AddAllGather(const Circle& ring, RankPlan* plan) {
  for (int k = 1; k < ring.ranks - 1; ++k) plan->Add({Recv(ring.previous())}, {ring.next()}, ring.At(-k));
  plan->Add({Recv(ring.previous())}, {}, ring.At(1));
}

RankPlan AllReduce(const Request& q) {
  const Circle ring(q);
  RankPlan plan = Start(q, q.ranks, 2);
  AddReduceScatter(ring, &plan);
  plan.Add(Fold(q.rank, q.rank, {ring.previous()}), std::vector<std::int32_t>{ring.next()}, q.rank);
  AddAllGather(ring, &plan);
  return plan;
}

RankPlan ReduceScatter(const Request& q) {
  const Circle ring(q);
  RankPlan plan = Start(q, 1, q.ranks == 2 ? 1 : 2);
  AddReduceScatter(ring, &plan);
  plan.Add(Fold(q.rank, q.rank, {ring.previous()}), {}, 0);
  return plan;
}

RankPlan AllGather(const Request& q) {
  const Circle ring(q);
  RankPlan plan = Start(q, 1, q.ranks == 2 ? 1 : 2);
  plan.Add({In(0)}, {ring.next()}, kNoBlock);
  plan.Add({In(0)}, {}, q.rank);
  AddAllGather(ring, &plan);
  return plan;
}

RankPlan Broadcast(const Request& q) {
  const Circle ring(q);
  RankPlan plan = Start(q, 1, 1);
  const int hops = ring.HopsFrom(q.root);
  if (hops == 0) {
    plan.Add({In(0)}, {ring.next()}, kNoBlock);
    plan.Add({In(0)}, {}, 0);
  } else if (hops < q.ranks - 1) {
    plan.Add({Recv(ring.previous())}, {ring.next()}, 0, hops);
  } else {
    plan.Add({Recv(ring.previous())}, {}, 0, hops);
  }
  return plan;
}

RankPlan Reduce(const Request& q) {
  const Circle ring(q);
  RankPlan plan = Start(q, 1, 1);
  const int hops = Wrap(ring.HopsFrom(q.root) - 1, q.ranks);  // from the chain's first rank, just behind the root
  if (hops == 0) {
    plan.Add({In(0)}, {ring.next()}, kNoBlock);
  } else if (q.rank != q.root) {
    plan.Add(Fold(q.rank, 0, {ring.previous()}), std::vector<std::int32_t>{ring.next()}, kNoBlock, hops);
  } else {
    plan.Add(Fold(q.rank, 0, {ring.previous()}), {}, 0, hops);
  }
  return plan;
}

RankPlan Gather(const Request& q) {
  const Circle ring(q);
  RankPlan plan = Start(q, 1, 1);
  if (q.rank == q.root) {
    plan.Add({In(0)}, {}, q.rank);
    for (int k = 1; k < q.ranks; ++k) plan.Add({Recv(ring.previous())}, {}, ring.At(-k));
    return plan;
  }
  plan.Add({In(0)}, {ring.next()}, kNoBlock);
  const int behind = ring.HopsFrom(q.root) - 1;
  for (int k = 0; k < behind; ++k) plan.Add({Recv(ring.previous())}, {ring.next()}, kNoBlock);
  return plan;
}

RankPlan Scatter(const Request& q) {
  const Circle ring(q);
  RankPlan plan = Start(q, 1, 1);
  if (q.rank == q.root) {
    for (int k = q.ranks - 1; k > 0; --k) plan.Add({In(ring.At(k))}, {ring.next()}, kNoBlock);
    plan.Add({In(q.rank)}, {}, 0);
    return plan;
  }
  const int ahead = q.ranks - 1 - ring.HopsFrom(q.root);
  for (int k = 0; k < ahead; ++k) plan.Add({Recv(ring.previous())}, {ring.next()}, kNoBlock);
  plan.Add({Recv(ring.previous())}, {}, 0);
  return plan;
}

RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  switch (q.collective) {
    case Collective::kAllReduce:
      return AllReduce(q);
    case Collective::kReduceScatter:
      return ReduceScatter(q);
    case Collective::kAllGather:
      return AllGather(q);
    case Collective::kBroadcast:
      return Broadcast(q);
    case Collective::kReduce:
      return Reduce(q);
    case Collective::kGather:
      return Gather(q);
    default:
      return Scatter(q);
  }
}

}  // namespace

Entry RingEntry() {
  return {.algorithm = Algorithm::kRing,
          .name = "ring",
          .nccl_name = "RING",
          .supports =
              [](Collective c, const Hosts&) {
                return c != Collective::kAllToAll && c != Collective::kBarrier && c != Collective::kSendRecv;
              },
          .rank_ordered = [](Collective c, const Hosts& hosts) { return !Reduces(c) || InOrderUpTo(2, hosts); },
          // A block returns to a rank only after it has passed everybody who reads it.
          .in_place_by_reference = [](Collective, const Hosts&) { return true; },
          // A chain of many ranks has many rounds under way, of which none is long: trees are as good there.
          .few_links =
              [](Collective c) {
                return c == Collective::kAllReduce || c == Collective::kReduceScatter || c == Collective::kAllGather;
              },
          .fixed_links = FixedLinks::kCircle,
          .build = Build};
}

}  // namespace tutti::algo
