// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_CHANNEL_CHOICE_H_
#define TUTTI_TOPO_CHANNEL_CHOICE_H_

// One number of channels for all boxes of a machine: that which makes the slowest box fastest.

#include <cstdint>
#include <span>
#include <vector>

#include "topo/box_search.h"
#include "topo/placement.h"

namespace tutti::topo {

class ChannelChoice {
 public:
  // `uses`: by box. Boxes that are alike and are used alike are of one kind. REQUIRES: the placement outlives it.
  ChannelChoice(const Placement& placement, std::span<const OrderUse> uses);

  // Searches each kind of box, each with an equal part of the budget. Returns the first box of a kind whose ranks no order joins; -1: none.
  int Run(std::int64_t budget);
  // Chooses from the numbers min ... max the smallest whose channels come to a hundredth of the best. REQUIRES: Run() has returned -1.
  void Choose(int min_channels, int max_channels);

  // Of the chosen number.
  const std::vector<BoxOrder>& ChannelsOf(int box) const { return channels_[KindOf(box)]; }
  // Of the slowest kind, without the network.
  double bound() const;
  bool finished() const;
  std::int64_t visited() const;

 private:
  std::size_t KindOf(int box) const { return kind_of_[static_cast<std::size_t>(box)]; }
  double BoundOf(int channels) const;
  double RateOf(const std::vector<std::vector<BoxOrder>>& channels) const;
  std::vector<std::vector<BoxOrder>> Divide(std::vector<std::vector<BoxOrder>> channels, int count);

  std::int64_t budget_ = 0;           // of each kind
  std::vector<std::size_t> kind_of_;  // by box
  std::vector<int> first_of_;         // by kind: a box
  std::vector<BoxSearch> kinds_;
  std::vector<std::vector<BoxOrder>> channels_;  // by kind
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_CHANNEL_CHOICE_H_
