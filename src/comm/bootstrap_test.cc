// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/bootstrap.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "comm/bootstrap_message.h"
#include "sys/clock.h"
#include "sys/memory.h"
#include "sys/random_bytes.h"
#include "sys/unix_socket.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kPatientMs = 60'000;  // for meetings that must succeed, however slow the machine
constexpr std::size_t kPage = 4096;

std::vector<std::byte> PayloadOf(int rank, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>(rank * 31 + i);
  return payload;
}

std::size_t SizeOfFile(const sys::Fd& fd) {
  struct stat info;
  return fstat(fd.get(), &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
}

// Meets as `rank` with the payload and the descriptor that CheckMember expects of it.
Status MeetAs(const UniqueId& id, int rank, int ranks, std::int64_t timeout_ms, const OnMember& on_member,
              MeetReport* report = nullptr) {
  const std::vector<std::byte> payload = PayloadOf(rank, 10 + rank);
  Result<sys::Fd> memory = sys::CreateSharedMemory("tutti-test", kPage + rank);
  TUTTI_RETURN_IF_ERROR(memory.status());
  return Meet({.id = id,
               .rank = rank,
               .ranks = ranks,
               .timeout_ms = timeout_ms,
               .payload = payload,
               .shared = &*memory,
               .report = report},
              on_member);
}

// Checks that members come in order and hold what MeetAs gave them; counts them in `next`.
Status CheckMember(int& next, int rank, const Member& member) {
  const bool good = rank == next++ && member.payload == PayloadOf(rank, 10 + rank) &&
                    SizeOfFile(member.shared) == kPage + rank && member.uid == geteuid() &&
                    sys::ProbeProcess(member.process) == sys::Liveness::kAlive;
  return good ? Status::Ok() : Status(Code::kInternal, "a member is not as it should be");
}

Status MeetAndCheck(const UniqueId& id, int rank, int ranks, std::int64_t timeout_ms, MeetReport* report = nullptr) {
  int next = 0;
  const Status met = MeetAs(
      id, rank, ranks, timeout_ms, [&next](int r, Member&& member) { return CheckMember(next, r, member); }, report);
  if (met.ok() && next != ranks) return Status(Code::kInternal, "not all members came");
  return met;
}

// Runs body(rank) on a thread for each rank of the list.
std::vector<Status> OnThreads(const std::vector<int>& ranks, const std::function<Status(int)>& body) {
  std::vector<Status> outcomes(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] { outcomes[i] = body(ranks[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::vector<int> UpTo(int ranks) {
  std::vector<int> list(ranks);
  for (int i = 0; i < ranks; ++i) list[i] = i;
  return list;
}

void ExpectAllSay(const std::vector<Status>& outcomes, Code code, const std::vector<std::string>& words) {
  for (const Status& outcome : outcomes) {
    EXPECT_EQ(outcome.code(), code) << outcome.ToString();
    EXPECT_EQ(outcome.message(), outcomes[0].message());
    for (const std::string& word : words) {
      EXPECT_NE(outcome.message().find(word), std::string::npos) << word << " is not in: " << outcome.message();
    }
  }
}

// Fails the test that leaves descriptors behind.
class BootstrapTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(sys::CountOpenFds(), before_); }
  const UniqueId id_ = *CreateUniqueId();

 private:
  const int before_ = sys::CountOpenFds();
};

std::int64_t In(std::int64_t ms) { return sys::NowNs() + ms * sys::kNsPerMs; }

// Connects to the meeting of `id` as soon as somebody gathers.
sys::Fd Approach(const UniqueId& id) {
  Result<sys::Fd> socket = sys::Connect(sys::SocketKind::kPacket, internal::SocketName(*ReadId(id)), In(kPatientMs));
  return socket.ok() ? std::move(*socket) : sys::Fd();
}

std::optional<Message> NextMessage(const sys::Fd& socket) {
  Message buffer(kMostMessageBytes);
  if (!sys::WaitReadable(socket, In(kPatientMs)).ok()) return std::nullopt;
  const Result<sys::Received> got = sys::ReceiveMessage(socket, buffer);
  if (!got.ok()) return std::nullopt;
  buffer.resize(got->bytes);
  return buffer;
}

// Proves to belong to the job of `id`, and says `hello`. The answer.
std::optional<Message> SayHello(const sys::Fd& socket, const UniqueId& id, const Hello& hello) {
  const sys::Key secret = ReadId(id)->secret;
  const Greeting greeting{.nonce = *sys::FreshNonce()};
  if (!sys::SendMessage(socket, Encode(greeting)).ok()) return std::nullopt;
  const std::optional<Message> answer = NextMessage(socket);
  if (!answer) return std::nullopt;
  const Result<Challenge> challenge = ParseChallenge(*answer);
  EXPECT_TRUE(challenge.ok());
  EXPECT_EQ(challenge->mac, ChallengeMac(secret, greeting.nonce, challenge->nonce));
  if (!sys::SendMessage(socket, Encode(hello, secret, greeting.nonce, challenge->nonce)).ok()) return std::nullopt;
  return NextMessage(socket);
}

TEST_F(BootstrapTest, ThreadsMeet) {
  for (const int ranks : {1, 2, 3, 8, 33}) {
    std::vector<MeetReport> reports(ranks);
    const std::vector<Status> outcomes =
        OnThreads(UpTo(ranks), [&](int rank) { return MeetAndCheck(id_, rank, ranks, kPatientMs, &reports[rank]); });
    for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
    std::set<int> gatherers;
    for (const MeetReport& report : reports) gatherers.insert(report.gatherer);
    EXPECT_EQ(gatherers.size(), 1u);
  }
}

TEST_F(BootstrapTest, ReturnsMembersOfAnySize) {
  const std::size_t sizes[] = {0, 1, kMostPayloadBytes, 100, kMostPayloadBytes, kMostPayloadBytes};
  constexpr int kRanks = 6;
  const std::vector<Status> outcomes = OnThreads(UpTo(kRanks), [&](int rank) {
    const std::vector<std::byte> payload = PayloadOf(rank, sizes[rank]);
    const Result<sys::Fd> memory = sys::CreateSharedMemory("tutti-test", kPage);
    Result<std::vector<Member>> members = Meet({.id = id_,
                                                .rank = rank,
                                                .ranks = kRanks,
                                                .timeout_ms = kPatientMs,
                                                .payload = payload,
                                                .shared = rank % 2 == 0 ? &*memory : nullptr});
    if (!members.ok()) return members.status();
    EXPECT_EQ(members->size(), 6u);
    for (int r = 0; r < kRanks; ++r) {
      EXPECT_EQ((*members)[r].payload, PayloadOf(r, sizes[r]));
      EXPECT_EQ((*members)[r].shared.valid(), r % 2 == 0);
      EXPECT_EQ((*members)[r].process, sys::Self());
    }
    return Status::Ok();
  });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
}

TEST_F(BootstrapTest, ProcessesMeet) {
  constexpr int kRanks = 16;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(MeetAndCheck(id_, rank, kRanks, kPatientMs).ok() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(BootstrapTest, ProcessesAndThreadsMeet) {
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<Status> outcomes =
        OnThreads({1, 3, 5}, [&](int rank) { return MeetAndCheck(id_, rank, 6, kPatientMs); });
    for (const Status& outcome : outcomes) {
      if (!outcome.ok()) _exit(1);
    }
    _exit(0);
  }
  const std::vector<Status> outcomes =
      OnThreads({0, 2, 4}, [&](int rank) { return MeetAndCheck(id_, rank, 6, kPatientMs); });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(BootstrapTest, ManyThreadsOfOneProcessMeet) {
  constexpr int kRanks = 256;
  const rlimit before = [] {
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit;
  }();
  const rlimit raised = {.rlim_cur = std::min<rlim_t>(before.rlim_max, 8192), .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &raised);
  const std::int64_t begin_ns = sys::NowNs();
  const std::vector<Status> outcomes = OnThreads(UpTo(kRanks), [&](int rank) {
    int members = 0;
    return MeetAs(id_, rank, kRanks, kPatientMs, [&members](int r, Member&& member) {
      const bool good = r == members++ && SizeOfFile(member.shared) == kPage + r;
      return good ? Status::Ok() : Status(Code::kInternal, "wrong member");
    });
  });
  RecordProperty("ms", static_cast<int>((sys::NowNs() - begin_ns) / sys::kNsPerMs));
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(BootstrapTest, OneIdServesOneMeetingAfterTheOther) {
  const std::vector<Status> outcomes = OnThreads(UpTo(4), [&](int rank) {
    for (int i = 0; i < 50; ++i) TUTTI_RETURN_IF_ERROR(MeetAndCheck(id_, rank, 4, kPatientMs));
    return Status::Ok();
  });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
}

TEST_F(BootstrapTest, ManyMeetingsAtOnce) {
  constexpr int kMeetings = 50, kRanks = 4;
  std::vector<UniqueId> ids;
  for (int i = 0; i < kMeetings; ++i) ids.push_back(*CreateUniqueId());
  const std::vector<Status> outcomes = OnThreads(
      UpTo(kMeetings * kRanks), [&](int i) { return MeetAndCheck(ids[i / kRanks], i % kRanks, kRanks, kPatientMs); });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
}

TEST_F(BootstrapTest, DerivedIdsMeetToo) {
  const UniqueId id = DeriveId({std::as_bytes(std::span("launcher")), *sys::FreshNonce()});
  const std::vector<Status> outcomes =
      OnThreads(UpTo(3), [&](int rank) { return MeetAndCheck(id, rank, 3, kPatientMs); });
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
}

TEST_F(BootstrapTest, EveryoneNamesWhoIsMissing) {
  const std::int64_t begin_ns = sys::NowNs();
  const std::vector<Status> outcomes = OnThreads({0, 1, 3}, [&](int rank) { return MeetAndCheck(id_, rank, 9, 1500); });
  EXPECT_LT(sys::NowNs() - begin_ns, 1500 * sys::kNsPerMs + sys::kNsPerSecond);
  ExpectAllSay(outcomes, Code::kTimeout, {"3 of 9", "ranks 2 and 4-8"});
  EXPECT_EQ(outcomes[0].peer(), 2);
}

TEST_F(BootstrapTest, RankZeroMayBeTheMissingOne) {
  const std::vector<Status> outcomes = OnThreads({1, 2}, [&](int rank) { return MeetAndCheck(id_, rank, 3, 1500); });
  ExpectAllSay(outcomes, Code::kTimeout, {"2 of 3", "all but rank 0"});
}

TEST_F(BootstrapTest, TheShortestTimeoutEndsTheMeetingForAll) {
  const std::int64_t begin_ns = sys::NowNs();
  const std::vector<Status> outcomes =
      OnThreads({0, 1}, [&](int rank) { return MeetAndCheck(id_, rank, 3, rank == 0 ? kPatientMs : 1000); });
  EXPECT_LT(sys::NowNs() - begin_ns, kPatientMs * sys::kNsPerMs / 2);
  ExpectAllSay(outcomes, Code::kTimeout, {"2 of 3", "all but rank 2"});
}

TEST_F(BootstrapTest, ARankAloneTimesOut) {
  const Status outcome = MeetAndCheck(id_, 2, 3, 300);
  EXPECT_EQ(outcome.code(), Code::kTimeout);
  EXPECT_NE(outcome.message().find("0 and 1"), std::string::npos) << outcome.ToString();
}

TEST_F(BootstrapTest, ARankThatComesTwiceIsNamed) {
  const std::vector<Status> outcomes =
      OnThreads({0, 1, 1, 3}, [&](int rank) { return MeetAndCheck(id_, rank, 4, kPatientMs); });
  ExpectAllSay(outcomes, Code::kInvalidUsage, {"rank 1", std::to_string(getpid()), "two jobs"});
}

TEST_F(BootstrapTest, DifferentRankCountsAreNamed) {
  const std::vector<Status> outcomes =
      OnThreads({0, 1, 2}, [&](int rank) { return MeetAndCheck(id_, rank, rank == 2 ? 4 : 3, kPatientMs); });
  ExpectAllSay(outcomes, Code::kInvalidUsage, {"3", "4", "rank 2 "});
}

TEST_F(BootstrapTest, ARankOutOfRangeIsNamedOnAllRanks) {
  const std::vector<Status> outcomes =
      OnThreads({0, 1, 3}, [&](int rank) { return MeetAndCheck(id_, rank, 3, kPatientMs); });
  ExpectAllSay(outcomes, Code::kInvalidUsage, {"rank 3 of 3", "0 to 2"});
  const Status alone = MeetAndCheck(id_, -1, 3, 500);
  EXPECT_EQ(alone.code(), Code::kInvalidUsage);
  EXPECT_NE(alone.message().find("rank -1 of 3"), std::string::npos) << alone.ToString();
}

TEST_F(BootstrapTest, AnotherVersionIsNamedOnAllRanks) {
  Status stranger_hears;
  std::thread newer([&] {
    const sys::Fd socket = Approach(id_);
    const std::optional<Message> answer = SayHello(socket, id_, {.version = 7, .rank = 2, .ranks = 3});
    ASSERT_TRUE(answer);
    EXPECT_TRUE(ParseFailure(*answer, stranger_hears).ok());
  });
  std::vector<Status> outcomes = OnThreads({0, 1}, [&](int rank) { return MeetAndCheck(id_, rank, 3, kPatientMs); });
  newer.join();
  outcomes.push_back(stranger_hears);
  ExpectAllSay(outcomes, Code::kInvalidUsage, {"rank 2", "version 7", "version 2"});
}

TEST_F(BootstrapTest, BadArgumentsAreErrors) {
  EXPECT_EQ(MeetAndCheck(UniqueId{}, 0, 2, 100).code(), Code::kInvalidArgument);
  EXPECT_EQ(MeetAndCheck(id_, 0, 0, 100).code(), Code::kInvalidArgument);
  EXPECT_EQ(MeetAndCheck(id_, 0, 2, 0).code(), Code::kInvalidArgument);
  const std::vector<std::byte> much(kMostPayloadBytes + 1);
  EXPECT_EQ(Meet({.id = id_, .ranks = 2, .payload = much}).status().code(), Code::kInvalidArgument);
  const sys::Fd closed;
  EXPECT_EQ(Meet({.id = id_, .ranks = 2, .shared = &closed}).status().code(), Code::kInvalidArgument);
}

TEST_F(BootstrapTest, WhoCannotTakeAMemberFailsAll) {
  const std::vector<Status> outcomes = OnThreads(UpTo(4), [&](int rank) {
    return MeetAs(id_, rank, 4, kPatientMs, [rank](int r, Member&&) {
      if (rank == 2 && r == 1) return Status(Code::kSystem, "out of address space");
      return Status::Ok();
    });
  });
  ExpectAllSay(outcomes, Code::kSystem, {"rank 2 ", "what rank 1 sent", "out of address space"});
}

TEST_F(BootstrapTest, WhereAllDisagreeAllSayTheSame) {
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

TEST_F(BootstrapTest, AKilledVisitorIsNamed) { KillWhileMeeting(id_, Order::kVictimLast); }
TEST_F(BootstrapTest, AKilledGathererIsNamed) { KillWhileMeeting(id_, Order::kVictimFirst); }

// Kills one of six processes at some time from before it joins until after all have met. Whatever the time, the others
// must end soon, met or with a good reason.
TEST_F(BootstrapTest, KilledAtAnyTime) {
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

TEST_F(BootstrapTest, AStoppedGathererIsNamed) {
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

TEST_F(BootstrapTest, LateComersHearTheFaultToo) {
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

// --- Strangers. What connects without the secret must not disturb a meeting.

using Trick = std::function<void(const sys::Fd&)>;

void SendNoise(const sys::Fd& socket, std::size_t bytes) {
  std::vector<std::byte> noise(bytes);
  EXPECT_TRUE(sys::FillRandom(noise).ok());
  (void)sys::SendMessage(socket, noise).ok();
}

std::vector<Trick> Tricks() {
  return {
      [](const sys::Fd&) {},  // silence
      [](const sys::Fd& socket) { SendNoise(socket, 1); },
      [](const sys::Fd& socket) { SendNoise(socket, 40); },
      [](const sys::Fd& socket) { SendNoise(socket, 100'000); },
      [](const sys::Fd& socket) {  // a good beginning, then noise for a code
        (void)sys::SendMessage(socket, Encode(Greeting{.nonce = *sys::FreshNonce()})).ok();
        SendNoise(socket, 200);
      },
      [](const sys::Fd& socket) {  // a good beginning, then silence
        (void)sys::SendMessage(socket, Encode(Greeting{.nonce = *sys::FreshNonce()})).ok();
      },
      [](const sys::Fd& socket) {  // the wrong secret
        const sys::Nonce nonce = *sys::FreshNonce();
        (void)sys::SendMessage(socket, Encode(Greeting{.nonce = nonce})).ok();
        (void)sys::SendMessage(socket, Encode(Hello{.rank = 1, .ranks = 3}, sys::Key{}, nonce, nonce)).ok();
      },
      [](const sys::Fd& socket) {  // messages of members
        (void)sys::SendMessage(socket, EncodeBare(MessageKind::kReady)).ok();
        (void)sys::SendMessage(socket, Encode(Status(Code::kRemote, "fail!"))).ok();
      },
      [](const sys::Fd& socket) {  // descriptors
        const std::vector<int> fds(sys::kMostFdsPerMessage, 0);
        (void)sys::SendMessage(socket, Encode(Greeting{}), fds).ok();
        (void)sys::SendMessage(socket, Encode(Greeting{}), fds).ok();
      },
  };
}

TEST_F(BootstrapTest, StrangersDoNotDisturb) {
  std::vector<sys::Fd> kept;
  MeetReport reports[3];
  std::atomic<bool> done = false;
  std::thread strangers([&] {
    for (int round = 0; round < 12; ++round) {
      for (const Trick& trick : Tricks()) {
        sys::Fd socket = Approach(id_);
        trick(socket);
        if (round % 2 == 0) kept.push_back(std::move(socket));
      }
    }
    done = true;
  });
  const std::vector<Status> outcomes = OnThreads(UpTo(3), [&](int rank) {
    while (rank == 2 && !done) sys::SleepNs(sys::kNsPerMs);
    return MeetAndCheck(id_, rank, 3, kPatientMs, &reports[rank]);
  });
  strangers.join();
  for (const Status& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << outcome.ToString();
  EXPECT_GE(reports[reports[0].gatherer].strangers, 12 * 9 / 2);
}

TEST_F(BootstrapTest, SilentStrangersAreDroppedAfterASecond) {
  Status outcome;
  std::thread gatherer([&] { outcome = MeetAndCheck(id_, 0, 2, 4000); });
  const sys::Fd silent = Approach(id_);
  const std::int64_t begin_ns = sys::NowNs();
  EXPECT_FALSE(NextMessage(silent));  // the end of the connection
  EXPECT_GE(sys::NowNs() - begin_ns, 900 * sys::kNsPerMs);
  EXPECT_LT(sys::NowNs() - begin_ns, 3 * sys::kNsPerSecond);
  gatherer.join();
  EXPECT_EQ(outcome.code(), Code::kTimeout);
}

TEST_F(BootstrapTest, WhoHoldsTheNameWithoutTheSecretIsNamed) {
  const Result<sys::Fd> listener = sys::Listen(sys::SocketKind::kPacket, internal::SocketName(*ReadId(id_)));
  ASSERT_TRUE(listener.ok());
  std::thread squatter([&] {
    const std::int64_t end_ns = In(800);
    while (sys::WaitReadable(*listener, end_ns).ok()) {
      const Result<sys::Fd> socket = sys::Accept(*listener);
      if (!socket.ok()) continue;
      (void)NextMessage(*socket);
      (void)sys::SendMessage(*socket, Encode(Challenge{})).ok();
      (void)NextMessage(*socket);
    }
  });
  const Status outcome = MeetAndCheck(id_, 0, 2, 500);
  EXPECT_EQ(outcome.code(), Code::kTimeout);
  EXPECT_NE(outcome.message().find("secret"), std::string::npos) << outcome.ToString();
  squatter.join();
}

TEST_F(BootstrapTest, WithTooFewDescriptorsALimitIsNamedAndNobodyHangs) {
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
