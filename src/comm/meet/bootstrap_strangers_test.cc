// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What connects without the secret must not disturb a meeting.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap.h"
#include "comm/meet/bootstrap_message.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "sys/os/random_bytes.h"
#include "tests/support/meeting.h"

namespace tutti::comm {
namespace {

using namespace tests;

class BootstrapStrangersTest : public MeetingTest {};

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
      [](const sys::Fd& socket) {  // half open: says no more, and listens
        (void)sys::SendMessage(socket, Encode(Greeting{.nonce = *sys::FreshNonce()})).ok();
        shutdown(socket.get(), SHUT_WR);
      },
      [](const sys::Fd& socket) { shutdown(socket.get(), SHUT_RDWR); },
      [](const sys::Fd& socket) {  // what port scanners say
        for (const char* probe : {"GET / HTTP/1.0\r\n\r\n", "\x16\x03\x01\x02\x01", "SSH-2.0-scan\r\n", "\r\n\r\n"}) {
          (void)sys::SendMessage(socket, std::as_bytes(std::span(std::string_view(probe)))).ok();
        }
      },
      [](const sys::Fd& socket) {  // an empty packet, as the end of a stream looks
        (void)sys::SendMessage(socket, {}).ok();
        (void)sys::SendMessage(socket, Encode(Greeting{})).ok();
      },
      [](const sys::Fd& socket) {  // descriptors
        const std::vector<int> fds(sys::kMostFdsPerMessage, 0);
        (void)sys::SendMessage(socket, Encode(Greeting{}), fds).ok();
        (void)sys::SendMessage(socket, Encode(Greeting{}), fds).ok();
      },
  };
}

TEST_F(BootstrapStrangersTest, StrangersDoNotDisturb) {
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
  EXPECT_GE(reports[reports[0].gatherer].strangers, 12 * 13 / 2);
}

// Goes on connecting, and keeps the connections that are not dropped, until told to stop.
class Flood {
 public:
  Flood(const UniqueId& id, std::size_t most_open, Trick trick)
      : name_(internal::SocketName(*ReadId(id))),
        most_open_(most_open),
        trick_(std::move(trick)),
        thread_([this] { Run(); }) {}
  ~Flood() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int connections() const { return connections_; }

 private:
  void Run() {
    std::vector<sys::Fd> open;
    for (std::size_t next = 0; !stop_;) {
      Result<sys::Fd> socket = sys::TryConnect(sys::SocketKind::kPacket, name_);
      if (!socket.ok()) {
        sys::SleepNs(sys::kNsPerMs / 10);
        continue;
      }
      trick_(*socket);
      ++connections_;
      if (open.size() < most_open_) {
        open.push_back(std::move(*socket));
      } else {
        open[next++ % most_open_] = std::move(*socket);
      }
    }
  }

  const std::string name_;
  const std::size_t most_open_;
  const Trick trick_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
};

TEST_F(BootstrapStrangersTest, ThousandsOfConnectionsDoNotKeepRanksOut) {
  const Trick silent = [](const sys::Fd&) {};
  const Trick greeting = [](const sys::Fd& socket) { (void)sys::SendMessage(socket, Encode(Greeting{})).ok(); };
  for (const Trick& trick : {silent, greeting}) {
    Flood flood(id_, 4000, trick);
    const std::int64_t begin_ns = sys::NowNs();
    const std::vector<Status> outcomes = OnThreads(UpTo(4), [&](int rank) {
      // The last ranks come when the first have a crowd at the door.
      const std::int64_t until_ns = In(20'000);
      while (rank > 1 && flood.connections() < 2000 && sys::NowNs() < until_ns) sys::SleepNs(sys::kNsPerMs);
      return MeetAndCheck(id_, rank, 4, kPatientMs);
    });
    flood.Stop();
    ExpectAllOk(outcomes);
    EXPECT_GE(flood.connections(), 2000);
    EXPECT_LT(sys::NowNs() - begin_ns, 30 * sys::kNsPerSecond);
    RecordProperty("ms", static_cast<int>((sys::NowNs() - begin_ns) / sys::kNsPerMs));
  }
}

// One byte at a time, each within its second: the first is no message, so it is the last.
TEST_F(BootstrapStrangersTest, SlowDripsAreCutOff) {
  Status outcome;
  std::thread gatherer([&] { outcome = MeetAndCheck(id_, 0, 2, 3000); });
  const sys::Fd socket = Approach(id_);
  const Message greeting = Encode(Greeting{});
  int taken = 0;
  for (std::size_t i = 0; i < greeting.size(); ++i) {
    if (!sys::SendMessage(socket, std::span(greeting).subspan(i, 1)).ok()) break;
    ++taken;
    sys::SleepNs(20 * sys::kNsPerMs);
  }
  EXPECT_LT(taken, 10);
  gatherer.join();
  EXPECT_EQ(outcome.code(), Code::kTimeout);
  EXPECT_NE(outcome.message().find("1 connections were dropped"), std::string::npos) << outcome.message();
}

// What a rank said to one gatherer is worth nothing to another, nor to the same one again.
TEST_F(BootstrapStrangersTest, AReplayedHandshakeIsDropped) {
  std::vector<Message> heard;
  std::thread first_gatherer([&] { EXPECT_FALSE(MeetAndCheck(id_, 0, 3, 1000).ok()); });
  {
    const sys::Fd rank = Approach(id_);
    const std::optional<Message> answer = SayHello(rank, id_, {.rank = 1, .ranks = 3, .left_ms = 1000}, &heard);
    ASSERT_TRUE(answer);
    ASSERT_TRUE(ParseWelcome(*answer).ok());  // it was a good one
    const sys::Fd again = Approach(id_);
    for (const Message& message : heard) (void)sys::SendMessage(again, message).ok();
    EXPECT_TRUE(ParseChallenge(NextMessage(again).value_or(Message())).ok());
    EXPECT_FALSE(NextMessage(again));  // cut off
    first_gatherer.join();
  }
  MeetReport report;
  std::thread second_gatherer([&] { EXPECT_FALSE(MeetAndCheck(id_, 0, 3, 1000, &report).ok()); });
  const sys::Fd later = Approach(id_);
  for (const Message& message : heard) (void)sys::SendMessage(later, message).ok();
  EXPECT_TRUE(ParseChallenge(NextMessage(later).value_or(Message())).ok());
  EXPECT_FALSE(NextMessage(later));
  second_gatherer.join();
  EXPECT_EQ(report.strangers, 1);
}

// Under an id without a random secret the kernel's word on the user counts.
TEST_F(BootstrapStrangersTest, AnotherUserIsKeptOutOfADerivedId) {
  if (geteuid() != 0) GTEST_SKIP() << "needs the right to become another user";
  const UniqueId id = DeriveId({std::as_bytes(std::span("launcher")), *sys::FreshNonce()});
  const std::vector<Status> outcomes = OnProcesses(UpTo(3), [&](int rank) {
    if (rank == 2 && setuid(65534) != 0) return Status(Code::kSystem, "setuid");
    if (rank == 2) sys::SleepNs(200 * sys::kNsPerMs);
    return MeetAndCheck(id, rank, 3, 1500);
  });
  ExpectAllSay({outcomes[0], outcomes[1]}, Code::kTimeout, {"all but rank 2", "connections were dropped"});
  ExpectAllSay({outcomes[2]}, Code::kTimeout, {"process of another user", "uid 0"});
}

TEST_F(BootstrapStrangersTest, SilentStrangersAreDroppedAfterASecond) {
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

// The same against whole communicators: every listener that there is while they come to be and live.
TEST_F(BootstrapStrangersTest, CommunicatorsComeToBeAmongStrangers) {
  Flood noise(id_, 200, [](const sys::Fd& socket) { SendNoise(socket, 40); });
  const std::vector<Status> outcomes = OnRanks(Kind::kProcesses, UpTo(4), [&](int rank) {
    Result<Communicator> communicator = Communicator::Create({.rank = rank, .ranks = 4, .id = id_});
    if (!communicator.ok()) return communicator.status();
    std::vector<int> sum(100, rank);
    const Status reduced = communicator->Run(AllReduce(sum, sum));
    if (!reduced.ok()) return reduced;
    return sum[99] == 6 ? Status::Ok() : Status(Code::kInternal, "wrong sum");
  });
  noise.Stop();
  ExpectAllOk(outcomes);
}

TEST_F(BootstrapStrangersTest, WhoHoldsTheNameWithoutTheSecretIsNamed) {
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

}  // namespace
}  // namespace tutti::comm
