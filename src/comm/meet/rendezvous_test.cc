// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that count as being on several hosts, by ids of hosts, meet over this machine's network interfaces.
#include "comm/meet/rendezvous.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap.h"
#include "comm/meet/bootstrap_message.h"
#include "comm/meet/rendezvous_server.h"
#include "sys/net/tcp.h"
#include "sys/os/clock.h"
#include "sys/os/memory.h"
#include "tests/support/errors_page.h"
#include "tests/support/meeting.h"
#include "tests/support/sanitizers.h"

namespace tutti::comm {
namespace {

using namespace tests;

// With ThreadSanitizer a program that has threads cannot fork one that starts others. There `./dev test` leaves ids without
// addresses, which this program needs.
#ifdef __SANITIZE_THREAD__
constexpr bool kMayFork = false;
const bool kHasNetwork = unsetenv("NCCL_SOCKET_IFNAME") == 0;
#else
constexpr bool kMayFork = true;
#endif
constexpr Kind kProcesses = kMayFork ? Kind::kProcesses : Kind::kThreads;

std::string HostAt(int host) { return "host" + std::to_string(host); }

// Meets as a rank of a host, and checks what it is told of all members. `host_of`: by rank.
Status MeetOnHost(const UniqueId& id, int rank, const std::vector<int>& host_of, std::int64_t timeout_ms = kPatientMs,
                  std::size_t payload_bytes = 100) {
  const int ranks = static_cast<int>(host_of.size());
  const auto payload_of = [&](int r) { return PayloadOf(r, payload_bytes + static_cast<std::size_t>(r)); };
  const std::vector<std::byte> payload = payload_of(rank);
  const Result<sys::Fd> memory = sys::CreateSharedMemory("tutti-test", kPage + static_cast<std::size_t>(rank));
  if (!memory.ok()) return memory.status();
  int next = 0;
  const bool several = std::ranges::any_of(host_of, [&](int host) { return host != host_of[0]; });
  const Status met =
      Meet({.id = id,
            .rank = rank,
            .ranks = ranks,
            .timeout_ms = timeout_ms,
            .payload = payload,
            .shared = &*memory,
            .host = HostAt(host_of[static_cast<std::size_t>(rank)])},
           [&](int r, Member&& member) {
             const bool remote = host_of[static_cast<std::size_t>(r)] != host_of[static_cast<std::size_t>(rank)];
             const std::string host = several ? HostAt(host_of[static_cast<std::size_t>(r)]) : "";
             const bool good = r == next++ && member.payload == payload_of(r) && member.remote == remote &&
                               member.host == host && member.shared.valid() == !remote &&
                               (remote || SizeOfFile(member.shared) == kPage + static_cast<std::size_t>(r)) &&
                               (member.process.pid != 0) == !remote;
             return good ? Status::Ok() : Status(Code::kInternal, "wrong member " + std::to_string(r));
           });
  if (met.ok() && next != ranks) return Status(Code::kInternal, "members are missing");
  return met;
}

void ExpectTheyMeet(Kind kind, const UniqueId& id, const std::vector<int>& host_of, std::size_t payload_bytes = 100) {
  ExpectAllOk(OnRanks(kind, UpTo(static_cast<int>(host_of.size())),
                      [&](int rank) { return MeetOnHost(id, rank, host_of, kPatientMs, payload_bytes); }));
}

class RendezvousTest : public testing::Test {
 protected:
  const UniqueId id_ = *CreateUniqueId();
};

TEST_F(RendezvousTest, AnIdSaysWhereHostsMeet) {
  const IdParts parts = *ReadId(id_);
  ASSERT_FALSE(parts.addresses.empty());
  EXPECT_NE(parts.addresses[0].port, 0);
  const IdParts other = *ReadId(*CreateUniqueId());
  EXPECT_EQ(other.addresses, parts.addresses);  // one port for all ids of a process
  EXPECT_TRUE(ReadId(*FurtherId(id_, "x", 1))->addresses.empty());
}

TEST_F(RendezvousTest, RanksOfTwoHostsMeet) {
  ExpectTheyMeet(Kind::kThreads, id_, {0, 1});
  ExpectTheyMeet(Kind::kThreads, id_, {0, 0, 1, 1});  // and again, under the same id
  ExpectTheyMeet(kProcesses, id_, {0, 1, 1, 0});
}

TEST_F(RendezvousTest, UnevenHostsMeet) {
  ExpectTheyMeet(Kind::kThreads, id_, {0, 0, 0, 1});
  ExpectTheyMeet(kProcesses, id_, {2, 0, 1, 1, 1, 1, 0});
  std::vector<int> host_of;
  for (int i = 0; i < 21; ++i) host_of.push_back(i < 8 ? 0 : i < 16 ? 1 : 2);
  ExpectTheyMeet(Kind::kThreads, id_, host_of);
}

TEST_F(RendezvousTest, ManyHostsMeetWithLargePayloads) {
  std::mt19937 random(5);
  std::vector<int> host_of;
  for (int i = 0; i < 40; ++i) host_of.push_back(i < 16 ? i : static_cast<int>(random() % 16));
  ExpectTheyMeet(Kind::kThreads, id_, host_of, 30'000);
}

TEST_F(RendezvousTest, RanksOfOneHostNeedNobodyElse) {
  if (!kMayFork) GTEST_SKIP() << "ThreadSanitizer";
  // Whoever made the id has ended before they meet.
  int to_parent[2];
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t maker = fork();
  if (maker == 0) {
    const UniqueId made = *CreateUniqueId();
    _exit(write(to_parent[1], made.bytes.data(), made.bytes.size()) == 128 ? 0 : 1);
  }
  UniqueId id;
  ASSERT_EQ(read(to_parent[0], id.bytes.data(), id.bytes.size()), 128);
  waitpid(maker, nullptr, 0);
  close(to_parent[0]);
  close(to_parent[1]);
  ASSERT_FALSE(ReadId(id)->addresses.empty());
  ExpectAllOk(OnThreads(UpTo(3), [&](int rank) {
    if (rank == 2) sys::SleepNs(100 * sys::kNsPerMs);  // so that the others look for hosts
    return MeetOnHost(id, rank, {0, 0, 0});
  }));
}

// Of a process that is gone: an id that no leader can use.
UniqueId WithNobodyAt(std::uint16_t port) {
  IdParts parts = *ReadId(*CreateUniqueId());
  parts.addresses = {{sys::IpAddress::V4(127, 0, 0, 1), port}};
  return MakeId(parts);
}

TEST_F(RendezvousTest, HostsThatCannotReachEachOtherSayWhere) {
  const UniqueId id = WithNobodyAt(1);  // nothing listens there
  const std::vector<Status> said = OnThreads(UpTo(2), [&](int rank) { return MeetOnHost(id, rank, {0, 1}, 4000); });
  for (int rank = 0; rank < 2; ++rank) {
    const Status& status = said[static_cast<std::size_t>(rank)];
    EXPECT_EQ(status.code(), Code::kTimeout);
    for (const std::string& part :
         {"1 of 2 ranks have come, all but rank " + std::to_string(1 - rank), std::string("127.0.0.1:1"),
          "which host " + HostAt(rank) + " cannot reach", std::string("refused")}) {
      EXPECT_NE(status.message().find(part), std::string::npos) << part << " is not in: " << status.message();
    }
  }
}

TEST_F(RendezvousTest, AMissingRankIsNamedOnAllHosts) {
  const std::vector<int> host_of = {0, 0, 1, 2};
  const std::vector<Status> said = OnThreads({0, 1, 2}, [&](int rank) { return MeetOnHost(id_, rank, host_of, 4000); });
  for (const Status& status : said) {
    EXPECT_EQ(status.code(), Code::kTimeout);
    EXPECT_NE(status.message().find("3 of 4 ranks have come, all but rank 3."), std::string::npos) << status.message();
    EXPECT_EQ(status.peer(), 3);
  }
  // Who has come from where, as far as the one knows whose time ran out first.
  EXPECT_NE(said[0].message().find("host0 (ranks 0 and 1)"), std::string::npos) << said[0].message();
  EXPECT_NE(said[0].message().find("host1 (rank 2)"), std::string::npos) << said[0].message();
}

// What ranks 0 to 2 of 4, on three hosts, are told of who has not come until their time is over.
std::vector<std::vector<Missing>> WhatIsMissing(const UniqueId& id) {
  std::vector<std::vector<Missing>> told(3);
  const auto meet = [&](int rank) {
    std::vector<Missing>& own = told[static_cast<std::size_t>(rank)];
    return Meet({.id = id,
                 .rank = rank,
                 .ranks = 4,
                 .timeout_ms = 2600,
                 .host = HostAt(rank),
                 .missing = [&own](const Missing& missing) { own.push_back(missing); }},
                [](int, Member&&) { return Status::Ok(); });
  };
  (void)OnThreads(UpTo(3), meet);
  return told;
}

TEST_F(RendezvousTest, WhoHasComeIsToldWhileNobodyComes) {
  const IdParts id = *ReadId(id_);
  for (const std::vector<Missing>& told : WhatIsMissing(id_)) {
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.back(), Missing{.ranks = {3}});
    // It was known for all of the time that the place answers.
    for (const Missing& missing : told) EXPECT_EQ(missing.place, "");
  }
}

// Somebody takes the connections, and says nothing.
TEST_F(RendezvousTest, APlaceThatDoesNotAnswerIsNamedInsteadOfRanks) {
  const Result<sys::TcpListener> mute = sys::TcpListener::Open({.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}});
  ASSERT_TRUE(mute.ok()) << mute.status().message();
  for (const std::vector<Missing>& told : WhatIsMissing(WithNobodyAt(mute->port()))) {
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].place, fmt::format("127.0.0.1:{} of the process that made the id", mute->port()));
    EXPECT_EQ(told[0].ranks.size(), 3u);
  }
}

// Where rank 0 itself is all that is missing nothing else has to be said.
TEST_F(RendezvousTest, WhereHostsMeetAtRankZeroThatIsNamed) {
  IdParts parts = *ReadId(WithNobodyAt(1));
  parts.listener = IdListener::kRankZero;
  std::vector<Missing> told;
  const MeetOptions options{
      .id = MakeId(parts), .rank = 1, .ranks = 2, .timeout_ms = 2600, .missing = [&](const Missing& missing) {
        told.push_back(missing);
      }};
  EXPECT_EQ(Meet(options, [](int, Member&&) { return Status::Ok(); }).code(), Code::kTimeout);
  EXPECT_EQ(told, std::vector{Missing{.ranks = {0}}});
}

TEST_F(RendezvousTest, DifferentNumbersOfRanksAreToldOnAllHosts) {
  ExpectAllSay(OnThreads({0, 1, 2},
                         [&](int rank) {
                           const std::vector<int> host_of(rank == 2 ? 4 : 3, rank == 2 ? 1 : 0);
                           return MeetOnHost(id_, rank, host_of, 20'000);
                         }),
               Code::kInvalidUsage, {"told different numbers of ranks", "3 on", "4 on", "host0", "host1"});
}

TEST_F(RendezvousTest, OneRankOnTwoHostsIsToldOnBoth) {
  ExpectAllSay(OnThreads({0, 1}, [&](int host) { return MeetOnHost(id_, 0, std::vector<int>(3, host), 20'000); }),
               Code::kInvalidUsage, {"two ranks of 3 say that they are rank 0", "on host host0", "on host host1"});
}

TEST_F(RendezvousTest, AHostThatDiesIsNamedOnTheOthers) {
  if (!kMayFork) GTEST_SKIP() << "ThreadSanitizer";
  const std::vector<int> host_of = {0, 0, 1, 2};
  const pid_t child = fork();
  if (child == 0) {
    (void)MeetOnHost(id_, 2, host_of).ok();
    _exit(0);
  }
  std::thread killer([&] {
    sys::SleepNs(tests::HeadStartMs(1500) * sys::kNsPerMs);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  });
  const std::int64_t begin_ns = sys::NowNs();
  ExpectAllSay(OnThreads({0, 1}, [&](int rank) { return MeetOnHost(id_, rank, host_of); }), Code::kRemote,
               {"host host1 (rank 2) left before the ranks had met"});
  EXPECT_LT(sys::NowNs() - begin_ns, kPatientMs * sys::kNsPerMs / 4);
  killer.join();
  // The id serves on.
  ExpectTheyMeet(Kind::kThreads, id_, {0, 1, 1});
}

// Rank 1's host joins, and then says nothing, as one that is cut off.
TEST_F(RendezvousTest, AHostThatFallsSilentInTheLastMomentIsNamed) {
  const auto silent = Rendezvous::Begin({.id = *ReadId(id_),
                                         .rank = 1,
                                         .ranks = 2,
                                         .host = HostAt(1),
                                         .deadline_ns = sys::NowNs() + 60 * sys::kNsPerSecond});
  ASSERT_TRUE(silent.ok());
  (*silent)->Arrived(1, sys::Self(), 0, PayloadOf(1, 101));
  const Status status = MeetOnHost(id_, 0, {0, 1}, 2000);
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_NE(status.message().find("have not answered since: host1 (rank 1)."), std::string::npos) << status.message();
}

TEST_F(RendezvousTest, ARankThatGivesUpIsToldOnAllHosts) {
  std::atomic<bool> cancel{false};
  std::thread aborter([&] {
    sys::SleepNs(1000 * sys::kNsPerMs);
    cancel = true;
  });
  ExpectAllSay(OnThreads({0, 1, 2},
                         [&](int rank) {
                           return Meet({.id = id_,
                                        .rank = rank,
                                        .ranks = 4,
                                        .timeout_ms = kPatientMs,
                                        .cancel = rank == 2 ? &cancel : nullptr,
                                        .host = HostAt(rank / 2)},
                                       [](int, Member&&) { return Status::Ok(); });
                         }),
               Code::kRemote, {"rank 2 (pid", "gave up before the ranks had met"});
  aborter.join();
}

TEST_F(RendezvousTest, StrangersChangeNothing) {
  const std::vector<sys::Endpoint> endpoints = ReadId(id_)->addresses;
  std::atomic<bool> stop{false};
  std::vector<std::thread> strangers;
  for (int i = 0; i < 3; ++i) {
    strangers.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      std::vector<sys::TcpConnection> silent;
      while (!stop) {
        Result<sys::Fd> socket = sys::StartConnect(endpoints[0]);
        if (!socket.ok()) continue;
        sys::SleepNs(sys::kNsPerMs);
        Result<sys::TcpConnection> connection = sys::FinishConnect(*socket, endpoints[0]);
        if (!connection.ok()) continue;
        std::vector<std::byte> noise(random() % 200);
        for (std::byte& b : noise) b = static_cast<std::byte>(random());
        if (!noise.empty()) (void)connection->Send(noise).ok();
        if (i == 0 && silent.size() < 100) silent.push_back(std::move(*connection));
      }
    });
  }
  for (int i = 0; i < 5; ++i) ExpectTheyMeet(Kind::kThreads, id_, {0, 0, 1, 2});
  stop = true;
  for (std::thread& stranger : strangers) stranger.join();
}

}  // namespace
}  // namespace tutti::comm
