// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "algo/circular_trees.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "algo/build.h"

namespace tutti::algo {

using plan::In;
using plan::kNoBlock;
using plan::RankPlan;
using plan::Recv;

namespace {

// Orders positions by `hop`, ascending; equal ones by number, so that links stay first in, first out.
void OrderBy(const std::vector<int>& hop, CircularTrees* trees) {
  trees->order.resize(hop.size());
  std::iota(trees->order.begin(), trees->order.end(), 0);
  std::stable_sort(trees->order.begin(), trees->order.end(), [&](int a, int b) { return hop[a] < hop[b]; });
}

// As late as possible: by depth, deepest first.
void OrderByDepth(CircularTrees* trees) {
  std::vector<int> hop(trees->parent.size(), 0);
  for (std::size_t x = 1; x < hop.size(); ++x) hop[x] = hop[trees->parent[x]] - 1;
  OrderBy(hop, trees);
}

unsigned ReverseBits(unsigned value, int bits) {
  unsigned reversed = 0;
  for (int i = 0; i < bits; ++i) reversed |= (value >> i & 1u) << (bits - 1 - i);
  return reversed;
}

// One rank's place in all trees.
class Place {
 public:
  Place(const CircularTrees& trees, const RankPlan& plan)
      : trees_(trees), rank_(plan.rank), ranks_(plan.ranks), children_(plan.ranks) {
    for (int x = 1; x < ranks_; ++x) children_[trees.parent[x]].push_back(Wrap(rank_ - x + trees.parent[x], ranks_));
  }
  int Block(int x) const { return Wrap(rank_ + x, ranks_); }
  int Parent(int x) const { return Wrap(rank_ + x - trees_.parent[x], ranks_); }
  const std::vector<std::int32_t>& Children(int x) const { return children_[x]; }

 private:
  const CircularTrees& trees_;
  int rank_, ranks_;
  std::vector<std::vector<std::int32_t>> children_;  // by position
};

void AddUp(const CircularTrees& trees, const Place& place, RankPlan* plan) {
  for (int x : trees.order) {
    if (x == 0) continue;
    plan->Add(Fold(plan->rank, place.Block(x), place.Children(x)), std::vector<std::int32_t>{place.Parent(x)},
              kNoBlock);
  }
}

void AddDown(const CircularTrees& trees, const Place& place, RankPlan* plan) {
  for (auto x = trees.order.rbegin(); x != trees.order.rend(); ++x) {
    if (*x == 0) continue;
    plan->Add(std::vector{Recv(place.Parent(*x))}, place.Children(*x), place.Block(*x));
  }
}

}  // namespace

CircularTrees HalvingTrees(int ranks) {
  CircularTrees trees;
  trees.parent.assign(ranks, -1);
  for (int end = ranks; end > 1;) {
    const int half = (end + 1) / 2;
    for (int x = half; x < end; ++x) trees.parent[x] = x - half;
    end = half;
  }
  OrderByDepth(&trees);
  return trees;
}

CircularTrees DoublingTrees(int ranks) {
  CircularTrees trees;
  trees.parent.assign(ranks, -1);
  for (int x = 1; x < ranks; ++x) trees.parent[x] = x - static_cast<int>(std::bit_floor(static_cast<unsigned>(x)));
  OrderByDepth(&trees);
  return trees;
}

CircularTrees ParallelTrees(int ranks, int parallel_bits) {
  CircularTrees trees = DoublingTrees(ranks);
  const int low_bits = std::max(0, static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1))) - parallel_bits);
  // Depth first among groups is the descending order of their bit-reversed numbers; within a group by depth.
  std::vector<int> hop(ranks);
  for (int x = 0; x < ranks; ++x) {
    const unsigned low = static_cast<unsigned>(x) & ((1u << low_bits) - 1);
    const unsigned high = static_cast<unsigned>(x) >> low_bits;
    hop[x] = -static_cast<int>(ReverseBits(low, low_bits)) - std::popcount(high);
  }
  OrderBy(hop, &trees);
  return trees;
}

void AddReduceScatter(const CircularTrees& trees, RankPlan* plan) {
  const Place place(trees, *plan);
  AddUp(trees, place, plan);
  plan->Add(Fold(plan->rank, plan->rank, place.Children(0)), {}, 0);
  plan->link_slots = SlotsOfRotation(*plan);
}

void AddAllGather(const CircularTrees& trees, RankPlan* plan) {
  const Place place(trees, *plan);
  plan->Add(std::vector{In(0)}, place.Children(0), kNoBlock);
  plan->Add({In(0)}, {}, plan->rank);
  AddDown(trees, place, plan);
  plan->link_slots = SlotsOfRotation(*plan);
}

void AddAllReduce(const CircularTrees& trees, RankPlan* plan) {
  const Place place(trees, *plan);
  AddUp(trees, place, plan);
  plan->Add(Fold(plan->rank, plan->rank, place.Children(0)), place.Children(0), plan->rank);
  AddDown(trees, place, plan);
  plan->link_slots = SlotsOfRotation(*plan);
}

}  // namespace tutti::algo
