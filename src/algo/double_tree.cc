// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Double tree: two binary trees, half of the data each, so built that a rank is an inner node in at most one.
//
//   7 ranks            first tree                          second tree: the same, ranks shifted by one
//                          3                                   4
//                    1           5                       2           6
//                 0     2     4     6                 1     3     5     0
//
// In a binary tree the leaves send once and inner nodes three times, so half of the wires idle. With two
// trees every rank sends at most 2 S in an all-reduce of S bytes, in 2 log2(n) hops: nearly a ring's
// bandwidth in a tree's time. (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast,
// reduction and scan", 2009.)
//
// Trees are in order: a node's left subtree are the ranks before it, its right subtree those after it. A
// broadcast or reduce puts the root on top of both trees of the other ranks, with one child in each.
//
// Block 0 climbs and descends the first tree, block 1 the second. Stages count hops from the deepest leaf.
// Odd channels number the ranks backwards.
//
// Over fixed links, both trees are those of an all-reduce, turned to the root (turned_tree.h).

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "algo/build.h"
#include "algo/turned_tree.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::Out;
using plan::RankPlan;
using plan::Recv;

// Of the positions first ... last (>= 1), the one that is divisible by the highest power of two.
int Top(int first, int last) {
  const int keep = std::bit_width(static_cast<unsigned>((first - 1) ^ last)) - 1;
  return last >> keep << keep;
}

// Walks down the tree of positions 1 ... size to `position`. Odd positions are leaves. Neighbours are positions.
TreeNode FindNode(int size, int position) {
  TreeNode node;
  int first = 1;
  int last = size;
  while (true) {
    const int top = Top(first, last);
    if (position == top) {
      if (first < top) node.children.push_back(Top(first, top - 1));
      if (top < last) node.children.push_back(Top(top + 1, last));
      return node;
    }
    ++node.depth;
    node.parent = {top};
    (position < top ? last : first) = position < top ? top - 1 : top + 1;
  }
}

int Height(int size) { return std::bit_width(static_cast<unsigned>(size)) - 1; }

// The ranks as positions of the two trees. Rooted: position 0 is the root, on top of the tree of positions 1
// ... n - 1.
class Forest {
 public:
  Forest(const Request& q, int tree)
      : rooted_(HasRoot(q.collective) && !q.fixed_links),
        tree_(tree),
        size_(rooted_ ? q.ranks - 1 : q.ranks),
        ranks_(q.ranks),
        first_(rooted_ ? q.root : -1),
        sign_(q.channel % 2 == 0 ? 1 : -1) {
    if (!HasRoot(q.collective) || !q.fixed_links) return;
    std::vector<int> parents;
    for (int rank = 0; rank < ranks_; ++rank) {
      const TreeNode node = FindUnturned(rank);
      parents.push_back(node.parent.empty() ? -1 : node.parent[0]);
    }
    turned_.emplace(std::move(parents), q.root);
  }

  int height() const { return turned_ ? turned_->Height() : Height(size_) + (rooted_ ? 1 : 0); }
  TreeNode Find(int rank) const { return turned_ ? turned_->Find(rank) : FindUnturned(rank); }

 private:
  TreeNode FindUnturned(int rank) const {
    const int position = PositionOf(rank);
    TreeNode node;
    if (position == 0) {
      node.children = {Top(1, size_)};
    } else {
      node = FindNode(size_, position);
      if (rooted_) {
        ++node.depth;
        if (node.parent.empty()) node.parent = {0};
      }
    }
    for (std::int32_t& parent : node.parent) parent = RankAt(parent);
    for (std::int32_t& child : node.children) child = RankAt(child);
    return node;
  }

  // The second tree mirrors the first where that turns odd positions into even ones, and shifts it by one
  // otherwise.
  int Swap(int position) const {
    if (tree_ == 0 || position == 0) return position;
    if (size_ % 2 == 0) return size_ + 1 - position;
    return position == 1 ? size_ : position - 1;
  }
  int SwapBack(int position) const {
    if (tree_ == 0 || position == 0 || size_ % 2 == 0) return Swap(position);
    return position == size_ ? 1 : position + 1;
  }
  int PositionOf(int rank) const {
    const int number = Wrap(sign_ * (rank - first_), ranks_);
    return Swap(rooted_ || number != 0 ? number : ranks_);
  }
  int RankAt(int position) const { return Wrap(first_ + sign_ * SwapBack(position), ranks_); }

  bool rooted_;
  int tree_, size_, ranks_, first_, sign_;
  std::optional<TurnedTree> turned_;
};

// What a rank does in one tree on the way up, and on the way down. The root passes on from its output: so on
// every link what descends comes before what climbs, at both ends.
void AddUp(const Forest& forest, int tree, RankPlan* plan) {
  const TreeNode node = forest.Find(plan->rank);
  plan->Add(Fold(plan->rank, tree, node.children), node.parent, node.parent.empty() ? tree : kNoBlock,
            forest.height() - node.depth);
}

void AddDown(const Forest& forest, int tree, int first_stage, RankPlan* plan) {
  const TreeNode node = forest.Find(plan->rank);
  if (!node.parent.empty()) {
    plan->Add(std::vector{Recv(node.parent[0])}, node.children, tree, first_stage + node.depth);
  } else if (plan->collective == Collective::kAllReduce) {
    plan->Add(std::vector{Out(tree)}, node.children, kNoBlock, first_stage);
  } else {
    plan->Add(std::vector{In(tree)}, node.children, kNoBlock, first_stage);
    plan->Add({In(tree)}, {}, tree, first_stage);
  }
}

RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  const Forest trees[] = {Forest(q, 0), Forest(q, 1)};
  const bool all_reduce = q.collective == Collective::kAllReduce;
  // An all_reduce climbs one tree while it descends the other, and ranks wait in both for room. Turned trees may share links.
  RankPlan plan = Start(q, 2, all_reduce || q.fixed_links ? 2 : 1);
  const int first_stage = all_reduce ? trees[0].height() + 1 : 0;
  if (q.collective != Collective::kReduce) {
    for (int tree : {0, 1}) AddDown(trees[tree], tree, first_stage, &plan);
  }
  if (q.collective != Collective::kBroadcast) {
    for (int tree : {0, 1}) AddUp(trees[tree], tree, &plan);
  }
  return plan;
}

}  // namespace

Entry DoubleTreeEntry() {
  return {.algorithm = Algorithm::kDoubleTree,
          .name = "double_tree",
          .nccl_name = "TREE",
          .supports =
              [](Collective c, const Hosts&) {
                return c == Collective::kAllReduce || c == Collective::kBroadcast || c == Collective::kReduce;
              },
          .rank_ordered =
              [](Collective c, const Hosts& hosts) {
                return !Reduces(c) || InOrderUpTo(c == Collective::kAllReduce ? 3 : 2, hosts);
              },
          // The result comes down only after everything sent up has been folded.
          .in_place_by_reference = [](Collective, const Hosts&) { return true; },
          .few_links =
              [](Collective c) {
                return c == Collective::kAllReduce || c == Collective::kBroadcast || c == Collective::kReduce;
              },
          .fixed_links = FixedLinks::kTwoTrees,
          .build = Build};
}

}  // namespace tutti::algo
