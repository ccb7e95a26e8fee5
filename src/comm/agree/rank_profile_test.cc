// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/rank_profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <mutex>
#include <thread>

#include "comm/identity/settings_source.h"
#include "sys/log/log_output.h"
#include "sys/os/text_file.h"
#include "tests/support/scratch_folder.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

std::string TextOf(const Settings& settings) { return MakeProfile(settings, {}, 1)->settings; }

TEST(RankProfileTest, CrossesTheWire) {
  Settings settings;
  settings.algo = "ring";
  settings.max_channels = 4;
  settings.warnings = "w";
  settings.debug = "INFO";  // each rank's own affair
  tune::Machine machine;
  machine.switch_us = 3.5;
  const Result<RankProfile> sent = MakeProfile(settings, machine, 7);
  ASSERT_TRUE(sent.ok());
  EXPECT_EQ(sent->settings, "NCCL_ALGO=ring\nNCCL_MAX_NCHANNELS=4\n");
  const Result<RankProfile> received = ParseProfile(Encode(*sent));
  ASSERT_TRUE(received.ok());
  EXPECT_EQ(received->settings, sent->settings);
  EXPECT_EQ(received->cpus, 7);
  EXPECT_EQ(received->warnings, sent->warnings);
  EXPECT_EQ(received->machine.switch_us, 3.5);
  EXPECT_TRUE(received->machine_known);
  EXPECT_FALSE(MakeProfile(settings, std::nullopt, 7)->machine_known);
}

TEST(RankProfileTest, NothingIsSentOfTheDefaults) { EXPECT_EQ(TextOf(Settings()), ""); }

TEST(RankProfileTest, AnotherBuildIsRefused) {
  std::vector<std::byte> payload = Encode(*MakeProfile({}, {}, 1));
  EXPECT_TRUE(ParseProfile(payload).ok());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, payload.size() - 1}) {
    EXPECT_FALSE(ParseProfile(std::span(payload).first(bytes)).ok()) << bytes;
  }
  payload.push_back(std::byte{});
  EXPECT_FALSE(ParseProfile(payload).ok());
  payload.pop_back();
  payload[0] ^= std::byte{1};
  EXPECT_EQ(ParseProfile(payload).status().message(),
            "it runs another build of Tutti; start all ranks with the same one");
}

TEST(RankProfileTest, LongSettingsAreRefused) {
  Settings settings;
  settings.algo = std::string(5000, 'x');
  EXPECT_EQ(MakeProfile(settings, {}, 1).status().message(),
            "NCCL_ALGO is 5000 bytes long; the settings that ranks compare may have 4096 bytes together: shorten it");
}

TEST(RankProfileTest, RankZeroDecides) {
  Settings zero, own;
  zero.algo = "tree";
  zero.single_copy = SingleCopy::kOff;
  own.proto = "LL";
  own.timeout_ms = 5;
  TakeFromRankZero(TextOf(zero), own);
  EXPECT_EQ(own.algo, "tree");
  EXPECT_EQ(own.proto, "");
  EXPECT_EQ(own.single_copy, SingleCopy::kOff);
  EXPECT_EQ(own.timeout_ms, 5);
  EXPECT_EQ(own.OriginOf("NCCL_ALGO"), "rank 0");
}

TEST(SettingsComparisonTest, AlikeIsFine) {
  SettingsComparison comparison("NCCL_ALGO=ring\n");
  for (int rank = 0; rank < 5; ++rank) EXPECT_TRUE(comparison.Add("NCCL_ALGO=ring\n"));
  EXPECT_TRUE(comparison.Check().ok());
  EXPECT_TRUE(comparison.Warnings().empty());
}

TEST(SettingsComparisonTest, WhatMustAgreeIsAnErrorThatNamesRanks) {
  SettingsComparison comparison("NCCL_MIN_NCHANNELS=2\n");
  EXPECT_TRUE(comparison.Add("NCCL_MIN_NCHANNELS=2\n"));
  EXPECT_FALSE(comparison.Add(""));
  EXPECT_FALSE(comparison.Add("TUTTI_SHARED_BYTES=4096\n"));
  EXPECT_FALSE(comparison.Add("NCCL_MIN_NCHANNELS=2\n"));
  const Status status = comparison.Check();
  EXPECT_EQ(status.code(), Code::kInvalidUsage);
  EXPECT_EQ(status.message(),
            "the ranks have different settings: NCCL_MIN_NCHANNELS is 2 on ranks 0,3 and 1 on ranks 1-2; "
            "TUTTI_SHARED_BYTES is 6291456 on ranks 0-1,3 and 4096 on rank 2; set them alike on all ranks");
}

TEST(SettingsComparisonTest, AgreementIsWithThisRank) {
  SettingsComparison comparison("TUTTI_SHARED_BYTES=4096\n");  // of rank 1: rank 0's pages are no use to it
  EXPECT_FALSE(comparison.Add(""));
  EXPECT_FALSE(comparison.Add("TUTTI_SHARED_BYTES=4096\n"));
  EXPECT_EQ(comparison.Check().code(), Code::kInvalidUsage);
}

TEST(SettingsComparisonTest, OthersAreWarnings) {
  SettingsComparison comparison("");
  EXPECT_TRUE(comparison.Add("NCCL_ALGO=ring\nTUTTI_TIMEOUT_MS=5\n"));
  EXPECT_TRUE(comparison.Add("TUTTI_TIMEOUT_MS=6\n"));
  EXPECT_TRUE(comparison.Add(""));
  EXPECT_TRUE(comparison.Check().ok());
  EXPECT_EQ(comparison.Warnings(),
            (std::vector<std::string>{
                "NCCL_ALGO is ring on rank 0 and unset on ranks 1-2; rank 0's holds for all",
                "TUTTI_TIMEOUT_MS is 5 on rank 0, 6 on rank 1 and 1800000 on rank 2; each rank goes by its own"}));
}

TEST(SettingsComparisonTest, SentencesStayBounded) {
  SettingsComparison comparison("");
  for (int rank = 0; rank < 1000; ++rank) comparison.Add(fmt::format("TUTTI_TIMEOUT_MS={}\n", rank % 100 + 1));
  ASSERT_EQ(comparison.Warnings().size(), 1u);
  EXPECT_LT(comparison.Warnings()[0].size(), 600u);
  EXPECT_NE(comparison.Warnings()[0].find("and 96 other values"), std::string::npos) << comparison.Warnings()[0];
  EXPECT_EQ(internal::RankList(std::vector{0, 2, 4, 6, 8, 10, 12, 14, 16, 17}), "ranks 0,2,4,6,8,10,12,14 and 2 more");
}

// ---------------------------------------------------------------------------------------------------------------
// What communicators log, with ranks as threads.

class CommunicatorLogTest : public testing::Test {
 protected:
  ~CommunicatorLogTest() override { sys::ReopenLog({.level = log::Level::kWarn}); }
  void Open(log::Level level, log::Subsystems subsystems = log::kInit) {
    sys::ReopenLog({.level = level, .subsystems = subsystems, .file = folder_.Path("log")});
  }
  std::string Log() const { return *sys::ReadFile(folder_.Path("log")); }
  int Count(std::string_view what) const {
    const std::string text = Log();
    int count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
  }
  // Makes a communicator of ranks with these settings; the sentence of each, "" where it is good.
  std::vector<std::string> Run(const std::vector<Settings>& settings,
                               const std::function<Status(Communicator&)>& body) const {
    const UniqueId id = *CreateUniqueId();
    std::vector<std::string> sentences(settings.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < settings.size(); ++rank) {
      threads.emplace_back([&, rank] {
        Result<Communicator> communicator = Communicator::Create({.rank = static_cast<int>(rank),
                                                                  .ranks = static_cast<int>(settings.size()),
                                                                  .id = id,
                                                                  .settings = settings[rank]});
        sentences[rank] = communicator.ok() ? body(*communicator).message() : communicator.status().message();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return sentences;
  }
  tests::ScratchFolder folder_;
};

Status DoNothing(Communicator&) { return Status::Ok(); }

TEST_F(CommunicatorLogTest, OneLineAtInitAndOneAtTheEnd) {
  Open(log::Level::kInfo);
  EXPECT_EQ(Run(std::vector<Settings>(3), DoNothing), std::vector<std::string>(3));
  EXPECT_EQ(Count("Init COMPLETE"), 3) << Log();
  EXPECT_EQ(Count("Destroy COMPLETE"), 3) << Log();
  EXPECT_EQ(Count("rank 2 nranks 3 commId 0x"), 2) << Log();
  EXPECT_EQ(Count("[2] NCCL INFO comm 0x"), 2) << Log();
  EXPECT_EQ(Count(" INFO comm 0x"), 6) << Log();  // the others say what ranks are connected by
}

TEST_F(CommunicatorLogTest, TheVersionIsNamedOnceWhereItIsAskedFor) {
  for (const char* level : {"WARN", "VERSION"}) {
    const std::vector<std::string> environment = {fmt::format("NCCL_DEBUG={}", level),
                                                  fmt::format("NCCL_DEBUG_FILE={}/log", folder_.path())};
    const Settings settings = ReadSettings(environment, {});
    sys::ReopenLog(LogConfig(settings));
    for (const int rank : {1, 0, 0}) StartLog(settings, rank);
  }
  log::SetRank(-1);
  EXPECT_TRUE(Log().starts_with("NCCL version 2.28.9 (Tutti ")) << Log();
  EXPECT_EQ(Count("\n"), 1) << Log();
}

TEST_F(CommunicatorLogTest, NothingAtWarnWhenAllIsWell) {
  Open(log::Level::kWarn, log::kAllSubsystems);
  EXPECT_EQ(Run(std::vector<Settings>(2), [](Communicator& c) { return c.Run(Barrier()); }),
            std::vector<std::string>(2));
  EXPECT_EQ(Log(), "");
}

TEST_F(CommunicatorLogTest, CallsUnderCollAndTuning) {
  Open(log::Level::kInfo, log::kColl | log::kTuning);
  EXPECT_EQ(Run(std::vector<Settings>(2),
                [](Communicator& c) {
                  std::vector<float> in(2, 1), out(2);
                  TUTTI_RETURN_IF_ERROR(c.Run(AllReduce(in, out)));
                  const std::vector<Operation> both = {Send(in, 1 - c.rank()), Recv(out, 1 - c.rank())};
                  TUTTI_RETURN_IF_ERROR(c.RunGroup(both));
                  return c.Run(Barrier());
                }),
            std::vector<std::string>(2));
  EXPECT_EQ(Count("AllReduce: opCount 0 sendbuff 0x"), 2) << Log();
  EXPECT_EQ(Count(" count 2 datatype 7 op 0 root 0 comm 0x"), 4) << Log();
  EXPECT_EQ(Count("AllReduce: 8 Bytes -> Algo "), 2) << Log();
  EXPECT_EQ(Count("channel{Lo..Hi}={0..0}"), 4) << Log();
  EXPECT_EQ(Count("Send: opCount 1 "), 2) << Log();
  EXPECT_EQ(Count("Recv: 8 Bytes -> Algo direct proto "), 2) << Log();
  EXPECT_EQ(Count("Barrier: opCount 3 "), 2) << Log();
}

TEST_F(CommunicatorLogTest, SettingsThatMustAgreeEndInitWithOneSentence) {
  Open(log::Level::kWarn);
  std::vector<Settings> settings(3);
  settings[1].shared_bytes = 1 << 20;
  const std::vector<std::string> sentences = Run(settings, DoNothing);
  for (const std::string& sentence : sentences) {
    EXPECT_EQ(sentence,
              "the ranks have different settings: TUTTI_SHARED_BYTES is 6291456 on ranks 0,2 and 1048576 on rank 1; "
              "set them alike on all ranks");
  }
}

TEST_F(CommunicatorLogTest, OtherDifferencesAreOneWarningOfRankZero) {
  Open(log::Level::kWarn);
  std::vector<Settings> settings(3);
  settings[2].algo = "ring";
  settings[2].timeout_ms = 1000;
  EXPECT_EQ(Run(settings, [](Communicator& c) { return c.Run(Barrier()); }), std::vector<std::string>(3));
  EXPECT_EQ(Count("NCCL_ALGO is unset on ranks 0-1 and ring on rank 2; rank 0's holds for all"), 1) << Log();
  EXPECT_EQ(Count("TUTTI_TIMEOUT_MS is 1800000 on ranks 0-1 and 1000 on rank 2; each rank goes by its own"), 1);
  EXPECT_EQ(Count("[0] comm/agree/profiles.cc:"), 2) << Log();
  EXPECT_EQ(Count("\n"), 2) << Log();
}

TEST_F(CommunicatorLogTest, WarningsOfReadingAreSaidOnce) {
  Open(log::Level::kWarn);
  std::vector<Settings> settings(3);
  for (Settings& one : settings) one.warnings = "NCCL_XYZ of CommunicatorLogTest\nand another\n";
  settings[1].warnings = "only rank 1 of CommunicatorLogTest\n";
  for (int again = 0; again < 2; ++again) EXPECT_EQ(Run(settings, DoNothing), std::vector<std::string>(3));
  EXPECT_EQ(Count("NCCL WARN NCCL_XYZ of CommunicatorLogTest\n"), 1) << Log();
  EXPECT_EQ(Count("NCCL WARN and another\n"), 1) << Log();
  EXPECT_EQ(Count("[1] comm/identity/settings_source.cc:"), 1) << Log();
}

TEST_F(CommunicatorLogTest, WhatIsSetAndIgnoredIsSaidUnderEnv) {
  Open(log::Level::kInfo, log::kEnv);
  const std::vector<std::string> environment = {"NCCL_ALGO=ring", "NCCL_IBVERBS_LIB=mlx5_0"};
  EXPECT_EQ(Run({ReadSettings(environment, {})}, DoNothing), std::vector<std::string>(1));
  EXPECT_EQ(Count("NCCL INFO NCCL_ALGO set by environment to ring\n"), 1) << Log();
  EXPECT_EQ(Count("NCCL INFO NCCL_IBVERBS_LIB is set and ignored: Speaks of network cards"), 1) << Log();
}

TEST_F(CommunicatorLogTest, ABrokenCommunicatorIsAWarning) {
  Open(log::Level::kInfo);
  const auto body = [](Communicator& c) {
    TUTTI_RETURN_IF_ERROR(c.Run(Barrier()));
    if (c.rank() == 0) {
      c.Abort("of a test");
      return Status::Ok();
    }
    return c.Run(Barrier());
  };
  EXPECT_NE(Run(std::vector<Settings>(2), body)[1], "");
  EXPECT_EQ(Count("rank 0 nranks 2 - Abort: of a test"), 1) << Log();
  EXPECT_EQ(Count("rank 1 nranks 2 is broken: "), 1) << Log();
}

}  // namespace
}  // namespace tutti::comm
