// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "exec/cpu/prepared_plan.h"

namespace tutti::comm {
namespace {

using exec::cpu::Job;

std::int64_t now_ns = 0;
std::int64_t Now() { return now_ns; }

// A way is known by its channels, from 1 on, and goes by reference from kReferring on. It takes so many us.
using Costs = std::map<int, int>;
constexpr int kReferring = 20;

std::vector<tune::Choice> WaysOf(const Costs& costs) {
  std::vector<tune::Choice> ways;
  for (const auto& [channels, us] : costs) {
    ways.push_back({.by_reference = channels >= kReferring, .channels = channels, .predicted_us = 10.0 + channels});
  }
  return ways;
}

const exec::cpu::PreparedPlan* PlanOf(int channels) {
  static std::deque<exec::cpu::PreparedPlan> plans(32);
  return &plans[static_cast<std::size_t>(channels)];
}

Recipe RecipeOf(const tune::Choice& choice) {
  return {.choice = choice, .plans = {PlanOf(choice.channels)}, .chunk_bytes = 64, .pool_chunk_bytes = 64};
}

// A rank with its queue of jobs, as an engine has it. Ordinary calls are told from others as Planner::Entry does.
class Rank {
 public:
  Rank(const Costs& costs, const Trials::Rules& rules)
      : trials_(WaysOf(costs), rules, RecipeOf, [](std::size_t) { return RecipeOf({.channels = 31}); }),
        stretch_({.calls = rules.begin, .recipe = &trials_.current()}),
        left_(rules.begin + 1),
        granted_(left_) {}

  void Submit() {
    Job& job = jobs_.emplace_back();
    job.count = 16;
    if (left_ > 1) {
      --left_;
      Follow(*stretch_.recipe, job);
      ++ordinary;
    } else {
      if (Job* ahead = trials_.Next(job, granted_)) {
        ahead->done = false;
        queue_.push_back(ahead);
      }
      stretch_ = trials_.Ahead();
      left_ = granted_ = stretch_.calls + 1;
    }
    queue_.push_back(&job);
  }
  bool idle() const { return queue_.empty(); }
  Job& first() { return *queue_.front(); }
  void Start() {
    if (first().calls.watcher != nullptr) first().calls.watcher->Starts(first());
  }
  void End() {
    first().done = true;
    if (first().calls.watcher != nullptr) first().calls.watcher->Ended(first());
    queue_.pop_front();
  }
  const Recipe& current() { return trials_.current(); }

  int ordinary = 0;

 private:
  Trials trials_;
  Trials::Stretch stretch_;
  std::uint64_t left_, granted_;
  std::deque<Job> jobs_;
  std::deque<Job*> queue_;
};

class Ranks {
 public:
  Ranks(int count, const Costs& costs, const Trials::Rules& rules) : costs(costs) {
    for (int i = 0; i < count; ++i) ranks.emplace_back(costs, rules);
  }

  // The first jobs of all; they must be of one call and take one way.
  void RunOne() {
    const int way = Begin();
    if (way == 31) {
      Exchange();
    } else {
      now_ns += costs.at(way) * 1000;
      taken.push_back(way);
    }
    for (Rank& rank : ranks) rank.End();
  }
  void RunAll(int calls) {
    for (int i = 0; i < calls; ++i) {
      for (Rank& rank : ranks) rank.Submit();
      while (!ranks[0].idle()) RunOne();
    }
  }

  Costs costs;
  bool one_is_late = true;
  std::deque<Rank> ranks;
  std::vector<int> taken;  // by one call after the other

 private:
  int Begin() {
    std::set<const void*> plans;
    for (Rank& rank : ranks) {
      if (&rank == &ranks.back() && one_is_late) now_ns += 70000 + 1000 * static_cast<std::int64_t>(taken.size() % 50);
      rank.Start();
      plans.insert(rank.first().parts.at(0).plan);
    }
    EXPECT_EQ(plans.size(), 1U) << "call " << taken.size();
    for (int way = 0; way < 32; ++way) {
      if (plans.contains(PlanOf(way))) return way;
    }
    return -1;
  }
  void Exchange() {
    ++(ranks[0].first().count == 1 ? gatherings : exchanges);
    std::vector<std::int64_t> greatest(ranks[0].first().count, std::numeric_limits<std::int64_t>::min());
    for (Rank& rank : ranks) {
      ASSERT_EQ(rank.first().count, greatest.size());
      const auto* own = reinterpret_cast<const std::int64_t*>(rank.first().in);
      for (std::size_t i = 0; i < greatest.size(); ++i) greatest[i] = std::max(greatest[i], own[i]);
    }
    for (Rank& rank : ranks) std::ranges::copy(greatest, reinterpret_cast<std::int64_t*>(rank.first().out));
  }

 public:
  int exchanges = 0, gatherings = 0;
};

TEST(Trials, TheFastestWayStays) {
  Ranks three(3, {{1, 60}, {2, 100}, {3, 15}, {4, 80}},
              {.begin = 10, .second = 100, .period = 100, .turn = 3, .later_turn = 3, .now_ns = Now});
  three.RunAll(120);
  EXPECT_EQ(three.exchanges, 1);
  // Ten of the first way, four ways of nine calls each, and the winner.
  EXPECT_EQ(std::ranges::count(three.taken, 1), 10 + 9);
  EXPECT_EQ(std::ranges::count(three.taken, 2), 9);
  EXPECT_EQ(std::ranges::count(three.taken, 3), 9 + 120 - 46);
  EXPECT_EQ(three.taken.back(), 3);
  // All but those of the trial, the one before which it is decided, and the next, which learns of it.
  for (const Rank& rank : three.ranks) EXPECT_EQ(rank.ordinary, 120 - 36 - 2);
}

TEST(Trials, OneThatIsAsFastAsTheCurrentWayDoesNotTakeItsPlace) {
  Ranks two(2, {{1, 200}, {2, 199}, {3, 400}},
            {.begin = 3, .second = 50, .period = 50, .turn = 3, .later_turn = 3, .now_ns = Now});
  two.RunAll(45);
  EXPECT_EQ(two.exchanges, 1);
  EXPECT_EQ(two.taken.back(), 1);
}

// Ways beyond the best six take part in the first trial only.
TEST(Trials, LaterTrialsFollowTheMachine) {
  Ranks two(2, {{1, 40}, {2, 10}, {3, 120}, {4, 60}, {5, 80}, {6, 100}, {7, 70}, {8, 50}},
            {.begin = 0, .second = 20, .period = 20, .turn = 3, .later_turn = 3, .now_ns = Now});
  two.RunAll(72 + 20);
  EXPECT_EQ(two.taken.back(), 2);
  two.costs = {{1, 40}, {2, 100}, {3, 10}, {4, 60}, {5, 10}, {6, 10}, {7, 70}, {8, 50}};
  two.taken.clear();
  two.RunAll(54 + 20);
  EXPECT_EQ(two.exchanges, 2);
  EXPECT_EQ(two.taken.back(), 5);
  EXPECT_EQ(std::ranges::count(two.taken, 3) + std::ranges::count(two.taken, 6), 0);
}

// Two of each, or as many as take at most twice as long as the fastest one.
TEST(Trials, LaterTrialsAreAmongWaysOfBothKinds) {
  const auto taken_later = [](const Costs& costs) {
    Ranks two(2, costs, {.begin = 0, .second = 20, .period = 20, .turn = 3, .later_turn = 3, .now_ns = Now});
    two.RunAll(static_cast<int>(costs.size()) * 9 + 20);
    two.taken.clear();
    two.RunAll(6 * 9);
    EXPECT_EQ(two.exchanges, 1);
    return std::set(two.taken.begin(), two.taken.end());
  };
  const Costs through_pages = {{1, 60}, {2, 50}, {3, 61}, {4, 62}, {5, 63}, {6, 64}, {7, 65}};
  const auto taken_with = [&](Costs referring) {
    referring.insert(through_pages.begin(), through_pages.end());
    return taken_later(referring);
  };
  EXPECT_EQ(taken_with({}), (std::set{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(taken_with({{20, 90}, {21, 80}, {22, 85}}), (std::set{1, 2, 3, 4, 21, 22}));
  EXPECT_EQ(taken_with({{20, 90}, {21, 55}, {22, 85}}), (std::set{1, 2, 3, 4, 21, 22}));
  EXPECT_EQ(taken_with({{20, 90}, {21, 101}, {22, 102}}), (std::set{1, 2, 3, 4, 5, 20}));
  EXPECT_EQ(taken_with({{20, 101}}), (std::set{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(taken_later({{1, 70}, {20, 60}, {21, 50}, {22, 61}, {23, 62}, {24, 63}, {25, 64}}),
            (std::set{1, 20, 21, 22, 23, 24}));
}

// As a rule that is the first one, in which a way is made ready.
TEST(Trials, TheSlowestTurnOfAWayDoesNotCount) {
  Ranks two(2, {{1, 55}, {2, 400}},
            {.begin = 0, .second = 100, .period = 100, .turn = 3, .later_turn = 3, .now_ns = Now});
  two.RunAll(6);  // a turn of each
  two.costs[2] = 60;
  two.RunAll(3);
  two.costs[2] = 40;
  two.RunAll(9 + 1);
  EXPECT_EQ(two.exchanges, 1);
  EXPECT_EQ(two.taken.back(), 2);
}

// What disturbs a way for as long as the first trial lasts is made good soon after, by however little the other is better.
TEST(Trials, TheSecondCountsWithoutTheFirst) {
  Ranks two(2, {{1, 1000}, {2, 1200}},
            {.begin = 0, .second = 10, .period = 500, .turn = 3, .later_turn = 5, .now_ns = Now});
  two.RunAll(18 + 10);
  EXPECT_EQ(two.taken.back(), 1);
  two.costs[2] = 990;
  two.taken.clear();
  two.RunAll(30);
  EXPECT_EQ(std::ranges::count(two.taken, 2), 3 * 5);
  two.RunAll(1);
  EXPECT_EQ(two.exchanges, 2);
  EXPECT_EQ(two.taken.back(), 2);
}

// The third comes as soon after the second and counts as much. In later ones the current way has an advantage.
TEST(Trials, LaterOnesCountAsMuchAsTheOneBefore) {
  Ranks two(2, {{1, 1000}, {2, 990}},
            {.begin = 0, .second = 10, .period = 500, .turn = 3, .later_turn = 5, .now_ns = Now});
  auto run_to_next = [&, calls = 18]() mutable {
    two.RunAll(std::exchange(calls, 30) + 1);
    two.taken.clear();
    two.RunAll(two.exchanges <= 2 ? 9 : 499);
    return two.taken.back();
  };
  EXPECT_EQ(run_to_next(), 1);  // less than 5 % better
  EXPECT_EQ(run_to_next(), 2);
  two.costs[1] = 985;
  EXPECT_EQ(run_to_next(), 2);
  two.costs[1] = 900;
  EXPECT_EQ(run_to_next(), 2);
  EXPECT_EQ(run_to_next(), 1);
  EXPECT_EQ(two.exchanges, 5);
}

// All calls of a turn count then, and ranks come together before it.
TEST(Trials, RanksMeetBeforeTheTurnsOfWhatGoesOneWay) {
  Ranks three(3, {{1, 60}, {2, 100}, {3, 15}},
              {.begin = 4, .second = 100, .period = 100, .turn = 5, .later_turn = 5, .one_way = true, .now_ns = Now});
  three.RunAll(90);
  EXPECT_EQ(three.exchanges, 1);
  EXPECT_EQ(three.gatherings, 3 * 3);
  EXPECT_EQ(std::ranges::count(three.taken, 2), 15);
  EXPECT_EQ(three.taken.back(), 3);
}

// Of short calls the clock is read at a turn's two ends alone, and those between them are ordinary ones.
TEST(Trials, ShortOnesAreTimedTurnByTurn) {
  static int reads;
  reads = 0;
  const auto count = [] { return ++reads, now_ns; };
  Ranks two(2, {{1, 60}, {2, 100}, {3, 15}},
            {.begin = 4,
             .second = 100,
             .period = 100,
             .turn = 50,
             .later_turn = 50,
             .one_way = true,
             .short_calls = true,
             .now_ns = count});
  two.RunAll(4 + 3 * 3 * 50 + 10);
  EXPECT_EQ(two.exchanges, 1);
  EXPECT_EQ(reads, 2 * 3 * 3 * 2);
  EXPECT_EQ(two.taken.back(), 3);
  for (const int way : {1, 2}) EXPECT_EQ(std::ranges::count(two.taken, way), 3 * 50 + (way == 1 ? 4 : 0));
  for (const Rank& rank : two.ranks) EXPECT_EQ(rank.ordinary, 4 + 3 * 3 * (50 - 2) + 10 - 2);
}

// Of others the clock is read at a turn's two ends where calls follow each other at once, else in each call. Every trial finds out whether it is so.
TEST(Trials, ShortOnesThatFollowAtOnceAreTimedTurnByTurn) {
  static int reads;
  reads = 0;
  const auto count = [] { return ++reads, now_ns; };
  constexpr int kTurn = 60, kCounted = 40, kTrial = 2 * 3 * kTurn, kBetween = 10;
  Ranks two(2, {{1, 60}, {2, 100}},
            {.begin = 0,
             .second = kBetween,
             .period = kBetween,
             .turn = kTurn,
             .later_turn = kTurn,
             .short_calls = true,
             .now_ns = count});
  const auto reads_of_next_trial = [&] {
    const int before = reads;
    two.RunAll(kTrial + kBetween);
    return reads - before;
  };
  constexpr int kWhole = 2 * 3 * 2 * 2, kEach = kWhole * kCounted;
  EXPECT_EQ(reads_of_next_trial(), kEach);  // the first one
  EXPECT_EQ(reads_of_next_trial(), kEach);
  two.one_is_late = false;
  EXPECT_EQ(reads_of_next_trial(), kEach);
  EXPECT_EQ(reads_of_next_trial(), kWhole);
  EXPECT_EQ(two.taken.back(), 1);
  two.costs[1] = 101;
  two.costs[2] = 50;
  EXPECT_EQ(reads_of_next_trial(), kWhole);
  EXPECT_EQ(two.taken.back(), 2);
  two.one_is_late = true;
  EXPECT_EQ(reads_of_next_trial(), kWhole);
  EXPECT_EQ(reads_of_next_trial(), kEach);
  EXPECT_EQ(two.exchanges, 7);
}

// On crowded cores the sender has sent the whole turn before its receiver comes to run: that is a part of what a way takes.
TEST(Trials, WhatASenderDoesFirstCounts) {
  for (const bool whole : {false, true}) {
    // us that a call takes the sender, and then the receiver.
    const std::map<int, std::pair<int, int>> sides{{1, {100, 10}}, {2, {40, 30}}};
    const Trials::Rules rules{.begin = 0,
                              .second = 100,
                              .period = 100,
                              .turn = 8,
                              .later_turn = 8,
                              .one_way = true,
                              .short_calls = whole,
                              .now_ns = Now};
    Rank sender({{1, 0}, {2, 0}}, rules), receiver({{1, 0}, {2, 0}}, rules);
    const auto run_turn = [&](Rank& rank, int calls, bool sends) {
      for (int call = 0; call < calls; ++call) {
        rank.Start();
        for (const auto& [way, side] : sides) {
          if (rank.first().parts.at(0).plan == PlanOf(way)) now_ns += 1000 * (sends ? side.first : side.second);
        }
        rank.End();
      }
    };
    for (int turn = 0; turn < 2 * 3; ++turn) {
      for (int call = 0; call < 8; ++call) sender.Submit(), receiver.Submit();
      run_turn(sender, 9, true);  // with the job by which they wait for each other
      run_turn(receiver, 9, false);
    }
    sender.Submit(), receiver.Submit();
    auto* a = reinterpret_cast<std::int64_t*>(sender.first().out);
    auto* b = reinterpret_cast<std::int64_t*>(receiver.first().out);
    for (std::size_t i = 0; i < sender.first().count; ++i) a[i] = b[i] = std::max(a[i], b[i]);
    run_turn(sender, 2, true);
    run_turn(receiver, 2, false);
    EXPECT_EQ(sender.current().choice.channels, 2);
    EXPECT_EQ(receiver.current().choice.channels, 2);
  }
}

// A sender is ahead: calls of its receiver overlap its next ones, and what they share counts once.
TEST(Trials, TheSlowerSideCounts) {
  // us that a call takes the sender, and the receiver once it is sent. The sum of both says otherwise than the greater one.
  const std::map<int, std::pair<int, int>> sides{{1, {5, 100}}, {2, {70, 60}}};
  Trials::Rules rules{
      .begin = 0, .second = 100, .period = 100, .turn = 8, .later_turn = 8, .one_way = true, .now_ns = Now};
  Rank sender({{1, 0}, {2, 0}}, rules), receiver({{1, 0}, {2, 0}}, rules);
  std::int64_t sent = 0, received = 0;
  const auto run = [](Rank& rank, std::int64_t begin, std::int64_t us) {
    now_ns = begin;
    rank.Start();
    return begin + us * 1000;
  };
  for (int call = 0; call < 2 * 3 * 8 + 1; ++call) {
    sender.Submit();
    receiver.Submit();
    while (!sender.idle()) {
      int way = 31;
      const std::int64_t began = sent;
      run(sender, sent, 0);
      for (const auto& [w, side] : sides) {
        if (sender.first().parts.at(0).plan == PlanOf(w)) way = w;
      }
      if (way == 31) {
        run(receiver, received, 0);
        if (sender.first().count > 1) {
          auto* a = reinterpret_cast<std::int64_t*>(sender.first().out);
          auto* b = reinterpret_cast<std::int64_t*>(receiver.first().out);
          for (std::size_t i = 0; i < sender.first().count; ++i) a[i] = b[i] = std::max(a[i], b[i]);
        }
        sent = received = std::max(sent, received);
      } else {
        sent = began + sides.at(way).first * 1000;
        run(receiver, received, 0);
        received = std::max(received, sent) + sides.at(way).second * 1000;
      }
      now_ns = sent;
      sender.End();
      now_ns = received;
      receiver.End();
    }
  }
  EXPECT_EQ(sender.current().choice.channels, 2);
  EXPECT_EQ(receiver.current().choice.channels, 2);
}

// Ranks that submit as far ahead as they like go the same way in every call.
TEST(Trials, ManyCallsUnderWay) {
  std::mt19937 random(7);
  for (const auto& [begin, short_calls, one_way] : {std::tuple{0, false, false},
                                                    {1, false, false},
                                                    {5, false, false},
                                                    {0, true, false},
                                                    {5, true, false},
                                                    {0, true, true},
                                                    {5, true, true}}) {
    Ranks three(3, {{1, 9}, {2, 6}, {3, 1}},
                {.begin = static_cast<std::uint64_t>(begin),
                 .second = 4,
                 .period = 4,
                 .turn = 3,
                 .later_turn = 5,
                 .one_way = one_way,
                 .short_calls = short_calls,
                 .now_ns = Now});
    three.one_is_late = one_way;
    std::vector<int> submitted(3);
    constexpr int kCalls = 400;
    while (std::ranges::min(submitted) < kCalls) {
      for (int r = 0; r < 3; ++r) {
        const int more =
            std::min<int>(kCalls - submitted[r], std::uniform_int_distribution(0, r == 1 ? 90 : 10)(random));
        for (int i = 0; i < more; ++i) three.ranks[r].Submit();
        submitted[r] += more;
      }
      while (std::ranges::none_of(three.ranks, [](const Rank& rank) { return rank.idle(); })) three.RunOne();
    }
    EXPECT_EQ(three.taken.size(), static_cast<std::size_t>(kCalls));
    EXPECT_GT(three.exchanges, 5);
  }
}

TEST(Trials, WaysWithoutHopeDoNotTakePart) {
  std::vector<tune::Choice> ways;
  for (const double us : {1.0, 1.5, 2.9, 3.1, 4.0}) ways.push_back({.predicted_us = us});
  EXPECT_EQ(Trials::Contestants(ways).size(), 3U);
  EXPECT_EQ(Trials::Contestants(std::vector<tune::Choice>(40, {.predicted_us = 1})).size(), Trials::kMostWays);
  EXPECT_EQ(Trials::Contestants({}).size(), 0U);
}

TEST(Trials, TheBestWaysByReferenceHaveHopeForLonger) {
  std::vector<tune::Choice> ways;
  for (const double us : {1.0, 3.1, 4.0, 5.0, 5.9}) ways.push_back({.by_reference = us > 3.5, .predicted_us = us});
  std::vector<double> taken;
  for (const tune::Choice& way : Trials::Contestants(ways)) taken.push_back(way.predicted_us);
  EXPECT_EQ(taken, (std::vector<double>{1.0, 4.0, 5.0}));
  ways[2].predicted_us = 6.1;
  ways.resize(3);
  EXPECT_EQ(Trials::Contestants(ways).size(), 1U);
}

}  // namespace
}  // namespace tutti::comm
