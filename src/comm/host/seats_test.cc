// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/seats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace tutti::comm {
namespace {

// Of each rank: the core it sits on.
using Cores = std::vector<int>;

int StepOf(const Cores& cores, int own, int cpus) {
  const auto cpu_of = [&](int rank) { return cores[static_cast<std::size_t>(rank)]; };
  const int ranks = static_cast<int>(cores.size());
  const Seats seats = FindSeats(ranks, own, cpu_of);
  if (!seats.known) return kStays;
  if (const int seat = SeatWithRoom(seats, own, cpu_of(own), cpus); seat != kStays) return seat;
  return SeatBesideNeighbours(seats, ranks, own, cpus, cpu_of);
}

// Whether each core has the ranks of one part of them all, in order and as many as any other but for one.
bool IsInOrder(const Cores& cores, int cpus) {
  std::set<std::pair<int, int>> seen;  // part, core
  for (std::size_t rank = 0; rank < cores.size(); ++rank)
    seen.emplace(static_cast<int>(rank) * cpus / static_cast<int>(cores.size()), cores[rank]);
  std::set<int> used(cores.begin(), cores.end());
  return static_cast<int>(seen.size()) == cpus && static_cast<int>(used.size()) == cpus;
}

TEST(Seats, RanksComeToSitInOrderFromAnywhere) {
  std::mt19937 random(7);
  for (const auto& [ranks, cpus] : {std::pair{3, 2}, {4, 2}, {5, 2}, {8, 2}, {6, 4}, {16, 4}, {40, 16}}) {
    for (int round = 0; round < 50; ++round) {
      Cores cores(static_cast<std::size_t>(ranks));
      for (int& core : cores) core = static_cast<int>(random() % static_cast<unsigned>(cpus));
      for (int turn = 0; turn < 200 * ranks && !IsInOrder(cores, cpus); ++turn) {
        const int own = static_cast<int>(random() % static_cast<unsigned>(ranks));
        if (const int seat = StepOf(cores, own, cpus); seat != kStays) cores[static_cast<std::size_t>(own)] = seat;
      }
      ASSERT_TRUE(IsInOrder(cores, cpus)) << ranks << " ranks on " << cpus;
      for (int own = 0; own < ranks; ++own) EXPECT_EQ(StepOf(cores, own, cpus), kStays);
    }
  }
}

TEST(Seats, TheLastOfAFullCoreStepsOver) {
  EXPECT_EQ(StepOf({0, 0, 0, 1}, 2, 2), 1);
  EXPECT_NE(StepOf({0, 0, 0, 1}, 0, 2), 1);
  EXPECT_EQ(StepOf({0, 0, 0, 0}, 3, 2), 1);
}

TEST(Seats, NeighboursComeTogether) {
  EXPECT_EQ(StepOf({0, 1, 1, 0}, 1, 2), 0);
  EXPECT_EQ(StepOf({0, 1, 1, 0}, 0, 2), kStays);
  EXPECT_EQ(StepOf({0, 1, 1, 0}, 3, 2), 1);
  // The first of the second pair sits with the first of all.
  EXPECT_EQ(StepOf({0, 1, 0, 1}, 2, 2), 1);
  EXPECT_EQ(StepOf({0, 1, 0, 1}, 3, 2), kStays);
}

// Where only a quota says how many cores there are, ranks sit on more of them.
TEST(Seats, NobodyJoinsNeighboursWhereThereAreOtherCores) {
  for (int own = 0; own < 4; ++own) EXPECT_EQ(StepOf({5, 9, 13, 2}, own, 2), kStays);
}

TEST(Seats, RanksOfOtherHostsDoNotCount) {
  EXPECT_EQ(StepOf({kElsewhere, 0, 1, kElsewhere, 1, 0}, 2, 2), 0);
  EXPECT_EQ(StepOf({kElsewhere, 0, 0, kElsewhere, 1, 1}, 2, 2), kStays);
}

TEST(Seats, NobodyStepsOverBeforeAllHaveBeenSeen) {
  for (const int unknown : {kNotSeen, kMostSeats}) EXPECT_EQ(StepOf({0, unknown, 0, 0}, 3, 2), kStays);
}

TEST(Seats, NobodyFollowsOneThatHasMovedOutOfSight) {
  const Cores before = {0, 1, 1, 0};
  const Seats seats = FindSeats(4, 1, [&](int rank) { return before[static_cast<std::size_t>(rank)]; });
  for (const int now : {kNotSeen, kMostSeats}) {
    const auto cpu_of = [&](int rank) { return rank == 0 ? now : before[static_cast<std::size_t>(rank)]; };
    EXPECT_EQ(SeatBesideNeighbours(seats, 4, 1, 2, cpu_of), kStays);
  }
}

}  // namespace
}  // namespace tutti::comm
