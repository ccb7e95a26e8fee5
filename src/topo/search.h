// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_SEARCH_H_
#define TUTTI_TOPO_SEARCH_H_

// Finds channels for rings and trees: orders of GPUs in each box, and ports between boxes, that carry most together.
//
// Each kind of box is searched once (box_search.h). Then one number of channels is taken for all boxes, boxes are put in an order in which
// the network's ways are short, and channels of neighbouring boxes are joined by ports that are close: on a rail where there are rails.
// Where a ring comes in by one port of a box and goes out by another, every second box is passed the other way round, so that it stays on
// its rails.
//
// The result follows from the placement and the options alone: the budget counts steps, not time, and of equals the one with the lowest
// number is taken. So all ranks that know the machine find the same.

#include <cstdint>
#include <vector>

#include "topo/placement.h"
#include "topo/prediction.h"
#include "topo/rank_orders.h"
#include "tutti/status.h"

namespace tutti::topo {

// Whether a ring may come in by one port of a box and go out by another: NCCL_CROSS_NIC's 0, 1 and 2. Never means: unless there is no ring
// else.
enum class CrossNic : std::uint8_t { kNever = 0, kAlways = 1, kWhereItPays = 2 };

inline constexpr int kMostChannels = 256;

struct SearchOptions {
  int min_channels = 1, max_channels = 32;
  CrossNic cross_nic = CrossNic::kWhereItPays;
  // Places of orders that may be looked at, over all kinds of boxes: some 5 ns each.
  std::int64_t budget = 1 << 24;
};

struct SearchResult {
  std::vector<BoxChannels> boxes;  // in the order in which rings visit them, and trees are hung
  Prediction prediction;           // of an all_reduce on these channels; of trees: on chains (rank_orders.h)
  // What the links of boxes and ports allow at most for orders of this kind, whatever the number of channels, in the same unit; infinite
  // where it is not known.
  double bound_gb_per_s = 0;
  bool finished = true;  // false: the budget has ended the search, and these are the best channels until then
  std::int64_t visited = 0;
};

// The smallest number of channels within the options that comes to a hundredth of the best. Errors: options that contradict themselves; a
// rank that no path leads to; ports between which the network has no way.
Result<SearchResult> SearchRings(const Placement& placement, const SearchOptions& options = {});
// Ports are used for a rank's parent and children alike.
Result<SearchResult> SearchTrees(const Placement& placement, const SearchOptions& options = {},
                                 TreesPerChannel count = TreesPerChannel::kTwo);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_SEARCH_H_
