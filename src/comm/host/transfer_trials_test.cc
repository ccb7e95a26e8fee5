// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/transfer_trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "comm/host/group_plan.h"
#include "exec/cpu/prepared_plan.h"
#include "plan/plan.h"
#include "proto/simple.h"

namespace tutti::comm {
namespace {

using exec::cpu::Job;
using exec::cpu::Lane;

std::int64_t now_ns = 1000;
std::int64_t Now() { return now_ns; }

constexpr std::size_t kBytes = std::size_t{2} << 20;
constexpr TransferTrials::Rules kRules{.begin = 10, .second = 50, .period = 50, .turn = 3, .later_turn = 3};
// Where what only sends is tried too.
constexpr TransferTrials::Rules kRefers{
    .begin = 10, .second = 50, .period = 50, .turn = 3, .later_turn = 3, .by_reference = true};
constexpr int kTrial = 2 * 3 * 3;  // messages

std::unique_ptr<exec::cpu::PreparedPlan> PlanOf(int rank, std::vector<int> ends) {
  return exec::cpu::PreparePlan(BuildGroup(ends, rank, 2), "a group");
}

// A rank of two, with what its engine would do.
class Rank {
 public:
  Rank(int rank, std::array<proto::Credit, 2>& credits)
      : rank_(rank),
        trials_(
            2,
            [&credits, rank](int peer) {
              return TransferTrials::Link{.own = &credits[static_cast<std::size_t>(rank)],
                                          .peers = &credits[static_cast<std::size_t>(peer)]};
            },
            Now) {}

  void Try(std::size_t bytes, const TransferTrials::Rules& rules) { trials_.Try(TransferTrials::BandOf(bytes), rules); }
  void Forget(std::size_t bytes) { trials_.Forget(TransferTrials::BandOf(bytes)); }

  // A group of sends and receives of so many bytes each.
  void Start(std::span<const std::size_t> sends, std::span<const std::size_t> receives) {
    constexpr Lane kTried{.tried = true};
    std::vector<int> ends(sends.size(), 1 - rank_);
    ends.insert(ends.end(), receives.size(), ~(1 - rank_));
    plan_ = PlanOf(rank_, std::move(ends));
    job_.group.plan = plan_.get();
    job_.group.sends.clear();
    job_.group.receives.clear();
    for (const std::size_t bytes : sends) job_.group.sends.push_back({.bytes = bytes, .lane = kTried});
    for (const std::size_t bytes : receives) job_.group.receives.push_back({.bytes = bytes, .lane = kTried});
    trials_.Prepare(job_);
    trials_.Starts(job_);
    for (const exec::cpu::SendBlock& block : job_.group.sends) {
      proto::Post& post = posted_.emplace_back();
      post.kind = block.lane.by_reference ? proto::PostKind::kReference : proto::PostKind::kPool;
      post.trial = block.lane.trial;
      post.began_ns = post.trial != 0 ? job_.group.began_ns : 0;
    }
  }
  bool refers() const { return job_.group.sends[0].lane.by_reference; }
  // The next messages of `sender` have come, as many as this rank's call receives.
  void Receive(Rank& sender) {
    for (int step = 0; step < plan_->plan.step_count(); ++step) {
      if (!plan_->plan.step(step).to.empty()) continue;
      trials_.Arrives(job_, step, sender.posted_.front());
      sender.posted_.pop_front();
    }
  }
  void End() { trials_.Ended(job_); }
  bool WouldRefer(TransferTrials::Direction direction, bool answered, std::size_t bytes = kBytes) {
    return trials_.ByReference(1 - rank_, direction, bytes, answered);
  }

 private:
  const int rank_;
  TransferTrials trials_;
  std::unique_ptr<exec::cpu::PreparedPlan> plan_;
  Job job_;
  std::deque<proto::Post> posted_;  // and not yet received
};

// What a message takes, us.
struct Costs {
  int pages = 100;
  int reference = 100;
  int Of(bool refers) const { return refers ? reference : pages; }
};

struct Pair {
  explicit Pair(const TransferTrials::Rules& rules = kRules, std::size_t bytes = kBytes) {
    for (int r = 0; r < 2; ++r) ranks.emplace_back(r, credits).Try(bytes, rules);
  }

  // Each rank sends the other so many bytes and receives as many. Rank 1 comes late.
  void Exchange(const Costs& costs, std::size_t bytes = kBytes) {
    const std::array<std::size_t, 1> one{bytes};
    now_ns += 5000;
    ranks[0].Start(one, one);
    now_ns += 70000 + 1000 * (calls++ % 50);
    ranks[1].Start(one, one);
    mixed += ranks[0].refers() != ranks[1].refers() ? 1 : 0;
    taken.push_back(ranks[0].refers());
    // Nobody ends before both have read.
    for (int r = 0; r < 2; ++r) ranks[static_cast<std::size_t>(r)].Receive(ranks[static_cast<std::size_t>(1 - r)]);
    now_ns += std::max(costs.Of(ranks[0].refers()), costs.Of(ranks[1].refers())) * std::int64_t{1000};
    for (Rank& rank : ranks) rank.End();
  }
  // Rank 0 sends, rank 1 receives.
  void OneWay(const Costs& costs, std::size_t messages = 1) {
    const std::vector<std::size_t> group(messages, kBytes);
    now_ns += 5000;
    ranks[0].Start(group, {});
    now_ns += 1000 * (calls++ % 7);
    ranks[1].Start({}, group);
    taken.push_back(ranks[0].refers());
    now_ns += costs.Of(ranks[0].refers()) * std::int64_t{1000};
    ranks[1].Receive(ranks[0]);
    for (Rank& rank : ranks) rank.End();
  }
  std::uint64_t found(std::size_t rank) const { return credits[rank].verdicts.found.load(); }

  std::array<proto::Credit, 2> credits{};
  std::deque<Rank> ranks;
  std::vector<bool> taken;  // whether rank 0 referred, by one call after the other
  int calls = 0;
  int mixed = 0;  // calls in which the two went different ways
};

// Whatever was predicted; and a trial takes either way as often.
TEST(TransferTrials, TheFasterWayStays) {
  for (const bool predicted : {false, true}) {
    for (const Costs costs : {Costs{.pages = 480, .reference = 200}, Costs{.pages = 140, .reference = 200}}) {
      TransferTrials::Rules rules = kRules;
      rules.by_reference = predicted;
      Pair pair(rules);
      for (int i = 0; i < 10 + kTrial + 1 + 20; ++i) pair.Exchange(costs);
      const bool best = costs.reference < costs.pages;
      EXPECT_EQ(std::count(pair.taken.begin(), pair.taken.begin() + 10, predicted), 10);
      EXPECT_EQ(std::count(pair.taken.begin() + 10, pair.taken.begin() + 10 + kTrial, true), kTrial / 2);
      // The first message after the trial says when the last of it had ended.
      EXPECT_EQ(std::count(pair.taken.begin() + 10 + kTrial + 1, pair.taken.end(), best), 20);
      EXPECT_EQ(pair.mixed, 0);
      for (Rank& rank : pair.ranks) {
        EXPECT_EQ(rank.WouldRefer(TransferTrials::Direction::kTo, true), best);
        EXPECT_EQ(rank.WouldRefer(TransferTrials::Direction::kFrom, true), best);
      }
    }
  }
}

TEST(TransferTrials, AWayThatIsAsFastAsTheCurrentOneDoesNotTakeItsPlace) {
  for (const bool predicted : {false, true}) {
    TransferTrials::Rules rules = kRules;
    rules.by_reference = predicted;
    Pair pair(rules);
    for (int i = 0; i < 10 + kTrial + 5; ++i)
      pair.Exchange({.pages = predicted ? 197 : 200, .reference = predicted ? 200 : 197});
    EXPECT_EQ(pair.taken.back(), predicted);
    EXPECT_NE(pair.found(0), 0U);
  }
}

TEST(TransferTrials, LaterTrialsFollowTheMachine) {
  Pair pair;
  for (int i = 0; i < 10 + kTrial + 30; ++i) pair.Exchange({.pages = 300, .reference = 200});
  EXPECT_TRUE(pair.taken.back());
  for (int i = 0; i < 20 + kTrial + 5; ++i) pair.Exchange({.pages = 100, .reference = 200});
  EXPECT_FALSE(pair.taken.back());
  for (int i = 0; i < 50 + kTrial; ++i) pair.Exchange({.pages = 500, .reference = 200});
  EXPECT_TRUE(pair.taken.back());
  EXPECT_EQ(pair.mixed, 0);
}

// As predicted at first, and then found out anew. Other bands keep what they know.
TEST(TransferTrials, WhatWasFoundOutIsForgotten) {
  Pair pair;
  constexpr std::size_t kOther = kBytes / 2;
  for (Rank& rank : pair.ranks) rank.Try(kOther, kRules);
  const int until_decided = 10 + kTrial + 5;
  for (int i = 0; i < until_decided; ++i) pair.Exchange({.pages = 300, .reference = 200});
  for (int i = 0; i < until_decided; ++i) pair.Exchange({.pages = 300, .reference = 200}, kOther);
  for (Rank& rank : pair.ranks) rank.Forget(kBytes);
  for (Rank& rank : pair.ranks) {
    for (const auto direction : {TransferTrials::Direction::kTo, TransferTrials::Direction::kFrom}) {
      EXPECT_FALSE(rank.WouldRefer(direction, true));
      EXPECT_TRUE(rank.WouldRefer(direction, true, kOther));
    }
  }
  pair.taken.clear();
  for (int i = 0; i < until_decided; ++i) pair.Exchange({.pages = 300, .reference = 200});
  EXPECT_EQ(std::count(pair.taken.begin(), pair.taken.begin() + 10, false), 10);
  EXPECT_EQ(std::count(pair.taken.begin() + 10, pair.taken.begin() + 10 + kTrial, true), kTrial / 2);
  EXPECT_TRUE(pair.taken.back());
  EXPECT_EQ(pair.mixed, 0);
}

// What disturbs the first one, as pages that are touched for the first time do, is made good soon after, in longer turns.
TEST(TransferTrials, TheSecondOneComesSoonAndIsLonger) {
  TransferTrials::Rules rules = kRules;
  rules.second = 20;
  rules.period = 500;
  rules.later_turn = 8;
  Pair pair(rules);
  constexpr int kLater = 2 * 3 * 8;
  for (int i = 0; i < 10 + kTrial + 20; ++i) pair.Exchange({.pages = 300, .reference = 200});
  EXPECT_TRUE(pair.taken.back());
  pair.taken.clear();
  for (int i = 0; i < kLater + 1 + 400; ++i) pair.Exchange({.pages = 150, .reference = 200});
  EXPECT_EQ(std::count(pair.taken.begin(), pair.taken.begin() + kLater, true), kLater / 2);
  EXPECT_EQ(std::count(pair.taken.begin() + kLater + 1, pair.taken.end(), true), 0);
  EXPECT_EQ(pair.mixed, 0);
}

// What the first one has decided has no advantage in the second, by however little that says otherwise.
TEST(TransferTrials, TheSecondOneCountsWithoutTheFirst) {
  for (const bool predicted : {false, true}) {
    TransferTrials::Rules rules = kRules;
    rules.by_reference = predicted;
    Pair pair(rules);
    const auto cost = [&](int of_predicted) {
      return predicted ? Costs{.pages = 200, .reference = of_predicted}
                       : Costs{.pages = of_predicted, .reference = 200};
    };
    for (int i = 0; i < 10 + kTrial + 30; ++i) pair.Exchange(cost(230));
    EXPECT_EQ(pair.taken.back(), !predicted);
    for (int i = 0; i < 20 + kTrial + 30; ++i) pair.Exchange(cost(199));
    EXPECT_EQ(pair.taken.back(), predicted);
    // A later one counts as much as the one before it, and the current way has an advantage.
    for (int i = 0; i < 20 + kTrial + 30; ++i) pair.Exchange(cost(207));
    EXPECT_EQ(pair.taken.back(), predicted);
    for (int i = 0; i < 20 + kTrial + 30; ++i) pair.Exchange(cost(207));
    EXPECT_EQ(pair.taken.back(), !predicted);
    EXPECT_EQ(pair.mixed, 0);
  }
}

// A turn in which others had the core does not count.
TEST(TransferTrials, ATurnThatWasHeldUpDoesNotCount) {
  for (int held = 0; held < 6; ++held) {
    Pair pair;
    for (int i = 0; i < 10 + kTrial + 5; ++i) {
      const int slow = i >= 10 + 3 * held && i < 13 + 3 * held ? 5000 : 0;
      pair.Exchange({.pages = 250 + slow, .reference = 200 + slow});
    }
    EXPECT_TRUE(pair.taken.back()) << held;
  }
}

// Through pages rank 0 is ahead: it ends a call and begins the next while rank 1 still reads what was sent in the first.
TEST(TransferTrials, ARankThatIsAheadDoesNotMakeACallLookShort) {
  Pair pair;
  const std::array<std::size_t, 1> one{kBytes};
  pair.ranks[0].Start(one, one);
  for (int i = 0; i < 60; ++i) {
    now_ns += 1000;
    pair.ranks[1].Start(one, one);
    const bool refers = pair.ranks[1].refers();
    EXPECT_EQ(pair.ranks[0].refers(), refers) << i;
    pair.ranks[0].Receive(pair.ranks[1]);
    pair.ranks[1].Receive(pair.ranks[0]);
    now_ns += refers ? 110000 : 80000;
    pair.ranks[0].End();
    if (!refers) {
      now_ns += 5000;
      pair.ranks[0].Start(one, one);
      now_ns += 145000;
    }
    pair.ranks[1].End();
    now_ns += 1000;
    if (refers) pair.ranks[0].Start(one, one);
  }
  for (Rank& rank : pair.ranks) EXPECT_TRUE(rank.WouldRefer(TransferTrials::Direction::kFrom, true));
}

TEST(TransferTrials, MessagesOfOneDirection) {
  for (const Costs costs : {Costs{.pages = 480, .reference = 200}, Costs{.pages = 140, .reference = 200}}) {
    Pair pair(kRefers);
    for (int i = 0; i < 10 + kTrial + 1 + 20; ++i) pair.OneWay(costs);
    const bool best = costs.reference < costs.pages;
    EXPECT_EQ(std::count(pair.taken.begin() + 10 + kTrial + 1, pair.taken.end(), best), 20);
    EXPECT_EQ(pair.found(0), 0U) << "rank 0 has received nothing";
    // Nothing is known of the other direction.
    EXPECT_EQ(pair.ranks[1].WouldRefer(TransferTrials::Direction::kTo, false), kRefers.by_reference);
    EXPECT_EQ(pair.ranks[1].WouldRefer(TransferTrials::Direction::kFrom, false), best);
  }
}

// By pages a send ends before it is received. So it stays where both sides may send first.
TEST(TransferTrials, WhatOnlySendsDoesNotBeginToWait) {
  Pair pair;
  for (int i = 0; i < 200; ++i) pair.OneWay({.pages = 480, .reference = 200});
  EXPECT_EQ(std::ranges::count(pair.taken, true), 0);
  EXPECT_EQ(pair.found(1), 0U);
}

// Messages to which nothing comes back are another matter: they are counted apart, so that exchanges stay in step, and decided apart.
TEST(TransferTrials, MessagesThatAreAnsweredAreApart) {
  Pair pair(kRefers);
  for (int i = 0; i < 80; ++i) {
    if (i < 7 || i > 30) pair.OneWay({.pages = 100, .reference = 300});
    pair.Exchange({.pages = 300, .reference = 100});
  }
  EXPECT_EQ(pair.mixed, 0);
  for (Rank& rank : pair.ranks) EXPECT_TRUE(rank.WouldRefer(TransferTrials::Direction::kTo, true));
  EXPECT_FALSE(pair.ranks[0].WouldRefer(TransferTrials::Direction::kTo, false));
  EXPECT_EQ(std::popcount(pair.found(1)), 2);
}

TEST(TransferTrials, SeveralMessagesOfAGroupAreCountedAndNotMeasured) {
  Pair pair(kRefers);
  for (int i = 0; i < 60; ++i) pair.OneWay({.pages = 300, .reference = 100}, 2);
  EXPECT_EQ(pair.found(1), 0U);
  EXPECT_GT(std::ranges::count(pair.taken, false), 0);
  EXPECT_TRUE(pair.ranks[0].WouldRefer(TransferTrials::Direction::kTo, false));
  // In step all the same: 120 were sent, and the next trial is the one that begins with number 170.
  for (int i = 120; i < 205; ++i) pair.OneWay({.pages = 300, .reference = 100});
  EXPECT_TRUE(pair.taken.back());
}

// The receiver needs no schedule of its own.
TEST(TransferTrials, ASenderMayTryWhenItLikes) {
  std::array<proto::Credit, 2> credits{};
  Rank sender(0, credits), receiver(1, credits);
  TransferTrials::Rules never = kRefers;
  never.begin = std::uint64_t{1} << 40;
  sender.Try(kBytes, kRefers);
  receiver.Try(kBytes, never);
  const std::array<std::size_t, 1> one{kBytes};
  for (int i = 0; i < 100; ++i) {
    now_ns += 1000;
    sender.Start(one, {});
    receiver.Start({}, one);
    now_ns += sender.refers() ? 1000 : 2000;
    receiver.Receive(sender);
    receiver.End();
  }
  EXPECT_TRUE(sender.WouldRefer(TransferTrials::Direction::kTo, false));
}

// Words that no sender of this kind writes.
TEST(TransferTrials, WordsOfAnySortDoNoHarm) {
  std::array<proto::Credit, 2> credits{};
  TransferTrials trials(
      2, [&](int) { return TransferTrials::Link{.own = &credits[0], .peers = &credits[1]}; }, Now);
  trials.Try(TransferTrials::BandOf(kBytes), kRules);
  const std::unique_ptr<exec::cpu::PreparedPlan> plan = PlanOf(0, {~1});
  Job job;
  job.group.plan = plan.get();
  job.group.receives.push_back({.bytes = kBytes, .lane = {.tried = true}});
  std::mt19937 random(3);
  for (int i = 0; i < 10000; ++i) {
    trials.Starts(job);
    proto::Post post{};
    post.kind = static_cast<proto::PostKind>(random() % 4);
    post.trial = static_cast<std::uint32_t>(random()) >> random() % 32;
    post.began_ns = now_ns - static_cast<std::int64_t>(random() % 1000);
    trials.Arrives(job, 0, post);
    trials.Ended(job);
  }
  const int band = TransferTrials::BandOf(kBytes);
  const std::uint64_t own = std::uint64_t{1} << band | std::uint64_t{1} << (band + TransferTrials::kBands);
  EXPECT_EQ(credits[0].verdicts.found.load() & ~own, 0U);
  EXPECT_EQ(credits[0].verdicts.by_reference.load() & ~own, 0U);
}

// Verdicts on one band say nothing of another; sizes within a band share one.
TEST(TransferTrials, BandsAreApart) {
  constexpr std::size_t kOther = std::size_t{32} << 20;
  Pair pair;
  for (Rank& rank : pair.ranks) rank.Try(kOther, kRules);
  for (int i = 0; i < 50; ++i) {
    pair.Exchange({.pages = 300, .reference = 100}, kBytes + static_cast<std::size_t>(i % 5) * 100000);
    pair.Exchange({.pages = 3000, .reference = 9000}, kOther);
  }
  for (Rank& rank : pair.ranks) {
    EXPECT_TRUE(rank.WouldRefer(TransferTrials::Direction::kTo, true));
    EXPECT_FALSE(rank.WouldRefer(TransferTrials::Direction::kTo, true, kOther));
  }
  EXPECT_EQ(std::popcount(pair.found(0)), 2);
}

TEST(TransferTrials, BandsCoverAllSizes) {
  EXPECT_EQ(TransferTrials::BandOf(TransferTrials::kLeastBytes), 0);
  int last = 0;
  for (std::size_t bytes = TransferTrials::kLeastBytes;
       bytes < TransferTrials::SmallestOfBand(TransferTrials::kBands - 1); bytes += bytes / 5) {
    const int band = TransferTrials::BandOf(bytes);
    ASSERT_GE(band, last);
    ASSERT_LE(band, last + 1);
    ASSERT_GE(bytes, TransferTrials::SmallestOfBand(band));
    ASSERT_LT(bytes, 2 * TransferTrials::SmallestOfBand(band));
    last = band;
  }
  EXPECT_EQ(last, TransferTrials::kBands - 2);
  EXPECT_EQ(TransferTrials::BandOf(~std::size_t{0}), TransferTrials::kBands - 1);
}

// A begin by a clock that is ahead of the receiver's.
TEST(TransferTrials, ClocksThatDifferDecideNothing) {
  std::array<proto::Credit, 2> credits{};
  Rank sender(0, credits), receiver(1, credits);
  for (Rank* rank : {&sender, &receiver}) rank->Try(kBytes, kRules);
  const std::array<std::size_t, 1> one{kBytes};
  for (int i = 0; i < 100; ++i) {
    now_ns += 1'000'000'000;
    sender.Start(one, {});
    now_ns -= 1'000'000'000;
    receiver.Start({}, one);
    now_ns += 1000;
    receiver.Receive(sender);
    receiver.End();
  }
  EXPECT_EQ(credits[1].verdicts.found.load(), 0U);
}

}  // namespace
}  // namespace tutti::comm
