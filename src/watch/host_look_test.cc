// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Looks at pages of ranks that were never run, and at this process.
#include "watch/host_look.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "sys/os/clock.h"
#include "trace/recorder.h"
#include "transport/shm/segment.h"
#include "watch/process_look.h"

namespace tutti::watch {
namespace {

using transport::RankState;
using transport::shm::kBoxOffset;

constexpr int kRanks = 4;
constexpr std::size_t kBoxBytes = trace::BoxBytes(kRanks, 1);

// The first pages of a rank.
struct Pages {
  explicit Pages(int rank, RankState state = RankState::kReady, int ranks = kRanks)
      : rank(rank), memory(static_cast<std::byte*>(std::aligned_alloc(4096, kBoxOffset + kBoxBytes)), &std::free) {
    std::memset(memory.get(), 0, kBoxOffset + kBoxBytes);
    header().state = state;
    header().culprit = -1;
    recorder = trace::Recorder(
        memory.get() + kBoxOffset,
        {.communicator = 0xc0, .name = "dp", .rank = rank, .ranks = ranks, .channels = 1, .created_ns = 5});
  }
  transport::shm::Header& header() { return *reinterpret_cast<transport::shm::Header*>(memory.get()); }
  RankPages Seen() const {
    return {.rank = rank, .begin = memory.get(), .box_bytes = kBoxBytes, .process = sys::Self()};
  }

  int rank;
  std::unique_ptr<std::byte, decltype(&std::free)> memory;
  trace::Recorder recorder;
};

TEST(HostLook, HasRanksAndTheirProcess) {
  Pages own(1), other(3);
  const std::uint64_t number = other.recorder.Add(
      trace::PackCall({.kind = Collective::kAllReduce, .type = DataType::kFloat32}), 8, 1, trace::How{}.Pack());
  const std::int64_t now_ns = sys::NowNs();
  other.recorder.Wait(number, 1, trace::WaitKind::kData, 0, now_ns - sys::kNsPerSecond, now_ns, {.thread = 7});
  HostLook maker;
  maker.Add(std::vector{own.Seen(), other.Seen()}, {});
  const diag::Look look = maker.Finish();
  ASSERT_EQ(look.communicators.size(), 1u);
  const diag::CommunicatorLook& c = look.communicators[0];
  EXPECT_EQ(c.name, "dp");
  ASSERT_EQ(c.seen.size(), 2u);  // nobody begins: nothing is said of ranks 0 and 2
  EXPECT_EQ(c.seen[0].rank, 1);
  EXPECT_EQ(c.seen[1].rank, 3);
  EXPECT_EQ(c.seen[1].wait.peer, 1);
  EXPECT_TRUE(c.seen[1].inside());
  ASSERT_EQ(look.processes.size(), 1u);
  EXPECT_EQ(look.processes[0].pid, getpid());
  EXPECT_EQ(look.processes[0].state, diag::ProcessState::kRunning);
}

TEST(HostLook, CountsThoseThatHaveComeWhileItBegins) {
  Pages own(1, RankState::kStarting);
  HostLook maker;
  const std::vector<int> missing = {2};
  maker.Add(std::vector{own.Seen()}, missing);
  const diag::Look look = maker.Finish();
  const diag::CommunicatorLook& c = look.communicators.at(0);
  ASSERT_EQ(c.seen.size(), 3u);
  EXPECT_EQ(c.Find(2), nullptr);
  EXPECT_EQ(c.Find(3)->state, diag::RankState::kStarting);
  EXPECT_EQ(c.silent_place, "");
  HostLook cut_off;
  cut_off.Add(std::vector{own.Seen()}, missing, "10.0.0.1:500");
  EXPECT_EQ(cut_off.Finish().communicators.at(0).silent_place, "10.0.0.1:500");
}

TEST(HostLook, LeavesOutWhatIsNoBlackBoxOfThisRank) {
  Pages own(0), wrong_rank(2), wrong_ranks(1, RankState::kReady, 2), noise(3);
  RankPages claimed = wrong_rank.Seen();
  claimed.rank = 1;
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < kBoxBytes; ++i) noise.memory.get()[kBoxOffset + i] = static_cast<std::byte>(random());
  HostLook maker;
  maker.Add(std::vector{own.Seen(), claimed, wrong_ranks.Seen(), noise.Seen()}, {});
  EXPECT_EQ(maker.Finish().communicators.at(0).seen.size(), 1u);
}

// Whatever stands behind a header that is right: nothing else is read, and it can be judged.
TEST(HostLook, ReadsAnything) {
  std::mt19937_64 random(11);
  for (int turn = 0; turn < 20; ++turn) {
    Pages own(0), noise(1);
    const std::size_t begin = turn % 2 == 0 ? trace::kRecordsOffset : offsetof(trace::BoxHeader, called);
    for (std::size_t i = begin; i < kBoxBytes; ++i)
      noise.memory.get()[kBoxOffset + i] = static_cast<std::byte>(random());
    HostLook maker;
    maker.Add(std::vector{own.Seen(), noise.Seen()}, {});
    EXPECT_EQ(maker.Finish().communicators.at(0).seen.size(), 2u);
  }
}

TEST(ProcessLook, KnowsWhatHasEnded) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  const std::optional<sys::ProcessStat> stat = sys::ReadProcessStat(child);
  ASSERT_TRUE(stat);
  const sys::ProcessId id{.pid = child, .start_ticks = stat->start_ticks};
  EXPECT_NE(LookAt(id, "a", Depth::kState).state, diag::ProcessState::kGone);
  EXPECT_TRUE(LookAt(id, "a", Depth::kState).threads.empty());
  EXPECT_FALSE(LookAt(id, "a", Depth::kActivity).threads.empty());
  const sys::ProcessId another{.pid = child, .start_ticks = stat->start_ticks + 1};
  EXPECT_EQ(LookAt(another, "a", Depth::kState).state, diag::ProcessState::kGone);
  kill(child, SIGSTOP);
  waitpid(child, nullptr, WUNTRACED);
  EXPECT_EQ(LookAt(id, "a", Depth::kState).state, diag::ProcessState::kStopped);
  kill(child, SIGKILL);
  siginfo_t ended;
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  EXPECT_EQ(LookAt(id, "a", Depth::kState).state, diag::ProcessState::kZombie);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(LookAt(id, "a", Depth::kActivity).state, diag::ProcessState::kGone);
}

}  // namespace
}  // namespace tutti::watch
