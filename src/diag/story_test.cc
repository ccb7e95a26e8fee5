// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What is told over time, and how.
#include "diag/story.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "diag/sentence.h"
#include "diag/test_looks.h"
#include "diag/what.h"

namespace tutti::diag {
namespace {

std::vector<Verdict> LateFor(double seconds, int culprit = 2) {
  Job job(4);
  job.WaitOnRing(seconds, {culprit});
  return job.Judged();
}

TEST(Story, TellsOnceAgainWhenLouderAndThatItIsOver) {
  Story story;
  std::vector<std::string> told;
  for (int tenth = 1; tenth <= 150; ++tenth) {
    const double seconds = tenth * 0.1;
    for (const Story::Line& line : story.Update(LateFor(seconds), tenth * 100 * kMs)) {
      told.push_back(std::string(Name(line.severity)) + " " + std::to_string(tenth) + " " + line.text.substr(0, 27));
    }
  }
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0], "INFO 15 rank 2 (host a, pid 102) ha");
  EXPECT_EQ(told[1], "WARN 100 rank 2 (host a, pid 102) ha");
  ASSERT_EQ(story.standing().size(), 1u);
  EXPECT_TRUE(story.Update({}, 15'100 * kMs).empty());  // it may have been missed
  const std::vector<Story::Line> over = story.Update({}, 15'200 * kMs);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].text.substr(0, 52), "cleared after 15.0 s: rank 2 (host a, pid 102) has n");
  EXPECT_TRUE(story.standing().empty());
  EXPECT_TRUE(story.Update({}, 15'300 * kMs).empty());
}

TEST(Story, TellsWhatChanges) {
  Story story;
  EXPECT_EQ(story.Update(LateFor(3), 3 * kSecond).size(), 1u);
  EXPECT_TRUE(story.Update(LateFor(3.1), 3100 * kMs).empty());
  // Another rank: news of it, and soon that the first is over.
  EXPECT_EQ(story.Update(LateFor(3.2, 1), 3200 * kMs).size(), 1u);
  EXPECT_EQ(story.Update(LateFor(3.3, 1), 3300 * kMs).size(), 1u);
  // Late for another call: told again, at once.
  Job job(4);
  job.WaitOnRing(2, {1});
  for (int r = 0; r < 4; ++r) {
    RankLook& rank = job.rank(r);
    rank.sequence += 5, rank.called += 5, rank.finished += 5, rank.finished_sequence += 5, rank.running.sequence += 5;
    rank.history.front().last += 5, rank.wait.number += 5, rank.running.number += 5;
  }
  const std::vector<Story::Line> lines = story.Update(job.Judged(), 3400 * kMs);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].text.find("operation 16"), std::string::npos) << lines[0].text;
}

// What is lacking of the cores is seen now and then only: it is one verdict, told again when it is first seen.
TEST(Story, ALateRankTurnsOutToStarve) {
  Story story;
  const auto starved_for = [](double seconds) {
    std::vector<Verdict> verdicts = LateFor(seconds);
    verdicts.front().kind = Kind::kStarved;
    verdicts.front().evidence = {"its control group was kept off the cores for 90 % of the last 0.2 s"};
    return verdicts;
  };
  EXPECT_EQ(story.Update(LateFor(3), 3 * kSecond).size(), 1u);
  const std::vector<Story::Line> lines = story.Update(starved_for(3.2), 3200 * kMs);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].text.find("kept off the cores"), std::string::npos) << lines[0].text;
  EXPECT_TRUE(story.Update(LateFor(3.4), 3400 * kMs).empty());
  EXPECT_TRUE(story.Update(starved_for(3.6), 3600 * kMs).empty());
  EXPECT_TRUE(story.Update(LateFor(3.8), 3800 * kMs).empty());
  EXPECT_TRUE(story.Update({}, 4000 * kMs).empty());
  const std::vector<Story::Line> over = story.Update({}, 4200 * kMs);
  ASSERT_EQ(over.size(), 1u);
  EXPECT_NE(over[0].text.find("kept off the cores"), std::string::npos) << over[0].text;
}

// Who saves something computes between its writes: the pause stays one that the program wants until no write has been seen for ten seconds.
TEST(Story, AnExcuseHoldsForAWhile) {
  Story story;
  std::vector<std::string> told;
  for (int second = 1; second <= 50; ++second) {
    std::vector<Verdict> verdicts = LateFor(second);
    if (second % 5 == 2 && second < 30) {
      verdicts.front().excuse = fmt::format("writes /ckpt/{}.pt", second);
      verdicts.front().severity = Severity::kInfo;
    }
    for (const Story::Line& line : story.Update(std::move(verdicts), second * kSecond))
      told.push_back(fmt::format("{} {} {}", Name(line.severity), second, line.text.find("writes") != line.text.npos));
  }
  // The last write was seen at 27.
  EXPECT_EQ(told, (std::vector<std::string>{"INFO 2 true", "WARN 37 false"}));
}

// They have waited for another one before.
TEST(Story, WarnsOfNobodyForWhatAnotherHasTaken) {
  Story story;
  std::vector<std::string> told;
  for (int second = 2; second <= 40; ++second) {
    std::vector<Verdict> verdicts = LateFor(second, second <= 9 ? 1 : 2);
    for (const Story::Line& line : story.Update(std::move(verdicts), second * kSecond))
      told.push_back(fmt::format("{} {} {}", Name(line.severity), second, line.text.substr(0, 6)));
  }
  EXPECT_EQ(told, (std::vector<std::string>{"INFO 2 rank 1", "INFO 10 rank 2", "INFO 11 cleare", "WARN 19 rank 2"}));
}

// Those who wait for it may have waited long before it was stopped.
// What is on its way on a link has not moved since its sender, too, began to wait.
TEST(Story, AStalledLinkCountsFromWhenBothOfItsEndsWait) {
  const auto stalled = [](double sender_waits) {
    Job job(3);
    job.Spread();
    job.WaitOnRing(9);
    job.Wait(0, 2, sender_waits);
    job.Edge(0, 1, 500, 499, 490);
    return job.Judged();
  };
  for (const double seconds : {3.9, 4.0}) {
    Story story;
    const std::vector<Story::Line> lines = story.Update(stalled(seconds), 100 * kSecond);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].severity, seconds < 4 ? Severity::kInfo : Severity::kWarn);
    EXPECT_EQ(lines[0].text.substr(0, 41), "nothing moves on the link from rank 0 (ho");
  }
}

TEST(Story, AStopCountsFromWhenItIsSeen) {
  Job job(4);
  job.WaitOnRing(8, {2});
  job.process(2).state = ProcessState::kStopped;
  Story story;
  std::vector<int> told;
  for (int fifth = 0; fifth < 10; ++fifth) {
    for (const Story::Line& line : story.Update(job.Judged(), fifth * kSecond / 5)) {
      EXPECT_EQ(line.severity, Severity::kWarn);
      EXPECT_NE(line.text.find("is stopped; ranks 0, 1 and 3 have waited for 8.0 s"), line.text.npos) << line.text;
      told.push_back(fifth);
    }
  }
  EXPECT_EQ(told, std::vector{5});
  // One that was over before is not told of.
  Story other;
  for (int fifth = 0; fifth < 4; ++fifth) EXPECT_TRUE(other.Update(job.Judged(), fifth * kSecond / 5).empty());
  for (int fifth = 4; fifth < 9; ++fifth) EXPECT_TRUE(other.Update({}, fifth * kSecond / 5).empty());
}

TEST(Story, ForgetsWithoutAWord) {
  Story story;
  ASSERT_EQ(story.Update(LateFor(3), 3 * kSecond).size(), 1u);
  const Verdict verdict = story.standing().front();
  story.Forget(verdict);
  for (int i = 1; i < 5; ++i) EXPECT_TRUE(story.Update({}, (3 + i) * kSecond).empty());
}

TEST(Story, KeepsShortWaitsToItself) {
  Story story;
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(story.Update(i % 3 == 0 ? LateFor(1) : std::vector<Verdict>{}, i * 100 * kMs).empty());
}

// What is slow is told when it was so in 3 of 4 seconds, and has been for 5; WARN after 5.5 s where a tenth is left, 13 where a third is.
TEST(Story, TakesItsTimeOverWhatIsSlow) {
  const auto slow = [](double part) {
    Verdict v{.kind = Kind::kLinkSlow, .bytes_per_s = part * 50e9, .rated_bytes_per_s = 50e9};
    v.links.push_back({.from = {.rank = 3}, .to = {.rank = 4}});
    return std::vector{v};
  };
  for (const auto& [part, warned] : {std::pair(0.1, 6), std::pair(0.33, 13)}) {
    Story story;
    std::vector<int> told;
    for (int half = 0; half <= 80; ++half) {
      const bool seen = half % 8 != 3;  // one look in eight does not see it
      for (const Story::Line& line : story.Update(seen ? slow(part) : std::vector<Verdict>{}, half * kSecond / 2)) {
        EXPECT_EQ(line.text.substr(0, 10), "data move ");
        told.push_back(half / 2);
      }
    }
    EXPECT_EQ(told, (std::vector{5, warned}));
  }
  Story story;
  for (int second = 0; second < 40; ++second) {
    EXPECT_TRUE(story.Update(second % 2 == 0 ? slow(0.1) : std::vector<Verdict>{}, second * kSecond).empty());
  }
}

// A card that is slow: one of its links always shows it, each of the others now and then. Only the former is told of, with what it carries.
TEST(Story, LeavesOutLinksThatAreSlowNowAndThen) {
  Story story;
  std::vector<std::string> told;
  for (int second = 0; second <= 40; ++second) {
    Verdict v{.kind = Kind::kLinkSlow, .bytes_per_s = 24e6, .rated_bytes_per_s = 50e6};
    v.common = "card eth0 of host east";
    const auto link = [](int to, double bytes_per_s) {
      return LinkPlace{.from = {.rank = 1, .host = "east"},
                       .to = {.rank = to, .host = "west"},
                       .nic_from = "eth0",
                       .bytes_per_s = bytes_per_s,
                       .rated_bytes_per_s = 50e6};
    };
    v.links = {link(3 + second % 3, 24e6), link(2, 20e6)};
    for (const Story::Line& line : story.Update({v}, second * kSecond))
      told.push_back(fmt::format("{} {}", second, line.text.substr(0, line.text.find(". "))));
  }
  const std::string slow =
      "data move slowly on the link from rank 1 (host east) by card eth0 to rank 2 (host west), channel 0: 20.0 of "
      "50.0 MB/s";
  EXPECT_EQ(told, (std::vector{"5 " + slow, "13 " + slow}));
}

// A ring whose one link is slow: now and then the next link seems to be as well, and at times only that one.
TEST(Story, GoesOnWhereOtherLinksOfThePlaceAreSlow) {
  const auto slow = [](std::vector<std::pair<int, int>> ranks) {
    Verdict v{.kind = Kind::kLinkSlow, .bytes_per_s = 10e6, .rated_bytes_per_s = 25e6};
    for (const auto& [from, to] : ranks) {
      const auto host = [](int rank) { return std::string(rank == 2 ? "west" : "east"); };
      v.links.push_back({.from = {.rank = from, .host = host(from)}, .to = {.rank = to, .host = host(to)}});
    }
    return std::vector{v};
  };
  const std::vector<std::vector<std::pair<int, int>>> seen{{{1, 2}}, {{1, 2}, {2, 0}}, {{2, 0}}, {{1, 2}}};
  Story story;
  std::vector<int> told;
  for (std::size_t second = 0; second <= 40; ++second) {
    for (const Story::Line& line : story.Update(slow(seen[second % seen.size()]), static_cast<int>(second) * kSecond))
      told.push_back(line.text.starts_with("data move ") ? static_cast<int>(second) : -1);
  }
  EXPECT_EQ(told, (std::vector{5, 13}));
  // It is looked at until it is over.
  EXPECT_TRUE(story.TellsOfSlowness());
  for (int second = 41; second < 45; ++second) story.Update({}, second * kSecond);
  EXPECT_FALSE(story.TellsOfSlowness());
  // Links of other hosts are another story.
  Story other;
  for (int second = 0; second <= 12; ++second) {
    const bool changed = second > 7;
    auto verdict = slow({{0, 2}});
    if (changed) verdict[0].links[0] = {.from = {.rank = 5, .host = "north"}, .to = {.rank = 6, .host = "south"}};
    for (const Story::Line& line : other.Update(verdict, second * kSecond))
      EXPECT_EQ(line.text.starts_with("cleared"), second > 7) << second << line.text;
  }
}

TEST(Sentence, ListsRanks) {
  EXPECT_EQ(RankList({4}), "rank 4");
  EXPECT_EQ(RankList({5, 4}), "ranks 4 and 5");
  EXPECT_EQ(RankList({0, 1, 2, 3, 9, 7, 3}), "ranks 0-3, 7 and 9");
  EXPECT_EQ(Duration(2100 * kMs), "2.1 s");
  EXPECT_EQ(Duration(270 * kSecond), "4.5 min");
  EXPECT_EQ(Duration(11520 * kSecond), "3.2 h");
}

}  // namespace
}  // namespace tutti::diag
