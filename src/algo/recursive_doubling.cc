// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Recursive doubling: whole vectors across a hypercube; log2(n) hops, few messages, for small sizes.
//
//   all_reduce, 4 ranks       0 --- 1     hop 1: 0 and 1, 2 and 3 exchange what they have and fold it
//                             |     |     hop 2: 0 and 2, 1 and 3
//                             2 --- 3
//
// Every rank sends all data log2(n) times. Both ends of an exchange fold the lower ranks' sum first, so all
// ranks compute the same bits. Partial sums live in the output: a partner's next sum needs what was already
// sent. Any rank count: with n = 2^k + m, the odd ones of the first 2m ranks hand their input to the rank
// before them, stay out of the hypercube, and get the result at the end: 2 hops more.
//
// all_gather: every block travels its own binomial tree over distances 1, 2, 4, ... (circular_trees.h):
// ceil(log2 n) hops, n - 1 blocks, any rank count.
//
// barrier: dissemination. In hop k rank r tells rank r + 2^k, after it has heard from r - 2^(k-1); after
// ceil(log2 n) hops everybody has heard of everybody. Any rank count.

#include <bit>
#include <vector>

#include "algo/build.h"
#include "algo/circular_trees.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::Operand;
using plan::Out;
using plan::RankPlan;
using plan::Recv;

// Where a rank stands in the hypercube of the largest power of two.
struct Cube {
  explicit Cube(int ranks)
      : size(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), extra(ranks - size) {}
  bool Outside(int rank) const { return rank < 2 * extra && rank % 2 == 1; }
  bool HasGuest(int rank) const { return rank < 2 * extra && rank % 2 == 0; }
  int CornerOf(int rank) const { return rank < 2 * extra ? rank / 2 : rank - extra; }
  int RankAt(int corner) const { return corner < extra ? 2 * corner : corner + extra; }
  int size, extra;
};

RankPlan AllReduce(const Request& q) {
  const Cube cube(q.ranks);
  RankPlan plan = Start(q, 1, 1);
  if (cube.Outside(q.rank)) {
    plan.Add({In(0)}, {q.rank - 1}, kNoBlock);
    plan.Add({Recv(q.rank - 1)}, {}, 0);
    return plan;
  }
  const int corner = cube.CornerOf(q.rank);
  const int first = cube.RankAt(corner ^ 1);
  Operand sum = In(0);
  if (cube.HasGuest(q.rank)) {
    plan.Add({In(0), Recv(q.rank + 1)}, {first}, 0);
    sum = Out(0);
  } else {
    plan.Add({In(0)}, {first}, kNoBlock);
  }
  for (int bit = 1; bit < cube.size; bit *= 2) {
    const int partner = cube.RankAt(corner ^ bit);
    std::vector<Operand> operands = {sum, Recv(partner)};
    if (partner < q.rank) std::swap(operands[0], operands[1]);
    std::vector<std::int32_t> to;
    if (2 * bit < cube.size) to.push_back(cube.RankAt(corner ^ (2 * bit)));
    if (2 * bit >= cube.size && cube.HasGuest(q.rank)) to.push_back(q.rank + 1);
    plan.Add(operands, to, 0);
    sum = Out(0);
  }
  return plan;
}

RankPlan AllGather(const Request& q) {
  RankPlan plan = Start(q, 1, 1);
  AddAllGather(DoublingTrees(q.ranks), &plan);
  return plan;
}

RankPlan Barrier(const Request& q) {
  RankPlan plan = Start(q, 1, 1);
  plan.Add({In(0)}, {Wrap(q.rank + 1, q.ranks)}, kNoBlock);
  int distance = 1;
  for (; 2 * distance < q.ranks; distance *= 2) {
    plan.Add({Recv(Wrap(q.rank - distance, q.ranks))}, {Wrap(q.rank + 2 * distance, q.ranks)}, kNoBlock);
  }
  plan.Add({Recv(Wrap(q.rank - distance, q.ranks))}, {}, 0);
  plan.link_slots = SlotsOfRotation(plan);
  return plan;
}

RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  if (q.collective == Collective::kAllReduce) return AllReduce(q);
  return q.collective == Collective::kAllGather ? AllGather(q) : Barrier(q);
}

}  // namespace

Entry RecursiveDoublingEntry() {
  return {.algorithm = Algorithm::kRecursiveDoubling,
          .name = "recursive_doubling",
          .nccl_name = "",
          .supports =
              [](Collective c, const Hosts&) {
                return c == Collective::kAllReduce || c == Collective::kAllGather || c == Collective::kBarrier;
              },
          .rank_ordered = [](Collective c, const Hosts& hosts) { return !Reduces(c) || InOrderUpTo(2, hosts); },
          // A rank stores its first sum while its first partner may still read its input.
          .in_place_by_reference = [](Collective c,
                                      const Hosts& hosts) { return hosts.ranks() == 1 || c == Collective::kAllGather; },
          .few_links = [](Collective) { return false; },
          .build = Build};
}

}  // namespace tutti::algo
