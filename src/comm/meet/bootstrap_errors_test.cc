// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What the ranks that are there say where others are missing, wrong, dead or stopped.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <regex>
#include <string>
#include <thread>

#include "comm/meet/bootstrap.h"
#include "comm/meet/bootstrap_message.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "tests/support/meeting.h"

namespace tutti::comm {
namespace {

using namespace tests;

class BootstrapErrorsTest : public MeetingTest {};

// With ranks as threads and as processes.
class BootstrapErrors : public MeetingTest, public testing::WithParamInterface<Kind> {
 protected:
  std::vector<Status> Run(const std::vector<int>& ranks, const std::function<Status(int)>& body) const {
    return OnRanks(GetParam(), ranks, body);
  }
};
INSTANTIATE_TEST_SUITE_P(As, BootstrapErrors, testing::Values(Kind::kThreads, Kind::kProcesses),
                         [](const auto& info) { return info.param == Kind::kThreads ? "Threads" : "Processes"; });

TEST_P(BootstrapErrors, EveryoneNamesWhoIsMissing) {
  const std::int64_t begin_ns = sys::NowNs();
  const std::vector<Status> outcomes = Run({0, 1, 3}, [&](int rank) { return MeetAndCheck(id_, rank, 9, 1500); });
  EXPECT_LT(sys::NowNs() - begin_ns, 1500 * sys::kNsPerMs + sys::kNsPerSecond);
  ExpectAllSay(outcomes, Code::kTimeout, {"3 of 9", "ranks 2 and 4-8", "TUTTI_INIT_TIMEOUT_MS"});
  EXPECT_EQ(outcomes[0].peer(), 2);
}

TEST_P(BootstrapErrors, RankZeroMayBeTheMissingOne) {
  const std::vector<Status> outcomes = Run({1, 2}, [&](int rank) { return MeetAndCheck(id_, rank, 3, 1500); });
  ExpectAllSay(outcomes, Code::kTimeout, {"2 of 3", "all but rank 0"});
}

TEST_P(BootstrapErrors, TheShortestTimeoutEndsTheMeetingForAll) {
  const std::int64_t begin_ns = sys::NowNs();
  const std::vector<Status> outcomes =
      Run({0, 1}, [&](int rank) { return MeetAndCheck(id_, rank, 3, rank == 0 ? kPatientMs : 1000); });
  EXPECT_LT(sys::NowNs() - begin_ns, kPatientMs * sys::kNsPerMs / 2);
  ExpectAllSay(outcomes, Code::kTimeout, {"2 of 3", "all but rank 2"});
}

TEST_P(BootstrapErrors, ARankAloneTimesOut) {
  const Status outcome = Run({2}, [&](int rank) { return MeetAndCheck(id_, rank, 3, 300); })[0];
  EXPECT_EQ(outcome.code(), Code::kTimeout);
  EXPECT_NE(outcome.message().find("0 and 1"), std::string::npos) << outcome.ToString();
}

TEST_P(BootstrapErrors, ARankThatComesTwiceIsNamedWithBothProcesses) {
  const std::vector<Status> outcomes =
      Run({0, 1, 1, 3}, [&](int rank) { return MeetAndCheck(id_, rank, 4, kPatientMs); });
  ExpectAllSay(outcomes, Code::kInvalidUsage, {"they are rank 1", "two jobs"});
  std::smatch pids;
  const std::string sentence = outcomes[0].message();
  ASSERT_TRUE(std::regex_search(sentence, pids, std::regex("process ([0-9]+) and process ([0-9]+)"))) << sentence;
  EXPECT_EQ(pids[1] == pids[2], GetParam() == Kind::kThreads) << sentence;
}

TEST_P(BootstrapErrors, WhoWasToldWhichNumberOfRanksIsSaid) {
  const std::vector<Status> outcomes =
      Run({0, 1, 3}, [&](int rank) { return MeetAndCheck(id_, rank, rank == 1 ? 8 : 4, kPatientMs); });
  ExpectAllSay(outcomes, Code::kInvalidUsage, {"different numbers of ranks: 4 (ranks 0 and 3), 8 (rank 1);"});
  EXPECT_EQ(outcomes[0].peer(), 1);
}

// One of the ranks sees that another one will not come. Whether that rank gathers or visits, all say what it says.
TEST_P(BootstrapErrors, WhatOneRankSeesIsToldByAll) {
  for (const int seer : {0, 1, 2}) {
    const UniqueId id = *CreateUniqueId();
    const std::int64_t begin_ns = sys::NowNs();
    const std::vector<Status> outcomes = Run({0, 1, 2}, [&](int rank) {
      MeetOptions options{.id = id, .rank = rank, .ranks = 4, .timeout_ms = kPatientMs};
      if (rank == seer) {
        options.look = [begin_ns] {
          const bool all_are_here = sys::NowNs() > begin_ns + 500 * sys::kNsPerMs;
          return all_are_here ? Status(Code::kRemote, "rank 3 has sailed", 3) : Status::Ok();
        };
      }
      if (rank > 0) sys::Fd(Approach(id));
      return Meet(options).status();
    });
    EXPECT_LT(sys::NowNs() - begin_ns, 5 * sys::kNsPerSecond);
    ExpectAllSay(outcomes, Code::kRemote, {"rank 3 has sailed"});
    EXPECT_EQ(outcomes[0].peer(), 3);
  }
}

TEST_P(BootstrapErrors, ARankOutOfRangeIsNamedOnAllRanks) {
  const std::vector<Status> outcomes = Run({0, 1, 3}, [&](int rank) { return MeetAndCheck(id_, rank, 3, kPatientMs); });
  ExpectAllSay(outcomes, Code::kInvalidUsage, {"rank 3 of 3", "0 to 2"});
  const Status alone = Run({-1}, [&](int rank) { return MeetAndCheck(id_, rank, 3, 500); })[0];
  EXPECT_EQ(alone.code(), Code::kInvalidUsage);
  EXPECT_NE(alone.message().find("rank -1 of 3"), std::string::npos) << alone.ToString();
}

TEST_P(BootstrapErrors, AnotherVersionIsNamedOnAllRanks) {
  const auto newer = [&]() -> Status {
    const sys::Fd socket = Approach(id_);
    const std::optional<Message> answer = SayHello(socket, id_, {.version = 7, .rank = 2, .ranks = 3});
    Status hears;
    if (!answer || !ParseFailure(*answer, hears).ok()) return Status(Code::kInternal, "rank 2 is told nothing");
    return hears;
  };
  const std::vector<Status> outcomes =
      Run({0, 1, 2}, [&](int rank) { return rank == 2 ? newer() : MeetAndCheck(id_, rank, 3, kPatientMs); });
  ExpectAllSay(outcomes, Code::kInvalidUsage, {"rank 2", "version 7", fmt::format("version {}", kBootstrapVersion)});
}

// Four ranks that answer to each other meet, whichever job they are of; nobody hangs, and nobody is left without a reason.
TEST_P(BootstrapErrors, TwoJobsWithOneIdEnd) {
  const std::int64_t begin_ns = sys::NowNs();
  const std::vector<Status> outcomes =
      Run({0, 1, 2, 3, 0, 1, 2, 3}, [&](int rank) { return MeetAndCheck(id_, rank, 4, 2000); });
  EXPECT_LT(sys::NowNs() - begin_ns, 8 * sys::kNsPerSecond);
  int met = 0;
  for (const Status& outcome : outcomes) {
    met += outcome.ok();
    if (outcome.ok()) continue;
    EXPECT_TRUE(outcome.message().find("two jobs") != std::string::npos ||
                outcome.message().find("all but") != std::string::npos)
        << outcome.ToString();
  }
  EXPECT_EQ(met % 4, 0) << met;
}

TEST_P(BootstrapErrors, TwoJobsOfDifferentSizeWithOneIdAreNamed) {
  const std::vector<Status> outcomes = Run({0, 1, 10, 11, 12}, [&](int which) {
    return which < 10 ? MeetAndCheck(id_, which, 4, 2000) : MeetAndCheck(id_, which - 10, 6, 2000);
  });
  ExpectAllSay(outcomes, Code::kInvalidUsage,
               {"different numbers of ranks: 4 (ranks 0 and 1), 6 (ranks 0-2);", "id of its own"});
}

TEST_F(BootstrapErrorsTest, WhoCannotTakeAMemberFailsAll) {
  const std::vector<Status> outcomes = OnThreads(UpTo(4), [&](int rank) {
    return MeetAs(id_, rank, 4, kPatientMs, [rank](int r, Member&&) {
      if (rank == 2 && r == 1) return Status(Code::kSystem, "out of address space");
      return Status::Ok();
    });
  });
  ExpectAllSay(outcomes, Code::kSystem, {"rank 2 ", "what rank 1 sent", "out of address space"});
}

TEST_F(BootstrapErrorsTest, WhereAllDisagreeAllSayTheSame) {
  for (int round = 0; round < 20; ++round) {
    const std::vector<Status> outcomes = OnThreads(UpTo(5), [&](int rank) {
      return MeetAs(id_, rank, 5, kPatientMs, [rank](int r, Member&&) {
        if (r == rank) return Status::Ok();
        return Status(Code::kInvalidUsage, "rank " + std::to_string(r) + " differs", r);
      });
    });
    ExpectAllSay(outcomes, Code::kInvalidUsage, {" differs"});
    EXPECT_GE(outcomes[0].peer(), 0);
  }
}

// Kills a process of rank `victim` while the others wait for one more rank; `victim_first`: it gathers.
enum class Order { kVictimFirst, kVictimLast };
void KillWhileMeeting(const UniqueId& id, Order order) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (order == Order::kVictimLast) (void)!read(pipe_fds[0], pipe_fds, 1);
    (void)MeetAndCheck(id, 1, 4, kPatientMs).ok();
    _exit(0);
  }
  std::vector<Status> outcomes;
  const sys::ProcessId victim = {.pid = child};
  std::thread killer([&] {
    if (order == Order::kVictimLast) {
      sys::SleepNs(100 * sys::kNsPerMs);
      EXPECT_EQ(write(pipe_fds[1], "x", 1), 1);
    }
    sys::SleepNs(500 * sys::kNsPerMs);
    kill(child, SIGKILL);
  });
  if (order == Order::kVictimFirst) sys::SleepNs(100 * sys::kNsPerMs);
  const std::int64_t begin_ns = sys::NowNs();
  outcomes = OnThreads({0, 2}, [&](int rank) { return MeetAndCheck(id, rank, 4, kPatientMs); });
  EXPECT_LT(sys::NowNs() - begin_ns, kPatientMs * sys::kNsPerMs / 2);
  killer.join();
  waitpid(child, nullptr, 0);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  ExpectAllSay(outcomes, Code::kRemote, {"rank 1", "pid " + std::to_string(child), "died"});
  EXPECT_EQ(outcomes[0].peer(), 1);
  EXPECT_EQ(sys::ProbeProcess(victim), sys::Liveness::kDead);
}

TEST_F(BootstrapErrorsTest, AKilledVisitorIsNamed) { KillWhileMeeting(id_, Order::kVictimLast); }
TEST_F(BootstrapErrorsTest, AKilledGathererIsNamed) { KillWhileMeeting(id_, Order::kVictimFirst); }

// Kills one of six processes at some time from before it joins until after all have met. Whatever the time, the others
// must end soon, met or with a good reason.
TEST_F(BootstrapErrorsTest, KilledAtAnyTime) {
  constexpr int kRanks = 6, kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    const UniqueId id = *CreateUniqueId();
    const int victim = round % kRanks;
    std::vector<pid_t> children;
    const std::int64_t begin_ns = sys::NowNs();
    for (int rank = 0; rank < kRanks; ++rank) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      const Status met = MeetAs(id, rank, kRanks, 700, [](int, Member&&) { return Status::Ok(); });
      _exit(static_cast<int>(met.code()));
    }
    sys::SleepNs(round * 300'000);
    kill(children[victim], SIGKILL);
    for (int rank = 0; rank < kRanks; ++rank) {
      int status = -1;
      waitpid(children[rank], &status, 0);
      if (rank == victim) continue;
      ASSERT_TRUE(WIFEXITED(status));
      const auto code = static_cast<Code>(WEXITSTATUS(status));
      EXPECT_TRUE(code == Code::kOk || code == Code::kRemote || code == Code::kTimeout) << CodeName(code);
    }
    EXPECT_LT(sys::NowNs() - begin_ns, 5 * sys::kNsPerSecond) << "round " << round;
  }
}

TEST_F(BootstrapErrorsTest, AStoppedGathererIsNamed) {
  const pid_t child = fork();
  if (child == 0) {
    (void)MeetAndCheck(id_, 1, 3, kPatientMs).ok();
    _exit(0);
  }
  Approach(id_);  // it gathers now
  kill(child, SIGSTOP);
  const Status outcome = MeetAndCheck(id_, 0, 3, 1000);
  EXPECT_EQ(outcome.code(), Code::kTimeout);
  EXPECT_NE(outcome.message().find("stopped"), std::string::npos) << outcome.ToString();
  EXPECT_NE(outcome.message().find(std::to_string(child)), std::string::npos) << outcome.ToString();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(BootstrapErrorsTest, LateComersHearTheFaultToo) {
  const std::int64_t begin_ns = sys::NowNs();
  std::int64_t came_ns = 0;
  const std::vector<Status> outcomes = OnThreads({0, 0, 1, 3}, [&](int rank) {
    if (rank == 3) sys::SleepNs(150 * sys::kNsPerMs);
    if (rank == 3) came_ns = sys::NowNs();
    return MeetAndCheck(id_, rank, 4, 2000);
  });
  if (came_ns - begin_ns > 400 * sys::kNsPerMs) GTEST_SKIP() << "this machine is too busy for the test";
  ExpectAllSay(outcomes, Code::kInvalidUsage, {"rank 0"});
}

// Ends in the middle of taking everybody's data. Whoever it is, inner rank of the tree, leaf or gatherer, the others
// hear of it at once.
TEST_F(BootstrapErrorsTest, WhoDiesWhileDataGoAroundIsNamed) {
  constexpr int kRanks = 7;
  for (int victim = 0; victim < kRanks; ++victim) {
    const UniqueId id = *CreateUniqueId();
    const std::int64_t begin_ns = sys::NowNs();
    std::vector<Status> outcomes = OnProcesses(UpTo(kRanks), [&](int rank) {
      return MeetAs(id, rank, kRanks, kPatientMs, [&](int r, Member&&) {
        if (rank == victim && r == 3) kill(getpid(), SIGKILL);
        return Status::Ok();
      });
    });
    EXPECT_LT(sys::NowNs() - begin_ns, 2 * sys::kNsPerSecond);
    EXPECT_EQ(outcomes[victim].code(), Code::kInternal);  // killed
    outcomes.erase(outcomes.begin() + victim);
    for (const Status& outcome : outcomes) {
      EXPECT_EQ(outcome.code(), Code::kRemote) << outcome.ToString();
      EXPECT_EQ(outcome.peer(), victim) << outcome.ToString();
      EXPECT_NE(outcome.message().find(" died "), std::string::npos) << outcome.ToString();
    }
  }
}

TEST_F(BootstrapErrorsTest, WhoIsStoppedWhileDataGoAroundIsNamed) {
  constexpr int kRanks = 7;
  for (const int victim : {1, 4}) {
    const UniqueId id = *CreateUniqueId();
    const pid_t stopped = fork();
    if (stopped == 0) {
      (void)MeetAs(id, victim, kRanks, 3000, [&](int r, Member&&) {
        if (r == 2) kill(getpid(), SIGSTOP);
        return Status::Ok();
      }).ok();
      _exit(0);
    }
    std::vector<int> others = UpTo(kRanks);
    others.erase(others.begin() + victim);
    const std::vector<Status> outcomes = OnThreads(
        others, [&](int rank) { return MeetAs(id, rank, kRanks, 3000, [](int, Member&&) { return Status::Ok(); }); });
    kill(stopped, SIGKILL);
    waitpid(stopped, nullptr, 0);
    for (const Status& outcome : outcomes) {
      EXPECT_EQ(outcome.code(), Code::kTimeout) << outcome.ToString();
      EXPECT_EQ(outcome.peer(), victim) << outcome.ToString();
      EXPECT_NE(outcome.message().find("stopped"), std::string::npos) << outcome.ToString();
    }
  }
}

// A process that dies while a child that it has forked holds copies of its sockets: their end says nothing.
TEST_F(BootstrapErrorsTest, ADeathIsFoundThoughAForkedChildHoldsTheSockets) {
  for (const bool victim_first : {true, false}) {
    const UniqueId id = *CreateUniqueId();
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t victim = fork();
    if (victim == 0) {
      if (!victim_first) sys::SleepNs(200 * sys::kNsPerMs);
      std::thread meeting([&] { (void)MeetAndCheck(id, 1, 4, kPatientMs).ok(); });
      sys::SleepNs(100 * sys::kNsPerMs);
      const pid_t heir = fork();
      if (heir == 0) pause();
      if (write(ends[1], &heir, sizeof(heir)) > 0) pause();
    }
    std::thread killer([&] {
      sys::SleepNs(700 * sys::kNsPerMs);
      kill(victim, SIGKILL);
    });
    if (victim_first) sys::SleepNs(50 * sys::kNsPerMs);
    const std::int64_t begin_ns = sys::NowNs();
    const std::vector<Status> outcomes =
        OnThreads({0, 2}, [&](int rank) { return MeetAndCheck(id, rank, 4, kPatientMs); });
    EXPECT_LT(sys::NowNs() - begin_ns, 3 * sys::kNsPerSecond);
    killer.join();
    ExpectAllSay(outcomes, Code::kRemote, {"rank 1", std::to_string(victim), "died"});
    waitpid(victim, nullptr, 0);
    pid_t heir = 0;
    ASSERT_EQ(read(ends[0], &heir, sizeof(heir)), static_cast<ssize_t>(sizeof(heir)));
    kill(heir, SIGKILL);
    close(ends[0]);
    close(ends[1]);
  }
}

// --- Name spaces, as containers have them.

// Enters new name spaces, with a child to be in the new pid name space; false where that is not allowed here.
bool MayUnshare(int flags) {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(flags) == 0 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

TEST_F(BootstrapErrorsTest, ThroughAnotherPidNameSpaceRanksMeetAndKnowNoPid) {
  if (!MayUnshare(CLONE_NEWPID)) GTEST_SKIP() << "no right to make a pid name space";
  const std::vector<Status> outcomes = OnProcesses(UpTo(3), [&](int rank) {
    if (rank == 2 && unshare(CLONE_NEWPID) != 0) return Status(Code::kSystem, "unshare");
    const auto meet = [&](int) {
      return MeetAs(id_, rank, 3, kPatientMs, [&](int r, Member&& member) {
        const bool apart = (r == 2) != (rank == 2);
        return (member.process.pid == 0) == apart ? Status::Ok() : Status(Code::kInternal, "wrong pid");
      });
    };
    return rank == 2 ? OnProcesses({2}, meet)[0] : meet(rank);
  });
  ExpectAllOk(outcomes);
}

TEST_F(BootstrapErrorsTest, ThroughAnotherUserNameSpaceRanksWithASecretMeet) {
  if (!MayUnshare(CLONE_NEWUSER)) GTEST_SKIP() << "no right to make a user name space";
  ExpectAllOk(OnProcesses(UpTo(3), [&](int rank) {
    if (rank == 2 && unshare(CLONE_NEWUSER) != 0) return Status(Code::kSystem, "unshare");
    return MeetAs(id_, rank, 3, kPatientMs, [](int, Member&&) { return Status::Ok(); });
  }));
}

TEST_F(BootstrapErrorsTest, InAnotherNetworkNameSpaceARankIsMissing) {
  if (!MayUnshare(CLONE_NEWNET)) GTEST_SKIP() << "no right to make a network name space";
  const std::vector<Status> outcomes = OnProcesses(UpTo(3), [&](int rank) {
    if (rank == 2 && unshare(CLONE_NEWNET) != 0) return Status(Code::kSystem, "unshare");
    return MeetAndCheck(id_, rank, 3, 1000);
  });
  ExpectAllSay({outcomes[0], outcomes[1]}, Code::kTimeout, {"all but rank 2", "network name space"});
  ExpectAllSay({outcomes[2]}, Code::kTimeout, {"all but ranks 0 and 1", "network name space"});
}

TEST_F(BootstrapErrorsTest, WithTooFewDescriptorsALimitIsNamedAndNobodyHangs) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {.rlim_cur = 48, .rlim_max = 48};
    setrlimit(RLIMIT_NOFILE, &limit);
    const std::vector<Status> outcomes =
        OnThreads(UpTo(14), [&](int rank) { return MeetAndCheck(id_, rank, 14, 3000); });
    int named = 0;
    for (const Status& outcome : outcomes) {
      if (outcome.ok()) _exit(1);
      if (outcome.message().find("ulimit -n") != std::string::npos) ++named;
    }
    _exit(named > 0 ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::comm
