// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "algo/turned_tree.h"

#include <algorithm>
#include <utility>

namespace tutti::algo {

TurnedTree::TurnedTree(std::vector<int> parents, int root) : parents_(std::move(parents)), root_(root) {
  int below = -1;
  for (int rank = root; rank >= 0;) {
    const int above = std::exchange(parents_[rank], below);
    below = rank;
    rank = above;
  }
}

int TurnedTree::Depth(int rank) const {
  int depth = 0;
  for (; rank != root_; rank = parents_[rank]) ++depth;
  return depth;
}

int TurnedTree::Height() const {
  int height = 0;
  for (int rank = 0; rank < static_cast<int>(parents_.size()); ++rank) height = std::max(height, Depth(rank));
  return height;
}

int TurnedTree::FirstHopTo(int rank) const {
  while (parents_[rank] != root_) rank = parents_[rank];
  return rank;
}

TreeNode TurnedTree::Find(int rank) const {
  TreeNode node{.depth = Depth(rank)};
  if (rank != root_) node.parent = {parents_[rank]};
  for (int child = 0; child < static_cast<int>(parents_.size()); ++child) {
    if (parents_[child] == rank) node.children.push_back(child);
  }
  return node;
}

}  // namespace tutti::algo
