// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that die where it is hard to see: who is named, how soon, and what is said of it.
#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <thread>
#include <vector>

#include "comm/host/queue.h"
#include "comm/life/subset.h"
#include "comm/meet/bootstrap.h"
#include "tests/support/errors_page.h"
#include "tests/support/meeting.h"
#include "tests/support/rank_processes.h"

namespace tutti {
namespace {

using namespace tests;

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

Result<Communicator> Second(const CommunicatorOptions& options, const UniqueId& id) {
  CommunicatorOptions second = options;
  second.id = id;
  return Communicator::Create(second);
}

// Rank 0 sees the death in its first communicator and aborts both, as programs do. The others, who only use the second
// one, and later, hear of the abort and of the death at once.
TEST(Blame, IsOfTheDeadNotOfWhomItMadeAbort) {
  RankProcesses job(4);
  const UniqueId id = *CreateUniqueId();
  job.Start([&](const CommunicatorOptions& options, Board& board) -> Status {
    Result<Communicator> first = Communicator::Create(options), second = Second(options, id);
    if (!first.ok()) return first.status();
    if (!second.ok()) return second.status();
    if (options.rank == 0) {
      const Status s = AllReduceForEver(*first, 10, board);
      first->Abort("something is wrong");
      second->Abort("something is wrong");
      ++board.go;
      return s;
    }
    std::vector<float> data(10);
    TUTTI_RETURN_IF_ERROR(first->Run(AllReduce(data, data)));
    ++board.ready;
    if (options.rank == 3) pause();
    while (board.go == 0) SleepMs(1);
    return second->Run(AllReduce(data, data));
  });
  job.WaitReady(4);
  job.Kill(3);
  ASSERT_TRUE(job.Join());
  for (const int rank : {0, 1, 2}) EXPECT_NE(job.said(rank).find("rank 3 (pid "), std::string::npos) << job.said(rank);
}

// Goes on in a child that is the first process of a new pid name space, with root's rights or those of a user name space.
// What the child returns, or -1 where the system forbids it; its pid, as this name space has it, goes to `pid`.
template <typename Body>
int InNewPidNamespace(std::atomic<int>& pid, const Body& body) {
  if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return pid = -1;
  const pid_t child = fork();
  if (child == 0) _exit(body());
  pid = child;
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

// As in containers: each of three ranks has a pid name space of its own, but for one that is outside. Its peers can not
// know it by its pid.
TEST(Death, InAnotherPidNamespaceIsNoticed) {
  for (const int victim : {1, 0}) {
    RankProcesses job(3);
    job.Start([](const CommunicatorOptions& options, Board& board) -> Status {
      const auto run = [&] {
        Result<Communicator> c = Communicator::Create(options);
        const Status s = c.ok() ? AllReduceForEver(*c, 10, board) : c.status();
        snprintf(board.said[options.rank], sizeof(board.said[0]), "%s", s.ToString().c_str());
        return 0;
      };
      if (options.rank == 0) {
        board.pid[0] = getpid();
        run();
      } else {
        InNewPidNamespace(board.pid[options.rank], run);
      }
      return Status(Code::kRemote, board.said[options.rank]);
    });
    while (job.board().ready < 3 && job.board().pid[1] >= 0 && job.board().pid[2] >= 0) SleepMs(1);
    if (job.board().ready < 3) GTEST_SKIP() << "this system forbids new pid name spaces: unshare(CLONE_NEWPID)";
    kill(job.board().pid[victim], SIGKILL);
    ASSERT_TRUE(job.Join());
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == victim) continue;
      EXPECT_NE(job.said(rank).find("rank " + std::to_string(victim) + " (pid "), std::string::npos) << job.said(rank);
      EXPECT_NE(job.said(rank).find("died"), std::string::npos) << job.said(rank);
    }
  }
}

// A rank that dies between two communicators is found through the first one, also where only a handle shows its end.
TEST(Death, BeforeAShrinkInAnotherPidNamespaceIsNoticed) {
  RankProcesses job(3);
  job.Start([](const CommunicatorOptions& options, Board& board) -> Status {
    const auto run = [&] {
      Result<Communicator> c = Communicator::Create(options);
      if (!c.ok()) return 1;
      ++board.ready;
      while (board.ready < 3) SleepMs(1);
      if (options.rank == 2) return 0;
      comm::Queue parent(std::move(*c));
      const Result<CommunicatorOptions> child = comm::Shrink(parent, std::vector{0});
      const Status s = child.ok() ? Communicator::Create(*child).status() : child.status();
      snprintf(board.said[options.rank], sizeof(board.said[0]), "%s", s.ToString().c_str());
      return 0;
    };
    if (options.rank == 0) {
      ++board.ready;  // it is not part of the child
      return Communicator::Create(options).status();
    }
    InNewPidNamespace(board.pid[options.rank], run);
    return Status(Code::kRemote, board.said[options.rank]);
  });
  while (job.board().ready < 3 && job.board().pid[1] >= 0 && job.board().pid[2] >= 0) SleepMs(1);
  if (job.board().ready < 3) GTEST_SKIP() << "this system forbids new pid name spaces: unshare(CLONE_NEWPID)";
  ASSERT_TRUE(job.Join());
  EXPECT_NE(job.said(1).find("rank 1 (pid 1 of another pid name space) died before the ranks had met"),
            std::string::npos)
      << job.said(1);
  EXPECT_NE(job.said(1).find("; rank 1 here is rank 2 of the communicator"), std::string::npos) << job.said(1);
}

// The rank that gathers dies when one other has come to it. Those who come later hear of it from that one.
TEST(Death, OfTheGathererIsToldToThoseWhoComeLater) {
  const UniqueId id = *CreateUniqueId();
  const auto meets = [&](int rank) {
    return comm::Meet({.id = id, .rank = rank, .ranks = 4, .timeout_ms = 30000}).status();
  };
  const pid_t gatherer = fork();
  if (gatherer == 0) _exit(meets(2).ok() ? 0 : 1);
  { const sys::Fd gathers = Approach(id); }
  const auto begin = Clock::now();
  const std::vector<Status> outcomes = OnThreads({0, 1, 3}, [&](int rank) {
    if (rank == 1) {
      SleepMs(500);
      kill(gatherer, SIGKILL);
    }
    if (rank != 0) SleepMs(rank == 1 ? 300 : 1000);
    return meets(rank);
  });
  waitpid(gatherer, nullptr, 0);
  EXPECT_LT(Clock::now() - begin, 2 * kSoon);
  for (const Status& s : outcomes) {
    EXPECT_EQ(s.code(), Code::kRemote) << s.ToString();
    EXPECT_EQ(s.peer(), 2) << s.ToString();
    EXPECT_NE(s.message().find("which gathered the ranks, died"), std::string::npos) << s.message();
  }
}

TEST(Abort, OfManyCommunicatorsIsOneLine) {
  const std::string said = SaidByChild([] {
    std::vector<Communicator> all;
    for (int i = 0; i < 5; ++i) {
      const UniqueId id = *CreateUniqueId();
      OnRankThreads(2, [&](int rank) {
        Result<Communicator> c = Communicator::Create({.rank = rank, .ranks = 2, .id = id, .settings = Quick()});
        if (c.ok()) c->Abort("enough");
        return c.status();
      });
    }
    return std::string("done");
  });
  const std::vector<std::string> parts = SplitText(said, "is broken");
  EXPECT_EQ(parts.size(), 2u) << said;
}

}  // namespace
}  // namespace tutti
