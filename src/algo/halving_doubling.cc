// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Halving-doubling: fold in ceil(log2 n) hops while the data per hop halve, then gather while they double.
//
//   reduce-scatter of 8 ranks, seen from rank 0        all-gather
//     hop 1: 4 blocks to rank 4, 4 from rank 4           the same hops backwards
//     hop 2: 2 blocks to rank 2, 2 from rank 6
//     hop 3: 1 block  to rank 1, 1 from rank 7         all-reduce: one after the other
//
// As few bytes as a ring, (n-1)/n of the data each way, in 2 ceil(log2 n) hops instead of 2 (n-1).
//
// Any rank count costs the same: instead of pairing ranks by a bit of their number, which wants a power of
// two, rank r sends to r + h and receives from r - h (modulo n), where h runs through ceil(n/2), half of
// that, ... 1. With 5 ranks 2, 1 and 1 blocks travel 3, 2 and 1 ranks. (The circulant graphs of Traeff's
// reduce-scatter, 2024.)
//
// The plan names blocks one by one, see circular_trees.h: a partial sum is folded once, when all that it
// needs waits in the links, and is never stored. All in stage 0: the blocks of a round already overlap.

#include "algo/build.h"
#include "algo/circular_trees.h"

namespace tutti::algo {
namespace {

plan::RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  const CircularTrees trees = HalvingTrees(q.ranks);
  const bool all_reduce = q.collective == Collective::kAllReduce;
  plan::RankPlan plan = Start(q, all_reduce ? q.ranks : 1, 1);
  if (all_reduce) {
    AddAllReduce(trees, &plan);
  } else if (q.collective == Collective::kReduceScatter) {
    AddReduceScatter(trees, &plan);
  } else {
    AddAllGather(trees, &plan);
  }
  return plan;
}

}  // namespace

Entry HalvingDoublingEntry() {
  return {.algorithm = Algorithm::kHalvingDoubling,
          .name = "halving_doubling",
          .nccl_name = "",
          .supports =
              [](Collective c, const Hosts&) {
                return c == Collective::kAllReduce || c == Collective::kReduceScatter || c == Collective::kAllGather;
              },
          .rank_ordered = [](Collective c, const Hosts& hosts) { return !Reduces(c) || InOrderUpTo(3, hosts); },
          // A complete block comes down only after every rank's share has been folded into it.
          .in_place_by_reference = [](Collective, const Hosts&) { return true; },
          .few_links = [](Collective) { return false; },
          .build = Build};
}

}  // namespace tutti::algo
