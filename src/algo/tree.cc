// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Tree: one binary tree; values are folded on the way up and copied on the way down.
//
//                0
//            /       \            7 ranks,
//          1           4          numbered
//        /   \       /   \        from the root on
//       2     3     5     6
//
// A node's left subtree is the numbers that follow it, its right subtree those after them, so that every node folds
// its own and then higher numbers. With up to 3 ranks that is one fold in rank order.
//
// log2(n) hops up, as many down. A rank sends the data at most 3 times (once up, twice down): good for small
// and medium sizes among many ranks. Stages: a step's stage is its number of hops from the deepest leaf, so
// that a rank sends further rounds up while the results of earlier ones come down.
//
// Gather and scatter use a binomial tree: number v carries the pieces of v ... v + (lowest one bit of v) - 1,
// its children are v + 1, v + 2, v + 4, ..., and pieces travel one by one.
//
// Odd channels number the ranks backwards: other ranks are inner nodes.
//
// Over fixed links, the tree is that of root 0, turned to the root (turned_tree.h). It can reduce-scatter and all-gather then:
// each block climbs, or comes down, the tree turned to the block's owner, in log2(n) to 2 log2(n) hops, where the rank in the
// middle sends half of all blocks on each side. Blocks are served by their owners' distance, so nobody waits in a circle.

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "algo/build.h"
#include "algo/turned_tree.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::RankPlan;
using plan::Recv;

// Numbers (0 is the root) and ranks.
struct Numbering {
  explicit Numbering(const Request& q)
      : root(HasRoot(q.collective) && !q.fixed_links ? q.root : 0), ranks(q.ranks), sign(q.channel % 2 == 0 ? 1 : -1) {}
  int RankOf(int number) const { return Wrap(root + sign * number, ranks); }
  int NumberOf(int rank) const { return Wrap(sign * (rank - root), ranks); }
  int root, ranks, sign;
};

// Walks down to `number`: a subtree of the numbers [first, end) has its root at `first` and halves the rest.
TreeNode FindNode(const Numbering& numbering, int number) {
  TreeNode node;
  int first = 0;
  int end = numbering.ranks;
  while (true) {
    const int left = first + 1;
    const int right = std::min(end, left + (end - first) / 2);
    if (number == first) {
      if (left < end) node.children.push_back(numbering.RankOf(left));
      if (right < end) node.children.push_back(numbering.RankOf(right));
      return node;
    }
    ++node.depth;
    node.parent = {numbering.RankOf(first)};
    first = number < right ? left : right;
    end = number < right ? right : end;
  }
}

// Depth of the deepest leaf: each step down halves a subtree.
int Height(int ranks) { return std::bit_width(static_cast<unsigned>(ranks)) - 1; }

// The links of root 0, turned.
TurnedTree Turned(const Request& q, int root) {
  const Numbering numbering(q);
  std::vector<int> parents(static_cast<std::size_t>(q.ranks), -1);
  for (int number = 1; number < q.ranks; ++number) {
    parents[numbering.RankOf(number)] = FindNode(numbering, number).parent[0];
  }
  return TurnedTree(std::move(parents), root);
}

// A rank's place in the tree of a collective with a root.
struct Rooted {
  explicit Rooted(const Request& q) {
    if (q.fixed_links) {
      const TurnedTree tree = Turned(q, q.root);
      node = tree.Find(q.rank);
      height = tree.Height();
    } else {
      const Numbering numbering(q);
      node = FindNode(numbering, numbering.NumberOf(q.rank));
      height = Height(q.ranks);
    }
  }
  TreeNode node;
  int height;
};

RankPlan Reduce(const Request& q) {
  const Rooted tree(q);
  RankPlan plan = Start(q, 1, 1);
  plan.Add(Fold(q.rank, 0, tree.node.children), tree.node.parent, q.rank == q.root ? 0 : kNoBlock,
           tree.height - tree.node.depth);
  return plan;
}

RankPlan Broadcast(const Request& q) {
  const TreeNode node = Rooted(q).node;
  RankPlan plan = Start(q, 1, 1);
  if (q.rank == q.root) {
    plan.Add(std::vector{In(0)}, node.children, kNoBlock);
    plan.Add({In(0)}, {}, 0);
  } else {
    plan.Add(std::vector{Recv(node.parent[0])}, node.children, 0, node.depth);
  }
  return plan;
}

RankPlan AllReduce(const Request& q) {
  const Numbering numbering(q);
  const TreeNode node = FindNode(numbering, numbering.NumberOf(q.rank));
  const int height = Height(q.ranks);
  RankPlan plan = Start(q, 1, 1);
  if (node.parent.empty()) {
    plan.Add(Fold(q.rank, 0, node.children), node.children, 0, height);
  } else {
    plan.Add(std::vector{Recv(node.parent[0])}, node.children, 0, height + node.depth);
    plan.Add(Fold(q.rank, 0, node.children), node.parent, kNoBlock, height - node.depth);
  }
  return plan;
}

// Over fixed links: the tree as one rank sees it, turned to have it at its root.
struct Middle {
  explicit Middle(const Request& q) : tree(Turned(q, q.rank)), neighbours(tree.Find(q.rank).children) {
    for (int block = 0; block < q.ranks; ++block) nearest.push_back(block);
    std::ranges::stable_sort(nearest, {}, [&](int block) { return tree.Depth(block); });
  }
  // All but the one towards a block's owner.
  std::vector<std::int32_t> Beyond(int block) const {
    std::vector<std::int32_t> others = neighbours;
    std::erase(others, tree.FirstHopTo(block));
    return others;
  }

  TurnedTree tree;
  std::vector<std::int32_t> neighbours;
  std::vector<std::int32_t> nearest;  // blocks, by how far their owners are
};

RankPlan ReduceScatter(const Request& q) {
  const Middle middle(q);
  RankPlan plan = Start(q, 1, q.ranks);
  std::vector<std::int32_t> farthest = middle.nearest;
  std::ranges::stable_sort(farthest, std::greater(), [&](int block) { return middle.tree.Depth(block); });
  for (const int block : farthest) {
    if (block == q.rank) continue;
    plan.Add(Fold(q.rank, block, middle.Beyond(block)), std::vector<std::int32_t>{middle.tree.FirstHopTo(block)},
             kNoBlock);
  }
  plan.Add(Fold(q.rank, q.rank, middle.neighbours), {}, 0);
  return plan;
}

RankPlan AllGather(const Request& q) {
  const Middle middle(q);
  RankPlan plan = Start(q, 1, q.ranks);
  plan.Add(std::vector{In(0)}, middle.neighbours, kNoBlock);
  plan.Add({In(0)}, {}, q.rank);
  for (const int block : middle.nearest) {
    if (block == q.rank) continue;
    plan.Add(std::vector{Recv(middle.tree.FirstHopTo(block))}, middle.Beyond(block), block);
  }
  return plan;
}

// The binomial tree of gather and scatter.
struct Binomial {
  explicit Binomial(const Request& q) : numbering(q), number(numbering.NumberOf(q.rank)), size(SizeAt(number)) {}

  // Numbers in the subtree of `v`, `v` included.
  int SizeAt(int v) const { return v == 0 ? numbering.ranks : std::min(v & -v, numbering.ranks - v); }
  int parent() const { return numbering.RankOf(number & (number - 1)); }
  // The child on the way down to number + distance.
  int ChildTowards(int distance) const {
    return numbering.RankOf(number + static_cast<int>(std::bit_floor(static_cast<unsigned>(distance))));
  }

  Numbering numbering;
  int number, size;
};

// Pieces arrive at every node in the order of their numbers.
RankPlan Gather(const Request& q) {
  const Binomial tree(q);
  RankPlan plan = Start(q, 1, 1);
  if (q.rank == q.root) {
    plan.Add({In(0)}, {}, q.rank);
    for (int k = 1; k < tree.size; ++k) plan.Add({Recv(tree.ChildTowards(k))}, {}, tree.numbering.RankOf(k));
    return plan;
  }
  plan.Add({In(0)}, {tree.parent()}, kNoBlock);
  for (int k = 1; k < tree.size; ++k) plan.Add({Recv(tree.ChildTowards(k))}, {tree.parent()}, kNoBlock);
  return plan;
}

// The other way round: highest number first, a node's own piece last.
RankPlan Scatter(const Request& q) {
  const Binomial tree(q);
  RankPlan plan = Start(q, 1, 1);
  if (q.rank == q.root) {
    for (int k = tree.size - 1; k > 0; --k) {
      plan.Add({In(tree.numbering.RankOf(k))}, {tree.ChildTowards(k)}, kNoBlock);
    }
    plan.Add({In(q.rank)}, {}, 0);
    return plan;
  }
  for (int k = tree.size - 1; k > 0; --k) plan.Add({Recv(tree.parent())}, {tree.ChildTowards(k)}, kNoBlock);
  plan.Add({Recv(tree.parent())}, {}, 0);
  return plan;
}

RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  switch (q.collective) {
    case Collective::kReduce:
      return Reduce(q);
    case Collective::kBroadcast:
      return Broadcast(q);
    case Collective::kGather:
      return Gather(q);
    case Collective::kScatter:
      return Scatter(q);
    case Collective::kReduceScatter:
      return ReduceScatter(q);
    case Collective::kAllGather:
      return AllGather(q);
    default:
      return AllReduce(q);
  }
}

bool Supports(Collective c, const Hosts&) {
  return c == Collective::kAllReduce || c == Collective::kBarrier || HasRoot(c);
}

}  // namespace

Entry TreeEntry() {
  return {.algorithm = Algorithm::kTree,
          .name = "tree",
          .nccl_name = "TREE",
          .supports = Supports,
          .rank_ordered = [](Collective c, const Hosts& hosts) { return !Reduces(c) || InOrderUpTo(3, hosts); },
          // The result comes down only after everything sent up has been folded.
          .in_place_by_reference = [](Collective, const Hosts&) { return true; },
          .few_links =
              [](Collective c) {
                return c != Collective::kGather && c != Collective::kScatter && c != Collective::kAllToAll &&
                       c != Collective::kSendRecv;
              },
          .fixed_links = FixedLinks::kTree,
          .build = Build};
}

}  // namespace tutti::algo
