// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/seats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>

namespace tutti::plan {
namespace {

// Ranks that exchange messages.
std::vector<std::set<int>> LinksOf(std::span<const RankPlan> plans) {
  std::vector<std::set<int>> links(plans.size());
  const auto join = [&](int a, int b) {
    links[static_cast<std::size_t>(a)].insert(b);
    links[static_cast<std::size_t>(b)].insert(a);
  };
  for (const RankPlan& plan : plans) {
    for (int s = 0; s < plan.step_count(); ++s) {
      const Step step = plan.step(s);
      for (const std::int32_t peer : step.to) join(plan.rank, peer);
      for (const Operand& operand : step.operands) {
        if (!operand.local()) join(plan.rank, operand.index);
      }
    }
  }
  return links;
}

// Ranks that must not share a seat: those that meet each other, or the same rank.
std::vector<std::set<int>> RivalsOf(const std::vector<std::set<int>>& links) {
  std::vector<std::set<int>> rivals = links;
  for (const std::set<int>& peers : links) {
    for (const int a : peers) {
      for (const int b : peers) {
        if (a != b) rivals[static_cast<std::size_t>(a)].insert(b);
      }
    }
  }
  return rivals;
}

}  // namespace

// Whoever has the fewest seats left to choose from chooses next (Brelaz, "New methods to color the vertices of a graph", 1979).
std::vector<int> SeatRanks(std::span<const RankPlan> plans) {
  const std::vector<std::set<int>> rivals = RivalsOf(LinksOf(plans));
  const std::size_t ranks = plans.size();
  std::vector<int> seats(ranks, -1);
  std::vector<std::set<int>> taken(ranks);  // by rivals
  for (std::size_t placed = 0; placed < ranks; ++placed) {
    std::size_t next = ranks;
    const auto urgency = [&](std::size_t rank) { return std::tuple(taken[rank].size(), rivals[rank].size()); };
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (seats[rank] < 0 && (next == ranks || urgency(rank) > urgency(next))) next = rank;
    }
    int seat = 0;
    while (taken[next].contains(seat)) ++seat;
    seats[next] = seat;
    for (const int rival : rivals[next]) taken[static_cast<std::size_t>(rival)].insert(seat);
  }
  return seats;
}

}  // namespace tutti::plan
