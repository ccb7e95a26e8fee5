// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_RANK_ORDERS_H_
#define TUTTI_TOPO_RANK_ORDERS_H_

// From channels, which order a box's GPUs, to orders of all ranks: rings over all boxes, and trees whose parts in boxes hang on a tree of
// boxes.
//
//   ring         box 0: 0 -> 2 -> 1 -> 3  ~~>  box 1: 5 -> 4 -> 7 -> 6  ~~>  back to 0
//
//   chain tree   box 1: 5 - 4 - 7 - 6     ranks of a box follow its channel's order; the first one of each box is joined to those of
//                       |                 the boxes next to it in a binary tree of boxes
//                box 0: 0 - 2 - 1 - 3

#include <cstdint>
#include <span>
#include <vector>

#include "topo/channels.h"
#include "topo/placement.h"
#include "tutti/status.h"

namespace tutti::topo {

// The channels of one box. A machine's are listed in the order in which rings visit the boxes; all have the same number of them.
struct BoxChannels {
  int box = 0;  // of a Placement
  Channels channels;
};

// Of an operation's rings, or its trees, each carries an equal part of the data.
struct RankRing {
  std::vector<int> ranks;           // each sends to the next one, the last to the first
  std::vector<Crossing> crossings;  // by position: on the way to the next rank
};

struct RankTree {
  std::vector<int> parents;         // by rank; -1: the root
  std::vector<Crossing> crossings;  // by rank: on the way up to its parent
};

// How many trees a channel has. Of two, a box that has boxes below it in one tree has none, or fewer, in the other one (as
// algo/double_tree.cc), and each carries half of the channel's data.
enum class TreesPerChannel : std::uint8_t { kOne = 1, kTwo = 2 };
// The part of a tree inside a box: a chain, or a binary tree in which each subtree is a stretch of the order. An order that is no chain
// (ChannelOrder::parents) keeps its own shape. Of one box the second of two trees follows a chain from its end.
enum class TreeShape : std::uint8_t { kChain, kBinary };

// One ring for each channel. An error says which channel does not have each of its box's GPUs once, or has no port where it needs one.
Result<std::vector<RankRing>> MakeRings(const Placement& placement, std::span<const BoxChannels> boxes);
// The trees of channel 0, then those of channel 1, and so on. Errors as above. A binary tree joins other GPUs than those that the search
// has joined: where no path leads from one to the other a prediction (prediction.h) is 0.
Result<std::vector<RankTree>> MakeTrees(const Placement& placement, std::span<const BoxChannels> boxes,
                                        TreesPerChannel count, TreeShape shape);

// The trees over so many boxes, by their positions: parents, -1 at the root. As many as `count`.
std::vector<std::vector<int>> TreesOfBoxes(int boxes, TreesPerChannel count);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_RANK_ORDERS_H_
