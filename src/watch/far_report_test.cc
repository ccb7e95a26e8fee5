// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/far_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>

namespace tutti::watch {
namespace {

diag::RankLook SomeRank(int rank) {
  diag::RankLook r{.rank = rank,
                   .rank_of_whole = rank + 4,
                   .process = 0,
                   .gpu = 3,
                   .gpu_bus_id = "0000:3b:00.0",
                   .state = diag::RankState::kReady,
                   .thread = 77,
                   .created_ns = 1'000'000'000'000'000,
                   .called = 5013,
                   .finished = 5012,
                   .sequence = 5000,
                   .finished_sequence = 4999,
                   .started = 5012,
                   .blamed = 1,
                   .progress = 0};
  r.running = {.number = 5013, .sequence = 5000, .call = {.word = 0x30, .count = 1u << 20}, .protocol = 2};
  r.history.push_back({.first = 4000, .last = 5000, .call = r.running.call});
  r.started_sequence = 4998;
  r.stream = 0x7f0012345678;
  r.transfers.push_back({.peer = 2, .sends = 8, .receives = 9, .started_sends = 7, .started_receives = 6});
  r.wait = {.kind = trace::WaitKind::kData,
            .peer = 1,
            .channel = 4,
            .number = 5013,
            .since_ns = 1'000'000'000'000'123,
            .looked_ns = 1'000'000'000'000'456,
            .thread = 77,
            .inside = true,
            .longest_ns = 5,
            .on_gpu = true};
  r.for_whole = {.number = 17, .sequence = 16, .call = r.running.call};
  r.elsewhere = {.communicator = ~std::uint64_t{0}, .thread = -1};
  r.links.push_back({.peer = 1, .channel = 4, .sent = {1, 200, 3}, .received = {4, 5, 6}, .credit = {7, 8, 9}});
  r.flows.push_back({.peer = 1,
                     .card = "mlx5_1",
                     .posted = 1u << 30,
                     .completed = (1u << 30) - 7,
                     .stuck_ns = 3 * diag::kSecond,
                     .peer_is_full = true,
                     .carries_bytes_per_s = 50'000'000'000,
                     .carries_little_bytes_per_s = 20'000'000});
  return r;
}

diag::Look SomeLook() {
  diag::Look look{.taken_ns = 1'000'000'000'001'000};
  look.processes.push_back({.pid = 4101,
                            .name = "train",
                            .state = diag::ProcessState::kStopped,
                            .threads = {{.id = 1, .name = "main", .system_call = "write", .object = "/ckpt/17.pt"}},
                            .children = {"nvcc"},
                            .run_ns = -1,
                            .queue_ns = 10,
                            .throttled_ns = 0,
                            .group_run_ns = 11,
                            .written_bytes = 12,
                            .end = 9,
                            .ending = {.out_of_memory = true,
                                       .of_group = true,
                                       .group = "/job",
                                       .limit_bytes = 64 << 20,
                                       .resident_bytes = 63 << 20,
                                       .group_kills = 2,
                                       .crash = "segfault at 0"}});
  look.processes.back().gpus.push_back({.bus_id = "0000:3b:00.0",
                                        .xids = {{.number = 79, .at_ns = 1'000'000'000'000'500}},
                                        .silent_ns = 5,
                                        .lost = true,
                                        .uncorrected = 3,
                                        .uncorrected_rise = 1,
                                        .rows_pending = true,
                                        .rows_failed = true,
                                        .clock_mhz = 345,
                                        .most_clock_mhz = 1980,
                                        .throttle = diag::kTooHot,
                                        .power_w = 118,
                                        .power_limit_w = 700,
                                        .temperature_c = 92,
                                        .nvlinks_up = 17,
                                        .nvlinks_usual = 18,
                                        .nvlinks = {{.number = 4,
                                                     .down = true,
                                                     .to = "10000:ff:1f.7",
                                                     .replays = 90'000,
                                                     .recoveries = 2,
                                                     .check_errors = 12}}});
  look.processes.push_back({.pid = 4102, .gpus = {{.bus_id = "0000:3b:00"}}});
  look.communicators.push_back({.id = 0xb11e50ac74fa8b4f,
                                .name = "dp",
                                .whole = 21,
                                .ranks = 4,
                                .window = {128, 256, 32},
                                .created_unix_ns = 17});
  look.communicators[0].seen = {SomeRank(1), SomeRank(3)};
  return look;
}

TEST(FarReport, ComesOverWhole) {
  const std::vector<std::byte> message = Encode(Report{.number = 300, .look = SomeLook()});
  const Result<Report> report = ParseReport(message);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->number, 300u);
  EXPECT_EQ(Encode(*report), message);
  const diag::RankLook &sent = SomeRank(3), &come = report->look.communicators.at(0).seen.at(1);
  EXPECT_EQ(come.rank, 3);
  EXPECT_EQ(come.wait.looked_ns, sent.wait.looked_ns);
  EXPECT_EQ(come.links.at(0).sent, sent.links[0].sent);
  EXPECT_EQ(come.flows, sent.flows);
  EXPECT_EQ(come.elsewhere.communicator, sent.elsewhere.communicator);
  EXPECT_EQ(come.elsewhere.thread, -1);
  EXPECT_EQ(come.started, sent.started);
  EXPECT_EQ(come.stream, sent.stream);
  EXPECT_EQ(come.started_sequence, sent.started_sequence);
  EXPECT_EQ(come.finished, sent.finished);
  EXPECT_EQ(come.finished_sequence, sent.finished_sequence);
  EXPECT_EQ(come.TransfersWith(2).started_receives, 6u);
  EXPECT_TRUE(come.wait.inside && come.wait.on_gpu);
  EXPECT_EQ(come.progress, std::uint64_t{0});
  EXPECT_EQ(report->look.processes.at(0).threads.at(0).object, "/ckpt/17.pt");
  EXPECT_EQ(report->look.processes.at(0).end, 9);
  EXPECT_EQ(report->look.processes.at(0).ending, SomeLook().processes[0].ending);
  const diag::GpuLook& gpu = report->look.processes.at(0).gpus.at(0);
  EXPECT_EQ(gpu.bus_id, "0000:3b:00.0");
  EXPECT_EQ(come.rank_of_whole, come.rank + 4);
  EXPECT_EQ(come.for_whole, sent.for_whole);
  EXPECT_EQ(come.gpu_bus_id, "0000:3b:00.0");
  EXPECT_EQ(gpu.nvlinks.at(0).to, "10000:ff:1f.7");
  EXPECT_EQ(report->look.processes.at(1).gpus.at(0).bus_id, "");  // no such text
  EXPECT_EQ(gpu.xids.at(0).number, 79);
  EXPECT_EQ(gpu.uncorrected_rise, std::uint64_t{1});
  EXPECT_EQ(gpu.nvlinks.at(0).recoveries, 2u);
}

// What is known of no GPU and of no end costs nothing much.
TEST(FarReport, IsSmallWhereNothingIsKnownOfTheHost) {
  diag::Look look;
  look.processes.push_back({.pid = 4101});
  const std::size_t bytes = Encode(Report{.look = look}).size();
  look.processes.push_back({.pid = 4102});
  EXPECT_LE(Encode(Report{.look = look}).size() - bytes, 20u);
}

// A rank of host memory that waits and its link; and what it has on its way to another host.
TEST(FarReport, IsSmall) {
  diag::Look look = SomeLook();
  look.communicators[0].whole = 0;
  for (diag::RankLook& rank : look.communicators[0].seen) rank.stream = 0;
  const auto more = [&](auto&& change) {
    const std::size_t bytes = Encode(Report{.look = look}).size();
    change(look.communicators[0].seen);
    return Encode(Report{.look = look}).size() - bytes;
  };
  EXPECT_LE(more([](auto& seen) { seen.push_back(seen[1]), seen.back().flows.clear(); }), 128u);
  EXPECT_LE(more([](auto& seen) { seen.back().flows = seen[1].flows; }), 32u);
}

TEST(FarReport, HasTheFirstPartOfWhatIsLong) {
  diag::Look look = SomeLook();
  look.processes[0].threads.resize(1000);
  look.processes[0].name = std::string(100'000, 'x');
  look.communicators[0].seen[0].history.resize(64, look.communicators[0].seen[0].history[0]);
  const Result<Report> report = ParseReport(Encode(Report{.look = look}));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->look.processes[0].threads.size(), 8u);
  EXPECT_EQ(report->look.processes[0].name.size(), 512u);
  EXPECT_EQ(report->look.communicators[0].seen[0].history.size(), 8u);
}

TEST(FarReport, IsRefusedWhereItIsCutOrLonger) {
  std::vector<std::byte> message = Encode(Report{.look = SomeLook()});
  for (std::size_t bytes = 0; bytes < message.size(); ++bytes)
    EXPECT_FALSE(ParseReport(std::span(message).first(bytes)).ok()) << bytes;
  message.push_back(std::byte{0});
  EXPECT_FALSE(ParseReport(message).ok());
}

// What the analyser uses as an index is checked.
TEST(FarReport, IsRefusedWhereItPointsNowhere) {
  const auto refused = [](const auto& change) {
    diag::Look look = SomeLook();
    change(look, look.communicators[0].seen[0]);
    return !ParseReport(Encode(Report{.look = look})).ok();
  };
  EXPECT_FALSE(refused([](auto&, auto&) {}));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.process = 2; }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.process = -2; }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.rank = 3; }));  // twice
  EXPECT_TRUE(refused([](auto& look, auto&) { look.communicators[0].seen[1].rank = 4; }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.wait.peer = 4; }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.blamed = -2; }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.links[0].peer = -1; }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.running.protocol = 3; }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.state = static_cast<diag::RankState>(5); }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.wait.kind = static_cast<trace::WaitKind>(5); }));
  EXPECT_TRUE(refused([](auto& look, auto&) { look.processes[0].state = static_cast<diag::ProcessState>(10); }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.wait.since_ns = INT64_MIN; }));
  EXPECT_TRUE(refused([](auto& look, auto&) { look.taken_ns = INT64_MAX; }));
  EXPECT_TRUE(refused([](auto& look, auto&) { look.processes[0].gpus[0].xids[0].at_ns = INT64_MAX; }));
  EXPECT_TRUE(refused([](auto& look, auto&) { look.processes[0].gpus[0].silent_ns = -1; }));
  EXPECT_TRUE(refused([](auto&, auto& rank) { rank.failure_code = static_cast<Code>(10); }));
}

TEST(FarReport, SurvivesNoise) {
  const std::vector<std::byte> message = Encode(Report{.look = SomeLook()});
  std::mt19937 random(7);
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> noisy = message;
    for (int n = 0; n < 3; ++n) noisy[random() % noisy.size()] = static_cast<std::byte>(random());
    taken += ParseReport(noisy).ok() ? 1 : 0;
  }
  EXPECT_GT(taken, 0);
}

TEST(FarReport, AQuestionComesOverWhole) {
  const Question question{.number = 7, .communicators = {1, ~std::uint64_t{0}, 0}, .waits = true};
  const std::vector<std::byte> message = Encode(question);
  const Result<Question> come = ParseQuestion(message);
  ASSERT_TRUE(come.ok());
  EXPECT_EQ(come->number, question.number);
  EXPECT_EQ(come->communicators, question.communicators);
  for (std::size_t bytes = 0; bytes < message.size(); ++bytes)
    EXPECT_FALSE(ParseQuestion(std::span(message).first(bytes)).ok()) << bytes;
  const Result<Question> cut =
      ParseQuestion(Encode(Question{.communicators = std::vector<std::uint64_t>(kMostQuestionIds + 1)}));
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->communicators.size(), kMostQuestionIds);
}

}  // namespace
}  // namespace tutti::watch
