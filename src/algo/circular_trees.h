// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_ALGO_CIRCULAR_TREES_H_
#define TUTTI_ALGO_CIRCULAR_TREES_H_

// One tree per block, all of the same shape, each turned to have another rank at its root: the common form of
// recursive halving and doubling, Bruck's and PAT's algorithms, for any number of ranks.
//
//          0
//        / | \           the shape of 5 positions with the parents
//       1  2  4          {-, 0, 0, 1, 0}
//       |
//       3
//
// Rank r stands at position b - r (modulo n) in block b's tree, so rank b stands at its root. Reduce-scatter: block b
// climbs; a rank folds its children's values with its own and sends on. All-gather: block b comes down the same tree
// from rank b.
//
// Every rank stands once at every position, so all ranks send n - 1 blocks, to few peers (as many as there
// are different distances x - parent[x]), and the number of hops is the height of the shape. The order in
// which a rank serves the positions decides how many blocks wait in a link; see each maker.

#include <vector>

#include "plan/plan.h"

namespace tutti::algo {

struct CircularTrees {
  std::vector<int> parent;  // by position; parent[0] is -1
  std::vector<int> order;   // all positions, children before parents, 0 last
};

// Halving: of n positions the upper floor(n/2) hang on the lower ones, and so on with those. ceil(log2 n)
// hops. A position is served as late as it can be without delaying the root: so a link holds few blocks, at 8
// ranks 2, at 64 ranks 10, instead of n/2.
CircularTrees HalvingTrees(int ranks);

// Doubling: a position's parent is the position without its highest one bit, so that distances are powers of
// two. ceil(log2 n) hops or one less; order as above.
CircularTrees DoublingTrees(int ranks);

// The shape of DoublingTrees, served in groups of at most 2^parallel_bits positions (those that agree in
// their low bits), which start one hop after the other, depth first. A link holds at most about
// 2^parallel_bits / 2 blocks however many ranks there are; each group beyond the first adds a hop.
CircularTrees ParallelTrees(int ranks, int parallel_bits);

// Add the steps of one collective and set link_slots.
//   reduce-scatter: in(b) folded over all ranks, stored as out0 of rank b
//   all-gather:     in0 of every rank, stored as out(rank) everywhere
//   all-reduce:     the former with out(b) in place of out0, then sent down again
void AddReduceScatter(const CircularTrees& trees, plan::RankPlan* plan);
void AddAllGather(const CircularTrees& trees, plan::RankPlan* plan);
void AddAllReduce(const CircularTrees& trees, plan::RankPlan* plan);

}  // namespace tutti::algo

#endif  // TUTTI_ALGO_CIRCULAR_TREES_H_
