// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The campaign reads kinds and ranks back from the sentences that are told, and takes the cases of a seed to be the same each time.
#include "tests/diag/told.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "diag/sentence.h"
#include "tests/diag/host_case.h"
#include "tests/support/scratch_folder.h"

namespace tutti::tests {
namespace {

using diag::Kind;
using diag::Place;
using diag::Verdict;

using Ranks = std::vector<int>;

Place At(int rank, const std::string& host = "north") {
  return {.communicator = 7, .communicator_name = "dp", .rank = rank, .host = host, .pid = 4100 + rank};
}

Verdict Of(Kind kind, const Ranks& culprits) {
  Verdict v{.kind = kind, .ranks = 8, .held_ns = 2 * diag::kSecond};
  for (const int rank : culprits) v.culprits.push_back(At(rank));
  v.direct = {At(0, "east"), At(6, "east")};
  return v;
}

void ExpectRead(const Verdict& v, const Ranks& ranks) {
  const std::string sentence = diag::Sentence(v);
  const Told told = ReadSentence(sentence);
  EXPECT_EQ(told.kind, v.kind) << sentence;
  EXPECT_EQ(told.ranks, ranks) << sentence;
  EXPECT_FALSE(told.cleared) << sentence;
  const Told over = ReadSentence("cleared after 3.8 s: " + sentence);
  EXPECT_EQ(over.kind, v.kind) << sentence;
  EXPECT_TRUE(over.cleared) << sentence;
}

TEST(ToldTest, OneRankOrSeveral) {
  for (const Kind kind : {Kind::kLateHost, Kind::kStopped, Kind::kDead, Kind::kTraced}) {
    ExpectRead(Of(kind, {3}), {3});
    ExpectRead(Of(kind, {1, 3}), {1, 3});
    ExpectRead(Of(kind, {1, 2, 3, 5}), {1, 2, 3, 5});
  }
}

TEST(ToldTest, AHost) {
  ExpectRead(Of(Kind::kHostGone, {3}), {3});
  ExpectRead(Of(Kind::kHostGone, {3, 4}), {3, 4});
}

TEST(ToldTest, AStarvedRank) {
  Verdict v = Of(Kind::kStarved, {2});
  v.evidence = {"its control group was kept off the cores for 90 % of the last 0.2 s", "rank 2 has called 5"};
  ExpectRead(v, {2});
  v.evidence[0] = "its main thread was ready and had no core for 95 % of the last 0.2 s";
  ExpectRead(v, {2});
}

TEST(ToldTest, AStoppedProcessOfAnotherHost) {
  Verdict v = Of(Kind::kStopped, {2});
  v.process = diag::ProcessLook{.host = "north", .pid = 4102, .state = diag::ProcessState::kSilent};
  ExpectRead(v, {2});
}

TEST(ToldTest, RanksThatHaveNotCome) {
  Verdict v = Of(Kind::kInitIncomplete, {});
  v.missing = {1, 3};
  ExpectRead(v, {1, 3});
  v.quote = "10.0.0.1:500 of the process that made the id";  // does not answer: nobody is missing for certain
  ExpectRead(v, {});
  v.quote.clear();
  v.missing = {};
  ExpectRead(v, {});
}

TEST(ToldTest, ALink) {
  for (const Kind kind : {Kind::kLinkSlow, Kind::kLinkStalled}) {
    Verdict v = Of(kind, {});
    v.links.push_back({.from = At(3), .to = At(5)});
    ExpectRead(v, {3});
    EXPECT_EQ(ReadSentence(diag::Sentence(v)).to, 5);
    v.links.push_back({.from = At(3), .to = At(6)});
    v.common = "host north";
    ExpectRead(v, {3});
  }
}

TEST(ToldTest, AnNvLink) {
  Verdict v = Of(Kind::kNvLinkFault, {});
  v.links.push_back({.from = At(3), .to = At(5)});
  v.reasons = {"NVLink 4 of GPU 0000:3b:00.0 is down"};
  ExpectRead(v, {3});
}

// What the system says of an end makes no other kind of it.
TEST(ToldTest, ADeadRankAndWhy) {
  Verdict v = Of(Kind::kDead, {3});
  v.reasons = {"the kernel ended it because control group /job lacked memory (limit 64.0 MiB; it had 63.0 MiB)",
               "NVML has not answered for 3.2 s"};
  ExpectRead(v, {3});
}

TEST(ToldTest, CallsThatDoNotMatch) {
  Verdict v = Of(Kind::kMismatch, {5});
  v.calls = {{.who = At(5), .call = {.count = 7}, .sequence = 3}, {.who = At(0), .call = {.count = 8}, .sequence = 3}};
  ExpectRead(v, {5});
}

TEST(ToldTest, ADeadlock) {
  Verdict v = Of(Kind::kDeadlock, {4, 1});
  v.calls = v.owed = {{.who = At(4), .call = {.count = 7}, .sequence = 3},
                      {.who = At(1), .call = {.count = 8}, .sequence = 3}};
  ExpectRead(v, {4, 1});
}

TEST(ToldTest, WhatIsNotKnown) {
  Verdict v = Of(Kind::kUnknown, {});
  v.evidence = {"implausible: rank 2 waits for itself"};
  ExpectRead(v, {});
}

TEST(ToldTest, AnotherSentenceIsNone) { EXPECT_EQ(ReadSentence("all is well").kind, Kind::kBroken); }

TEST(ToldTest, ALogIsReadAsItGrows) {
  const ScratchFolder folder;
  const std::string path = folder.Path("log");
  LogReader reader(path);
  EXPECT_TRUE(reader.More().empty()) << "there is no file yet";
  std::ofstream file(path);
  const auto line = [](const char* source, const char* level, const std::string& message) {
    return nlohmann::json{{"file", source}, {"level", level}, {"message", message}}.dump();
  };
  const std::string one = line("watch/vigil.cc", "WARN", diag::Sentence(Of(Kind::kStopped, {3})));
  file << line("comm/core.cc", "WARN", "rank 1 is stopped") << "\n" << one << "\n" << one.substr(0, 20) << std::flush;
  std::vector<Told> told = reader.More();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].warn);
  EXPECT_EQ(told[0].ranks, Ranks{3});
  EXPECT_TRUE(reader.More().empty());
  file << one.substr(20) << "\n" << std::flush;
  EXPECT_EQ(reader.More().size(), 1u);
}

// Every fault begins at each phase that it has, and meets each place.
TEST(HostCaseTest, SeedsReachAllPhasesAndPlaces) {
  std::map<Phase, int> phases;
  int alone = 0, first = 0, last = 0;
  constexpr int kCases = 400;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    const HostCase what = HostCase::Of(kHostFaults * (50'000 + i), {.name_spaces = true, .control_groups = true});
    ASSERT_EQ(what.fault, HostFault::kStop);
    ++phases[what.phase];
    first += what.victim == 0 ? 1 : 0;
    last += what.victim == what.ranks() - 1 ? 1 : 0;
    alone += std::ranges::count(what.host_of, what.host_of[static_cast<std::size_t>(what.victim)]) == 1 ? 1 : 0;
  }
  for (const Phase phase : {Phase::kInit, Phase::kFirst, Phase::kSteady}) EXPECT_GT(phases[phase], kCases / 5);
  EXPECT_GT(first, kCases / 5);
  EXPECT_GT(last, kCases / 5);
  EXPECT_GT(alone, kCases / 5);
}

TEST(HostCaseTest, ASeedSaysAllAboutACase) {
  const Means all{.name_spaces = true, .control_groups = true};
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const HostCase what = HostCase::Of(seed, all);
    EXPECT_EQ(what.Describe(), HostCase::Of(seed, all).Describe());
    EXPECT_LE(what.ranks(), kMostHostRanks);
    EXPECT_LE(what.hosts(), kMostHosts);
    EXPECT_TRUE(!what.IsOfNetwork() || (what.hosts() > 1 && what.name_spaces)) << what.Describe();
    EXPECT_NE(what.victim, what.other);
    bool somebody_tells = false;
    for (int rank = 0; rank < what.ranks(); ++rank) {
      if (!what.MustTell(rank)) continue;
      somebody_tells = true;
      EXPECT_FALSE(what.AllowedBy(rank).empty());
    }
    EXPECT_NE(somebody_tells, what.IsBenign()) << what.Describe();
  }
}

}  // namespace
}  // namespace tutti::tests
