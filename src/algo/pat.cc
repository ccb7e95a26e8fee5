// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// PAT: parallel aggregated trees. All-gather and reduce-scatter with few hops and small buffers, any rank count.
//
// Every block has a binomial tree of its own, with its owner at the root and the others counted from there, so that
// all ranks do the same at the same time:
//
//     all-gather, 8 ranks: block 0 is, after hop    1: at 1 2 4     2: at 3 5 6     3: at 7
//
// Going through whole trees at a time would want n / (2 sqrt(log2 n)) messages in a link. PAT goes through them depth
// first, and through 32 branches in parallel: a link holds 16 messages at most, with any number of ranks.
//
// Hops: log2(n) rounded up for up to 64 ranks, then one more for each further group of 32 (1024 ranks: 36). Bytes: n - 1
// blocks sent per rank, the least there is.
//
// After "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", arXiv 2506.20252.
// There, messages of a hop are aggregated into one transfer; here, the link does that by holding several.

#include "algo/build.h"
#include "algo/circular_trees.h"

namespace tutti::algo {
namespace {

constexpr int kParallelBits = 5;

plan::RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  const CircularTrees trees = ParallelTrees(q.ranks, kParallelBits);
  plan::RankPlan plan = Start(q, 1, 1);
  if (q.collective == Collective::kReduceScatter) {
    AddReduceScatter(trees, &plan);
  } else {
    AddAllGather(trees, &plan);
  }
  return plan;
}

}  // namespace

Entry PatEntry() {
  return {.algorithm = Algorithm::kPat,
          .name = "pat",
          .nccl_name = "PAT",
          .supports = [](Collective c,
                         const Hosts&) { return c == Collective::kReduceScatter || c == Collective::kAllGather; },
          .rank_ordered = [](Collective c, const Hosts& hosts) { return !Reduces(c) || InOrderUpTo(3, hosts); },
          .in_place_by_reference = [](Collective, const Hosts&) { return true; },
          .few_links = [](Collective) { return false; },
          .build = Build};
}

}  // namespace tutti::algo
