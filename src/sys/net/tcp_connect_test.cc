// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/tcp_connect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sys/os/fd.h"

namespace tutti::sys {
namespace {

const IpAddress kHome = IpAddress::V4(127, 0, 0, 1);

std::int64_t In(std::int64_t ms) { return NowNs() + ms * kNsPerMs; }
std::int64_t MsSince(std::int64_t begin_ns) { return (NowNs() - begin_ns) / kNsPerMs; }

TcpListener Listen(const IpAddress& address = kHome) {
  Result<TcpListener> listener = TcpListener::Open({.addresses = {address}});
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  return listener.ok() ? std::move(*listener) : TcpListener();
}

// An endpoint that answers nothing at all, like an address behind a firewall: a listener whose queue is full.
class Silent {
 public:
  Silent() {
    Result<TcpListener> listener = TcpListener::Open({.addresses = {kHome}, .ports = {}, .backlog = 0});
    EXPECT_TRUE(listener.ok());
    listener_ = std::move(*listener);
    for (int i = 0; i < 4; ++i) {
      Result<Fd> socket = StartConnect(endpoint());
      EXPECT_TRUE(socket.ok());
      queue_.push_back(std::move(*socket));
      SleepNs(5 * kNsPerMs);
    }
    EXPECT_EQ(FinishConnect(queue_.back(), endpoint()).status().code(), Code::kInProgress);
  }
  Endpoint endpoint() const { return listener_.endpoints()[0]; }

 private:
  TcpListener listener_;
  std::vector<Fd> queue_;
};

// Wants to hear one byte's message before it counts.
class WantsAWord : public Handshake {
 public:
  Status Advance(FramedConnection& connection) override {
    const Result<NetMessage> word = connection.TryReceive();
    if (!word.ok()) return word.status();
    if (word->size() == 1) return Status::Ok();
    return Status(word->empty() ? Code::kInvalidUsage : Code::kInvalidArgument, "this is not the word");
  }
};
ConnectOptions WithHandshake() {
  ConnectOptions options;
  options.handshake = [] { return std::make_unique<WantsAWord>(); };
  return options;
}

// Sends `words` to whoever connects, for as long as it lives.
class Speaker {
 public:
  explicit Speaker(std::vector<std::size_t> words) : listener_(Listen()), words_(std::move(words)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~Speaker() {
    end_ = true;
    thread_.join();
  }
  Endpoint endpoint() const { return listener_.endpoints()[0]; }

 private:
  void Run() {
    std::vector<FramedConnection> all;
    while (!end_) {
      Result<TcpConnection> caller = listener_.Accept();
      if (!caller.ok()) {
        SleepNs(kNsPerMs);
        continue;
      }
      const std::size_t bytes = words_[std::min(all.size(), words_.size() - 1)];
      all.emplace_back(std::move(*caller), 100);
      (void)all.back().Post(NetMessage(bytes));
    }
  }

  TcpListener listener_;
  const std::vector<std::size_t> words_;
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

TEST(TcpConnectTest, ThatWhichAnswersWins) {
  const int before = CountOpenFds();
  {
    const Endpoint gone = Listen().endpoints()[0];
    TcpListener listener = Listen(IpAddress::V4(127, 0, 0, 2));
    const std::vector<Endpoint> endpoints = {gone, listener.endpoints()[0]};
    const std::int64_t begin_ns = NowNs();
    Result<Connected> won = ConnectAny(endpoints, {.stagger_ns = 60 * kNsPerSecond}, In(30'000));
    ASSERT_TRUE(won.ok()) << won.status().message();
    EXPECT_LT(MsSince(begin_ns), 10'000);  // the refusal of the first starts the second
    EXPECT_EQ(won->index, 1u);
    EXPECT_EQ(won->tries, 2);
    Result<TcpConnection> accepted = listener.Accept();
    ASSERT_TRUE(accepted.ok());
    FramedConnection other(std::move(*accepted), 100);
    ASSERT_TRUE(other.Post(NetMessage(5)).ok());
    EXPECT_EQ(won->connection.Receive(In(5000))->size(), 5u);
  }
  EXPECT_EQ(CountOpenFds(), before);
}

TEST(TcpConnectTest, SilenceDoesNotHoldUpTheOthers) {
  const Silent silent;
  const TcpListener listener = Listen();
  const std::vector<Endpoint> endpoints = {silent.endpoint(), listener.endpoints()[0]};
  const std::int64_t begin_ns = NowNs();
  const Result<Connected> won = ConnectAny(endpoints, {.stagger_ns = 50 * kNsPerMs}, In(30'000));
  ASSERT_TRUE(won.ok()) << won.status().message();
  EXPECT_EQ(won->index, 1u);
  EXPECT_GE(MsSince(begin_ns), 50);
}

TEST(TcpConnectTest, WhoListensLateIsFound) {
  const Endpoint place = Listen().endpoints()[0];
  std::thread late([&] {
    SleepNs(200 * kNsPerMs);
    const Result<TcpListener> listener =
        TcpListener::Open({.addresses = {place.address}, .ports = {place.port, place.port}});
    EXPECT_TRUE(listener.ok());
    SleepNs(3000 * kNsPerMs);
  });
  const Result<Connected> won = ConnectAny(std::vector{place}, {}, In(30'000));
  ASSERT_TRUE(won.ok()) << won.status().message();
  EXPECT_GT(won->tries, 1);
  late.join();
}

TEST(TcpConnectTest, WhereNobodyAnswersEachEndpointIsNamed) {
  const int before = CountOpenFds();
  {
    const Silent silent;
    const Endpoint gone = Listen().endpoints()[0];
    const std::int64_t begin_ns = NowNs();
    const Status status =
        ConnectAny(std::vector{gone, silent.endpoint()}, {.peer = "the root of the job"}, In(300)).status();
    EXPECT_GE(MsSince(begin_ns), 300);
    EXPECT_EQ(status.code(), Code::kTimeout);
    const std::string& said = status.message();
    EXPECT_TRUE(
        said.starts_with("cannot connect to the root of the job within 300 ms: cannot connect from 127.0.0.1 to " +
                         gone.ToString() + ": Connection refused (errno 111). Nothing listens there"))
        << said;
    EXPECT_NE(said.find(" tries); no answer from " + silent.endpoint().ToString() + ". The other host does not answer"),
              std::string::npos)
        << said;
    EXPECT_TRUE(said.ends_with("(1 try)")) << said;
  }
  EXPECT_EQ(CountOpenFds(), before);
}

TEST(TcpConnectTest, WhatCanNeverWorkEndsAtOnce) {
  const std::int64_t begin_ns = NowNs();
  const Status elsewhere =
      ConnectAny(std::vector<Endpoint>{{kHome, 9}}, {.from = IpAddress::V4(203, 0, 113, 1)}, In(60'000)).status();
  EXPECT_EQ(elsewhere.code(), Code::kInvalidUsage);
  EXPECT_NE(elsewhere.message().find("cannot connect from 203.0.113.1 to 127.0.0.1:9: Cannot assign requested address"),
            std::string::npos)
      << elsewhere.message();
  EXPECT_EQ(ConnectAny({}, {}, In(60'000)).status().code(), Code::kInvalidUsage);
  EXPECT_LT(MsSince(begin_ns), 30'000);
}

TEST(TcpConnectTest, WhoTakesTheConnectionButNotTheHandshakeLoses) {
  const TcpListener mute = Listen();
  const Speaker wrong({7}), right({1});
  ConnectOptions options = WithHandshake();
  options.stagger_ns = 10 * kNsPerMs;
  const Result<Connected> won =
      ConnectAny(std::vector{mute.endpoints()[0], wrong.endpoint(), right.endpoint()}, options, In(30'000));
  ASSERT_TRUE(won.ok()) << won.status().message();
  EXPECT_EQ(won->index, 2u);
  EXPECT_NE(won->handshake, nullptr);
  options.handshake_ns = 30 * kNsPerMs;
  const Status status = ConnectAny(std::vector{mute.endpoints()[0], wrong.endpoint()}, options, In(400)).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_NE(status.message().find("and then said nothing: another program listens there"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("this is not the word"), std::string::npos) << status.message();
}

TEST(TcpConnectTest, AHandshakeIsTriedAgain) {
  const Speaker mends({7, 7, 1});
  const Result<Connected> won = ConnectAny(std::vector{mends.endpoint()}, WithHandshake(), In(30'000));
  ASSERT_TRUE(won.ok()) << won.status().message();
  EXPECT_EQ(won->tries, 3);
}

TEST(TcpConnectTest, APeerThatWillNeverDoEndsTheRace) {
  const TcpListener mute = Listen();
  const Speaker never({0});
  const std::int64_t begin_ns = NowNs();
  const Status status =
      ConnectAny(std::vector{mute.endpoints()[0], never.endpoint()}, WithHandshake(), In(60'000)).status();
  EXPECT_EQ(status.code(), Code::kInvalidUsage);
  EXPECT_EQ(status.message(), "this is not the word");
  EXPECT_LT(MsSince(begin_ns), 30'000);
}

}  // namespace
}  // namespace tutti::sys
