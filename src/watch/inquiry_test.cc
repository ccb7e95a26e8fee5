// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Monitors that ask each other, over this machine's own addresses: one side is an Inquiry, the other a Desk behind a port.
#include "watch/inquiry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "diag/evidence.h"
#include "sys/net/proven_connection.h"
#include "sys/net/tcp.h"
#include "sys/os/clock.h"
#include "tests/support/child_process.h"
#include "trace/recorder.h"
#include "transport/net/port.h"
#include "transport/shm/segment.h"
#include "watch/abroad.h"
#include "watch/desk.h"
#include "watch/registry.h"

namespace tutti::watch {
namespace {

using transport::shm::kBoxOffset;

constexpr int kRanks = 4;
constexpr std::uint64_t kId = 0xc0;
constexpr std::size_t kBoxBytes = trace::BoxBytes(kRanks, 1);

// A rank of a communicator, as its own process has it; it was never run.
class Rank {
 public:
  explicit Rank(int rank, std::uint64_t id = kId)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, kBoxOffset + kBoxBytes)), &std::free) {
    std::memset(memory_.get(), 0, kBoxOffset + kBoxBytes);
    auto& header = *reinterpret_cast<transport::shm::Header*>(memory_.get());
    header.state = transport::RankState::kReady;
    header.culprit = -1;
    recorder = trace::Recorder(memory_.get() + kBoxOffset, {.communicator = id,
                                                            .name = "dp",
                                                            .rank = rank,
                                                            .ranks = kRanks,
                                                            .channels = 1,
                                                            .created_ns = sys::NowNs() - 5 * sys::kNsPerSecond});
    subject = std::make_shared<Subject>(
        Terms{.communicator = id, .rank = rank, .ranks = kRanks, .box = memory_.get() + kBoxOffset},
        RankPages{.rank = rank, .begin = memory_.get(), .box_bytes = kBoxBytes, .process = sys::Self()});
    subject->made = true;
  }
  // Calls, and waits in it for a peer.
  void WaitFor(int peer) {
    const std::uint64_t number = recorder.Add(
        trace::PackCall({.kind = Collective::kAllReduce, .type = DataType::kFloat32}), 8, 1, trace::How{}.Pack());
    const std::int64_t now_ns = sys::NowNs();
    recorder.Wait(number, peer, trace::WaitKind::kData, 0, now_ns - sys::kNsPerSecond, now_ns,
                  {.thread = 7, .inside = true});
  }

 private:
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;

 public:
  trace::Recorder recorder;
  std::shared_ptr<Subject> subject;
};

sys::Key Secret() {
  sys::Key key{};
  key.fill(std::byte{5});
  return key;
}

// The monitor of another process: answers by a thread of its own, unless it shall not.
class Other final : public transport::net::Caller {
 public:
  explicit Other(std::vector<std::shared_ptr<Subject>> subjects, int rank = 2)
      : subjects_(std::move(subjects)), rank_(rank) {
    Result<sys::TcpListener> listener = sys::TcpListener::Open({.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}});
    endpoints_ = listener->endpoints();
    port_ = *transport::net::Port::Open(std::move(*listener), {});
    EXPECT_TRUE(port_->Add(Abroad{.secret = Secret()}.TermsOf(rank_), this).ok());
    thread_ = std::thread([this] { Run(); });
  }
  ~Other() {
    end_ = true;
    thread_.join();
    port_->Remove(Abroad{.secret = Secret()}.TermsOf(rank_).id);
  }
  void Called(sys::ProvenConnection&& call) override {
    std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
  }
  Left Tend() override { return Left::kNothing; }

  const std::vector<sys::Endpoint>& endpoints() const { return endpoints_; }
  std::atomic<bool> answers{true};

 private:
  void Run() {
    Desk desk;
    while (!end_) {
      sys::SleepNs(sys::kNsPerMs);
      if (!answers) continue;
      std::lock_guard lock(mutex_);
      for (sys::ProvenConnection& call : calls_) desk.Add(std::move(call.connection));
      calls_.clear();
      desk.Turn(subjects_, sys::NowNs());
    }
  }

  const std::vector<std::shared_ptr<Subject>> subjects_;
  const int rank_;
  std::vector<sys::Endpoint> endpoints_;
  std::shared_ptr<transport::net::Port> port_;
  std::mutex mutex_;
  std::vector<sys::ProvenConnection> calls_;
  std::atomic<bool> end_{false};
  std::thread thread_;
};

// This host has rank 0, the other hosts what a test gives.
std::vector<Inquiry::About> Asking(std::vector<FarRank> ranks, std::byte secret = std::byte{5}) {
  auto abroad = std::make_shared<Abroad>(Abroad{.own_host = "east", .ranks = std::move(ranks)});
  abroad->secret.fill(secret);
  return {{.communicator = kId, .abroad = std::move(abroad)}};
}

// A round, to its end; what is known then.
diag::Look Ask(Inquiry& inquiry, const std::vector<Inquiry::About>& about) {
  inquiry.Begin(about, sys::NowNs());
  EXPECT_TRUE(tests::WaitUntil([&] {
    inquiry.Turn(sys::NowNs());
    return inquiry.IsSettled();
  }));
  diag::Look look{.taken_ns = sys::NowNs(), .hosts = {{.name = "vm"}}};
  look.processes.push_back({.host = "vm", .pid = 1});
  look.communicators.push_back({.id = kId, .ranks = kRanks});
  look.communicators[0].seen.push_back({.rank = 0, .process = 0, .state = diag::RankState::kReady});
  inquiry.AddTo(look, look.taken_ns);
  return look;
}

TEST(Inquiry, AddsWhatTheOtherHostSees) {
  Rank two(2), three(3);
  two.WaitFor(3);
  two.subject->pages = {two.subject->own, three.subject->own};
  const Other other({two.subject});
  Inquiry inquiry;
  const auto about = Asking(
      {{.rank = 2, .pid = 71, .host = "west", .endpoints = other.endpoints()}, {.rank = 3, .pid = 72, .host = "west"}});
  const diag::Look first = Ask(inquiry, about);
  sys::SleepNs(150 * sys::kNsPerMs);
  const diag::Look look = Ask(inquiry, about);
  const diag::CommunicatorLook& c = look.communicators.at(0);
  ASSERT_EQ(c.seen.size(), 3u);
  EXPECT_EQ(look.ProcessOf(c.seen[0])->host, "east");
  EXPECT_EQ(look.ProcessOf(c.seen[1])->host, "west");
  EXPECT_EQ(look.ProcessOf(c.seen[1])->pid, getpid());
  EXPECT_EQ(c.seen[0].island, 0);
  EXPECT_EQ(c.seen[1].island, 1);
  EXPECT_EQ(c.seen[2].island, 1);
  EXPECT_EQ(c.seen[1].wait.peer, 3);
  EXPECT_FALSE(c.seen[2].inside());
  EXPECT_EQ(look.hosts.at(1).silent_ns, 0);
  // Two looks show the same moment for what stands still.
  EXPECT_EQ(first.communicators.at(0).seen.at(1).wait.since_ns, c.seen[1].wait.since_ns);
  EXPECT_NEAR(static_cast<double>(look.taken_ns - c.seen[1].wait.since_ns), 1.15e9, 0.9e9);
}

// Asked is a process that waits in one communicator, and on its host another one waits in a second: a circle may lead through both.
TEST(Inquiry, AnAnswerHasWhatAnyRankOfTheHostWaitsIn) {
  constexpr std::uint64_t kSecond = 0xc1, kThird = 0xc2;
  Rank two(2), two_there(2, kSecond), three_there(3, kSecond), two_idle(2, kThird), three_idle(3, kThird);
  two.WaitFor(3);
  three_there.WaitFor(2);
  two.subject->pages = {two.subject->own};
  two_there.subject->pages = {two_there.subject->own, three_there.subject->own};
  two_idle.subject->pages = {two_idle.subject->own, three_idle.subject->own};
  const Other other({two.subject, two_there.subject, two_idle.subject});
  Inquiry inquiry;
  const diag::Look look =
      Ask(inquiry, Asking({{.rank = 2, .pid = 71, .host = "west", .endpoints = other.endpoints()}}));
  const diag::CommunicatorLook* const second = look.Find(kSecond);
  ASSERT_NE(second, nullptr);
  ASSERT_NE(second->Find(3), nullptr);
  EXPECT_EQ(second->Find(3)->wait.peer, 2);
  EXPECT_EQ(look.Find(kThird), nullptr);
}

TEST(Inquiry, TellsWhoHasEnded) {
  std::vector<sys::Endpoint> nobody;
  { nobody = sys::TcpListener::Open({.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}})->endpoints(); }
  Inquiry inquiry;
  const diag::Look look = Ask(inquiry, Asking({{.rank = 2, .pid = 71, .host = "west", .endpoints = nobody}}));
  const diag::RankLook* rank = look.communicators.at(0).Find(2);
  ASSERT_NE(rank, nullptr);
  EXPECT_EQ(look.ProcessOf(*rank)->state, diag::ProcessState::kGone);
  EXPECT_EQ(look.ProcessOf(*rank)->pid, 71);
  EXPECT_EQ(look.hosts.at(1).silent_ns, 0);
}

// The system takes what is sent to the process, as it does for one that is stopped.
TEST(Inquiry, TellsWhoDoesNotAnswer) {
  Rank two(2);
  Other other({two.subject});
  Inquiry inquiry;
  const auto about = Asking({{.rank = 2, .pid = 71, .host = "west", .endpoints = other.endpoints()}});
  EXPECT_EQ(Ask(inquiry, about).processes.back().pid, getpid());
  other.answers = false;
  const diag::Look look = Ask(inquiry, about);
  const diag::RankLook* rank = look.communicators.at(0).Find(2);
  ASSERT_NE(rank, nullptr);
  EXPECT_EQ(look.ProcessOf(*rank)->state, diag::ProcessState::kSilent);
  EXPECT_EQ(look.hosts.at(1).silent_ns, 0);
  // Once it does, the answer that comes late counts: the connection has stayed.
  other.answers = true;
  EXPECT_EQ(Ask(inquiry, about).processes.back().pid, getpid());
}

// The next process of the host tells of both.
TEST(Inquiry, AsksAnotherProcessOfTheHost) {
  Rank two(2), three(3);
  three.subject->pages = {three.subject->own, two.subject->own};
  Other silent({two.subject}, 2);
  silent.answers = false;
  const Other other({three.subject}, 3);
  Inquiry inquiry;
  const auto about = Asking({{.rank = 2, .pid = 71, .host = "west", .endpoints = silent.endpoints()},
                             {.rank = 3, .pid = 72, .host = "west", .endpoints = other.endpoints()}});
  EXPECT_EQ(Ask(inquiry, about).communicators.at(0).seen.size(), 3u);
  // It is known to be slow now, so both are asked at once.
  const std::int64_t begin_ns = sys::NowNs();
  EXPECT_EQ(Ask(inquiry, about).communicators.at(0).seen.size(), 3u);
  EXPECT_LT(sys::NowNs() - begin_ns, sys::kNsPerSecond);
}

// Who does not know the secret is told nothing, and nothing is said of it.
TEST(Inquiry, NeedsTheSecret) {
  Rank two(2);
  const Other other({two.subject});
  Inquiry inquiry;
  const auto about = Asking({{.rank = 2, .pid = 71, .host = "west", .endpoints = other.endpoints()}}, std::byte{6});
  const diag::Look look = Ask(inquiry, about);
  EXPECT_EQ(look.communicators.at(0).seen.size(), 1u);
  EXPECT_EQ(look.hosts.at(1).silent_ns, 0);
}

TEST(Inquiry, IsSettledWhereNobodyIsToBeAsked) {
  Inquiry inquiry;
  inquiry.Begin({}, sys::NowNs());
  EXPECT_TRUE(inquiry.IsSettled());
  diag::Look look{.hosts = {{.name = "vm"}}};
  inquiry.AddTo(look, 1);
  EXPECT_EQ(look.hosts.at(0).name, "vm");
}

}  // namespace
}  // namespace tutti::watch
