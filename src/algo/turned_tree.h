// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_ALGO_TURNED_TREE_H_
#define TUTTI_ALGO_TURNED_TREE_H_

// A tree of ranks turned so that another rank is its root: the same links, some of them the other way round. So a tree can
// serve every root without a link that it did not have.
//
//       0                 4
//      / \ .             / \ .     turned to rank 4: what lies on the way from 4
//     1   3             3   5      to the old root turns round
//     |  / \ .   ->    / \ .
//     2 4   6         0   6
//       |             |
//       5             1 - 2

#include <cstdint>
#include <vector>

namespace tutti::algo {

// A rank's place in a tree; its neighbours are ranks.
struct TreeNode {
  int depth = 0;
  std::vector<std::int32_t> parent;  // none at the root
  std::vector<std::int32_t> children;
};

class TurnedTree {
 public:
  // `parents`: by rank; -1 at the root that the tree had.
  TurnedTree(std::vector<int> parents, int root);

  TreeNode Find(int rank) const;
  int Depth(int rank) const;
  // Of the deepest rank.
  int Height() const;
  // The root's neighbour on the way to another rank.
  int FirstHopTo(int rank) const;

 private:
  std::vector<int> parents_;
  int root_;
};

}  // namespace tutti::algo

#endif  // TUTTI_ALGO_TURNED_TREE_H_
