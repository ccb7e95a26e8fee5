// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/proven_connection.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sys/os/fd.h"
#include "tests/support/hello_terms.h"

namespace tutti::sys {
namespace {

using tests::Terms;
using tests::Text;

const IpAddress kHome = IpAddress::V4(127, 0, 0, 1), kElsewhere = IpAddress::V4(127, 0, 0, 2);

std::int64_t In(std::int64_t ms) { return NowNs() + ms * kNsPerMs; }
std::int64_t MsSince(std::int64_t begin_ns) { return (NowNs() - begin_ns) / kNsPerMs; }

// A process that accepts, in a thread of its own, until the end of the test.
class Root {
 public:
  explicit Root(const HelloTerms& terms, const Acceptor::Options& options = {}) {
    Result<TcpListener> listener = TcpListener::Open({.addresses = {kHome, kElsewhere}});
    EXPECT_TRUE(listener.ok());
    Result<std::unique_ptr<Acceptor>> made = Acceptor::Make(std::move(*listener), options);
    EXPECT_TRUE(made.ok());
    acceptor_ = std::move(*made);
    EXPECT_TRUE(acceptor_->Admit(terms).ok());
    endpoints_ = acceptor_->listener().endpoints();
    thread_ = std::thread([this] { Run(); });
  }
  ~Root() { Stop(); }

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  Endpoint endpoint() const { return endpoints_[0]; }
  // From here on its acceptor may be looked at.
  const Acceptor& Stop() {
    end_ = true;
    if (thread_.joinable()) thread_.join();
    return *acceptor_;
  }
  std::vector<Status> errors;
  std::vector<ProvenConnection> came;
  std::size_t most_strangers = 0;  // that there ever were, at a look

 private:
  void Run() {
    while (!end_) {
      Result<ProvenConnection> next = acceptor_->Accept(In(5));
      most_strangers = std::max(most_strangers, acceptor_->strangers());
      if (next.ok()) {
        (void)next->connection.Post(Text("welcome, " + std::to_string(came.size())));
        came.push_back(std::move(*next));
      } else if (next.status().code() != Code::kTimeout) {
        errors.push_back(next.status());
      }
    }
  }

  std::unique_ptr<Acceptor> acceptor_;
  std::vector<Endpoint> endpoints_;
  std::atomic<bool> end_ = false;
  std::thread thread_;
};

// A connection to a root by somebody who may say what he likes.
TcpConnection Intrude(const Endpoint& to, const std::optional<IpAddress>& from = std::nullopt) {
  Result<Connected> made = ConnectAny(std::vector{to}, {.from = from}, In(20'000));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? made->connection.Release() : TcpConnection();
}

// Waits until the other side has ended the connection; how long that took, ms.
std::int64_t MsUntilDropped(TcpConnection& connection) {
  const std::int64_t begin_ns = NowNs();
  std::byte buffer[4096];
  while (MsSince(begin_ns) < 20'000) {
    const Result<std::size_t> got = connection.Receive(buffer);
    if (!got.ok() && got.status().code() == Code::kRemote) return MsSince(begin_ns);
    (void)connection.WaitReadable(In(20));
  }
  return MsSince(begin_ns);
}

TEST(ProvenConnectionTest, TwoThatKnowTheSecretMeet) {
  const int before = CountOpenFds();
  {
    Root root(Terms("I am the root"));
    Result<ProvenConnection> made = ConnectProven(root.endpoints(), Terms("I am host 1"), {}, In(20'000));
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made->outcome.payload, Text("I am the root"));
    // What the root says at once, maybe in the same packet as its welcome.
    EXPECT_EQ(*made->connection.Receive(In(5000)), Text("welcome, 0"));
    ASSERT_TRUE(made->connection.Send(NetMessage(40'000), In(5000)).ok());  // more than a hello may have
    const Acceptor& acceptor = root.Stop();
    ASSERT_EQ(root.came.size(), 1u);
    EXPECT_EQ(root.came[0].outcome.payload, Text("I am host 1"));
    EXPECT_EQ(root.came[0].outcome.session, made->outcome.session);
    EXPECT_EQ(root.came[0].connection.Receive(In(5000))->size(), 40'000u);
    EXPECT_EQ(acceptor.dropped().all(), 0u);
  }
  EXPECT_EQ(CountOpenFds(), before);
}

TEST(ProvenConnectionTest, ManyMeetAtOnce) {
  Root root(Terms(""));
  std::vector<std::thread> callers;
  std::atomic<int> met = 0;
  for (int i = 0; i < 32; ++i) {
    callers.emplace_back([&] {
      Result<ProvenConnection> made = ConnectProven(root.endpoints(), Terms("x"), {}, In(30'000));
      EXPECT_TRUE(made.ok()) << made.status().message();
      if (made.ok() && made->connection.Receive(In(20'000)).ok()) ++met;
    });
  }
  for (std::thread& caller : callers) caller.join();
  root.Stop();
  EXPECT_EQ(met, 32);
  EXPECT_EQ(root.came.size(), 32u);
}

TEST(ProvenConnectionTest, WhoSaysNothingIsDroppedAfterASecond) {
  Root root(Terms(""));
  TcpConnection silent = Intrude(root.endpoint());
  TcpConnection half = Intrude(root.endpoint());
  const NetMessage frame = MakeFrame(NetMessage(100));
  ASSERT_TRUE(half.Send(std::span(frame).first(50)).ok());
  const std::int64_t waited_ms = MsUntilDropped(silent);
  EXPECT_GE(waited_ms, 800);
  EXPECT_LT(waited_ms, 10'000);
  MsUntilDropped(half);
  const Acceptor& acceptor = root.Stop();
  EXPECT_EQ(acceptor.dropped().silent, 2u);
  EXPECT_EQ(acceptor.strangers(), 0u);
}

TEST(ProvenConnectionTest, StrangersAreDroppedAtTheirFirstWrongWord) {
  Acceptor::Options patient;
  patient.patience_ns = 60 * kNsPerSecond;  // so it is not time that ends them
  Root root(Terms(""), patient);
  HelloCaller other_secret(Terms("", std::byte{2}), *FreshNonce());
  HelloTerms other_job = Terms("");
  other_job.id.fill(std::byte{1});
  NetMessage huge = MakeFrame(NetMessage(8));
  huge[7] = std::byte{0x7f};
  const NetMessage rubbish[] = {Text("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                                Text("\x16\x03\x01\x02"),
                                huge,
                                MakeFrame({}),
                                MakeFrame(NetMessage(kMostHelloBytes)),
                                MakeFrame(NetMessage(kMostHelloBytes + 1)),
                                MakeFrame(HelloCaller(other_job, *FreshNonce()).Opening())};
  for (const NetMessage& words : rubbish) {
    TcpConnection stranger = Intrude(root.endpoint());
    ASSERT_TRUE(stranger.Send(words).ok());
    EXPECT_LT(MsUntilDropped(stranger), 20'000);
  }
  const Status caller =
      ConnectProven(std::vector{root.endpoint()}, Terms("", std::byte{2}), {.peer = "the root"}, In(300)).status();
  EXPECT_EQ(caller.code(), Code::kTimeout);
  EXPECT_NE(
      caller.message().find(root.endpoint().ToString() + " does not know the secret of this job: ranks of another job "
                                                         "listen there"),
      std::string::npos)
      << caller.message();
  // Its job goes on as if nothing had been.
  EXPECT_TRUE(ConnectProven(std::vector{root.endpoint()}, Terms(""), {}, In(20'000)).ok());
  const Acceptor& acceptor = root.Stop();
  EXPECT_EQ(acceptor.dropped().strange, std::size(rubbish));
  EXPECT_GE(acceptor.dropped().left, 1u);  // the callers with the other secret
  EXPECT_NE(acceptor.dropped().last.find("asks for a job that this process has no part in"), std::string::npos)
      << acceptor.dropped().last;
  EXPECT_TRUE(acceptor.dropped().last.starts_with("127.0.0.1:")) << acceptor.dropped().last;
  EXPECT_TRUE(root.errors.empty());
}

// One who listens in and repeats it all later.
TEST(ProvenConnectionTest, ARepetitionIsDropped) {
  Root root(Terms(""));
  NetMessage overheard;
  {
    // A hello of which the caller's words are kept.
    TcpConnection connection = Intrude(root.endpoint());
    HelloCaller caller(Terms(""), *FreshNonce());
    FramedConnection framed(std::move(connection), kMostHelloBytes);
    NetMessage reply;
    const auto say = [&](const NetMessage& message) {
      const NetMessage frame = MakeFrame(message);
      overheard.insert(overheard.end(), frame.begin(), frame.end());
      return framed.Send(message, In(5000)).ok();
    };
    ASSERT_TRUE(say(caller.Opening()));
    const Result<NetMessage> challenge = framed.Receive(In(5000));
    ASSERT_TRUE(challenge.ok());
    EXPECT_EQ(caller.Take(*challenge, "", "", reply).code(), Code::kInProgress);
    ASSERT_TRUE(say(reply));
    const Result<NetMessage> welcome = framed.Receive(In(5000));
    ASSERT_TRUE(welcome.ok() && caller.Take(*welcome, "", "", reply).ok());
  }
  TcpConnection again = Intrude(root.endpoint());
  ASSERT_TRUE(again.Send(overheard).ok());
  EXPECT_LT(MsUntilDropped(again), 20'000);
  const Acceptor& acceptor = root.Stop();
  EXPECT_EQ(root.came.size(), 1u);
  EXPECT_EQ(acceptor.dropped().all(), 1u);
}

TEST(ProvenConnectionTest, AnotherVersionIsOneSentenceOnBothSides) {
  Root root(Terms(""));
  HelloTerms newer = Terms("");
  newer.version = {.number = 4, .name = "0.2.0"};
  const std::int64_t begin_ns = NowNs();
  const Status caller = ConnectProven(std::vector{root.endpoint()}, newer, {}, In(60'000)).status();
  EXPECT_LT(MsSince(begin_ns), 30'000);
  EXPECT_EQ(caller.code(), Code::kInvalidUsage);
  EXPECT_NE(caller.message().find(" runs Tutti 0.2.0 (protocol 4), " + root.endpoint().ToString() +
                                  " runs Tutti 0.1.0 (protocol 3): start all ranks with one build of Tutti"),
            std::string::npos)
      << caller.message();
  SleepNs(100 * kNsPerMs);
  root.Stop();
  ASSERT_EQ(root.errors.size(), 1u);
  EXPECT_EQ(root.errors[0].code(), Code::kInvalidUsage);
  EXPECT_EQ(root.errors[0].message(), caller.message());
  EXPECT_TRUE(root.came.empty());
}

TEST(ProvenConnectionTest, TheRightOneIsFoundAmongOthers) {
  Root other_job(Terms("", std::byte{2})), right(Terms("here"));
  Result<TcpListener> mute = TcpListener::Open({.addresses = {kHome}});
  ASSERT_TRUE(mute.ok());
  const std::vector<Endpoint> endpoints = {mute->endpoints()[0], other_job.endpoint(), right.endpoint()};
  const Result<ProvenConnection> made = ConnectProven(endpoints, Terms(""), {.stagger_ns = 10 * kNsPerMs}, In(30'000));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->outcome.payload, Text("here"));
}

TEST(ProvenConnectionTest, AnIdCountsWhileItIsAdmitted) {
  Result<TcpListener> listener = TcpListener::Open({.addresses = {kHome}});
  ASSERT_TRUE(listener.ok());
  const Endpoint endpoint = listener->endpoints()[0];
  Result<std::unique_ptr<Acceptor>> made = Acceptor::Make(std::move(*listener), {});
  ASSERT_TRUE(made.ok());
  Acceptor& acceptor = **made;
  HelloTerms first = Terms("first"), second = Terms("second", std::byte{2});
  second.id.fill(std::byte{2});
  ASSERT_TRUE(acceptor.Admit(first).ok() && acceptor.Admit(second).ok());
  HelloTerms large = Terms("");
  large.payload.resize(kMostHelloPayload + 1);
  EXPECT_EQ(acceptor.Admit(large).code(), Code::kInternal);
  EXPECT_EQ(ConnectProven(std::vector{endpoint}, large, {}, In(0)).status().code(), Code::kInternal);
  const auto call = [&](const HelloTerms& terms) {
    std::string heard = "nobody";
    std::thread caller([&] {
      const Result<ProvenConnection> made = ConnectProven(std::vector{endpoint}, terms, {}, In(500));
      if (made.ok())
        heard.assign(reinterpret_cast<const char*>(made->outcome.payload.data()), made->outcome.payload.size());
    });
    const Result<ProvenConnection> came = acceptor.Accept(In(700));
    caller.join();
    EXPECT_EQ(came.ok(), heard != "nobody");
    EXPECT_TRUE(!came.ok() || came->outcome.id == terms.id);
    return heard;
  };
  EXPECT_EQ(call(second), "second");
  EXPECT_EQ(call(first), "first");
  acceptor.Dismiss(first.id);
  EXPECT_EQ(call(first), "nobody");
  EXPECT_EQ(call(second), "second");
  const Status none = acceptor.Accept(In(1)).status();
  EXPECT_EQ(none.code(), Code::kTimeout);
  EXPECT_TRUE(none.message().starts_with("nobody who knows the secret has connected to " + endpoint.ToString()))
      << none.message();
}

// Connections that never say anything, from one address, far more than there is room for; callers of another address, and of
// the same one, come in all the while.
TEST(ProvenConnectionTest, AFloodChangesNothing) {
  Acceptor::Options options;
  options.most_strangers = 16;
  Root root(Terms(""), options);
  std::atomic<bool> end = false;
  std::vector<std::thread> flood;
  std::atomic<int> flooded = 0;
  for (int i = 0; i < 2; ++i) {
    flood.emplace_back([&] {
      std::vector<TcpConnection> open;
      while (!end) {
        // However slowly they are accepted, there are many that nobody has closed.
        if (open.size() > 100) open.erase(open.begin(), open.begin() + 50);
        Result<Connected> made = ConnectAny(std::vector{root.endpoint()}, {.from = kElsewhere}, In(100));
        if (!made.ok()) continue;
        open.push_back(made->connection.Release());
        ++flooded;
      }
    });
  }
  for (const std::int64_t until_ns = In(20'000); flooded < 100 && NowNs() < until_ns;) SleepNs(kNsPerMs);
  for (int i = 0; i < 20; ++i) {
    const IpAddress& from = i % 2 == 0 ? kHome : kElsewhere;
    const Result<ProvenConnection> made =
        ConnectProven(std::vector{root.endpoint()}, Terms(""), {.from = from}, In(20'000));
    EXPECT_TRUE(made.ok()) << made.status().message();
  }
  end = true;
  for (std::thread& one : flood) one.join();
  const Acceptor& acceptor = root.Stop();
  EXPECT_LE(root.most_strangers, 16u);
  EXPECT_EQ(root.came.size(), 20u);
  EXPECT_GT(acceptor.dropped().displaced, 0u);
  EXPECT_TRUE(root.errors.empty());
}

// Who holds places quietly loses his own, not those of others.
TEST(ProvenConnectionTest, RoomIsMadeByTheAddressThatHasMost) {
  Result<TcpListener> listener = TcpListener::Open({.addresses = {kHome}});
  ASSERT_TRUE(listener.ok());
  const Endpoint endpoint = listener->endpoints()[0];
  Acceptor::Options options;
  options.most_strangers = 4;
  options.patience_ns = 60 * kNsPerSecond;
  Result<std::unique_ptr<Acceptor>> made = Acceptor::Make(std::move(*listener), options);
  ASSERT_TRUE(made.ok());
  Acceptor& acceptor = **made;
  TcpConnection first = Intrude(endpoint, kHome);  // the oldest of all, alone of its address
  std::vector<TcpConnection> many;
  for (int i = 0; i < 7; ++i) {
    many.push_back(Intrude(endpoint, kElsewhere));
    EXPECT_EQ(acceptor.TryAccept().status().code(), Code::kInProgress);
  }
  for (const std::int64_t until_ns = In(5000); acceptor.dropped().displaced < 4 && NowNs() < until_ns;) {
    EXPECT_EQ(acceptor.TryAccept().status().code(), Code::kInProgress);
  }
  EXPECT_EQ(acceptor.strangers(), 4u);
  EXPECT_EQ(acceptor.dropped().displaced, 4u);
  EXPECT_EQ(first.WaitReadable(In(20)).code(), Code::kTimeout);    // still there
  EXPECT_EQ(many[6].WaitReadable(In(20)).code(), Code::kTimeout);  // the youngest too
  EXPECT_LT(MsUntilDropped(many[0]), 20'000);
  EXPECT_LT(MsUntilDropped(many[3]), 20'000);
}

TEST(ProvenConnectionTest, StrangersGoWhereDescriptorsRunOut) {
  Result<TcpListener> listener = TcpListener::Open({.addresses = {kHome}});
  ASSERT_TRUE(listener.ok());
  const Endpoint endpoint = listener->endpoints()[0];
  Result<std::unique_ptr<Acceptor>> made = Acceptor::Make(std::move(*listener), {});
  ASSERT_TRUE(made.ok());
  Acceptor& acceptor = **made;
  std::vector<TcpConnection> callers;
  for (int i = 0; i < 6; ++i) callers.push_back(Intrude(endpoint));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const Result<Fd> gap = acceptor.listener().sockets()[0].Duplicate();  // takes a number that a caller has left
  ASSERT_TRUE(gap.ok());
  const int last = std::max(gap->get(), callers.back().socket().get());
  const rlimit few = {.rlim_cur = static_cast<rlim_t>(last) + 4, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Status status = acceptor.TryAccept().status();
  for (int i = 0; i < 3; ++i) status = acceptor.TryAccept().status();
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status.code(), Code::kInProgress) << status.message();
  EXPECT_GE(acceptor.strangers(), 1u);
  EXPECT_GE(acceptor.dropped().displaced, 3u);
}

}  // namespace
}  // namespace tutti::sys
