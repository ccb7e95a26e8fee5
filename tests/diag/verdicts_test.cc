// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Verdicts on real ranks: processes that are stopped, killed, held by a debugger, that sleep, call something else, call in another order or
// do not come. Each must be named, soon, and nobody else.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "diag/sentence.h"
#include "tests/diag/real_cases.h"
#include "tests/support/rank_processes.h"
#include "tools/top_look.h"

namespace tutti::tests {
namespace {

// What is promised is 2 s; a busy machine and sanitizers get more.
constexpr double kPromisedSeconds = 2, kSlackSeconds = 3;

void ExpectNamed(const RealCase& what) {
  const CaseResult result = RunRealCase(what);
  std::string wrong;
  for (const std::string& w : result.wrong) wrong += "\n  " + w;
  EXPECT_TRUE(result.right) << result.kind << ": " << result.name << "\n  heard: " << result.sentence << wrong;
  EXPECT_LT(result.first_s, kPromisedSeconds + kSlackSeconds) << result.kind;
  fmt::print("{:<12} {:.2f} s  {}\n", result.kind, result.first_s, result.sentence);
}

TEST(Verdict, OnARankThatIsStopped) { ExpectNamed({.fault = RealFault::kStop, .victim = 2}); }
TEST(Verdict, OnARankThatWasKilled) {
  ExpectNamed({.fault = RealFault::kKill, .victim = 1});
  ExpectNamed({.fault = RealFault::kKill, .victim = 0, .zombie = true});
}
TEST(Verdict, OnARankThatSleeps) { ExpectNamed({.fault = RealFault::kSleep, .victim = 3}); }
TEST(Verdict, OnARankThatIsBlocked) { ExpectNamed({.fault = RealFault::kWrite, .victim = 0}); }
TEST(Verdict, OnARankThatCallsSomethingElse) { ExpectNamed({.fault = RealFault::kOtherCall, .victim = 2}); }
TEST(Verdict, OnTwoOrdersOfTwoCommunicators) { ExpectNamed({.fault = RealFault::kOrders}); }
TEST(Verdict, OnARankThatNeverComes) { ExpectNamed({.fault = RealFault::kNeverComes, .victim = 1}); }
TEST(Verdict, OnARankInADebugger) { ExpectNamed({.fault = RealFault::kDebugger, .victim = 3}); }
TEST(Verdict, OnARankThatDoesNotReceive) {
  ExpectNamed({.fault = RealFault::kNoReceive, .victim = 2, .count = 100'000});
}
TEST(Verdict, IsSilentWhereAllIsWell) {
  for (const RealFault fault : {RealFault::kPause, RealFault::kNothing}) {
    const CaseResult result = RunRealCase({.fault = fault, .victim = 1});
    EXPECT_TRUE(result.right) << Name(fault) << ": " << result.sentence
                              << (result.wrong.empty() ? "" : result.wrong.back());
  }
}

// A look has what it was made of: processes and what they do, and ranks of all communicators, the dead ones too.
TEST(Look, HoldsProcessesAndRanks) {
  RankProcesses job(3);
  job.Start([](const CommunicatorOptions& options, Board& board) -> Status {
    board.pid[options.rank] = getpid();
    Result<Communicator> c = Communicator::Create(options);
    if (!c.ok()) return c.status();
    std::vector<float> data(100);
    for (int i = 0; i < 5; ++i) TUTTI_RETURN_IF_ERROR(c->Run(AllReduce(data, data)));
    ++board.ready;
    while (true) pause();
  });
  job.WaitReady(3);
  const std::vector<std::int32_t> pids = {job.board().pid[0], job.board().pid[1], job.board().pid[2]};
  diag::Look look = tools::TakeLook(pids);
  ASSERT_EQ(look.communicators.size(), 1u);
  ASSERT_EQ(look.processes.size(), 3u);
  const diag::CommunicatorLook& c = look.communicators[0];
  EXPECT_EQ(c.ranks, 3);
  EXPECT_GT(c.window[0], 0u);
  ASSERT_EQ(c.seen.size(), 3u);
  for (const diag::RankLook& rank : c.seen) {
    EXPECT_EQ(rank.state, diag::RankState::kReady);
    EXPECT_EQ(rank.called, 5u);
    EXPECT_EQ(rank.finished, 5u);
    EXPECT_EQ(rank.sequence, 5u);
    EXPECT_EQ(rank.finished_sequence, 5u);
    EXPECT_EQ(rank.island, c.seen[0].island);
    EXPECT_EQ(rank.thread, pids[static_cast<std::size_t>(rank.rank)]);
    const diag::ProcessLook* process = look.ProcessOf(rank);
    ASSERT_NE(process, nullptr);
    EXPECT_EQ(process->pid, pids[static_cast<std::size_t>(rank.rank)]);
    EXPECT_EQ(process->state, diag::ProcessState::kSleeping);
    ASSERT_FALSE(process->threads.empty());
    EXPECT_NE(process->threads[0].kernel_place + process->threads[0].system_call, "");
  }
  job.Kill(1);
  look = tools::TakeLook(pids);
  ASSERT_EQ(look.communicators.size(), 1u);
  const diag::RankLook* dead = look.communicators[0].Find(1);
  ASSERT_NE(dead, nullptr);
  EXPECT_EQ(dead->called, 5u);
  ASSERT_NE(look.ProcessOf(*dead), nullptr);
  EXPECT_EQ(look.ProcessOf(*dead)->state, diag::ProcessState::kGone);
  const tools::Processes found = tools::FindProcesses();
  EXPECT_NE(std::ranges::find(found.pids, pids[0]), found.pids.end());
  EXPECT_EQ(std::ranges::find(found.pids, getpid()), found.pids.end());
}

}  // namespace
}  // namespace tutti::tests
