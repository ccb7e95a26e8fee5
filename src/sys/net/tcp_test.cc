// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/tcp.h"
#include "sys/net/tcp_window.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sys/os/clock.h"

namespace tutti::sys {
namespace {

const IpAddress kHome = IpAddress::V4(127, 0, 0, 1), kHome2 = IpAddress::V4(127, 0, 0, 2);

std::int64_t In(std::int64_t ms) { return NowNs() + ms * kNsPerMs; }

bool HasIpv6() { return TcpListener::Open({.addresses = {*IpAddress::Parse("::1")}}).ok(); }

TcpListener Listen(const ListenOptions& options = {.addresses = {kHome}}) {
  Result<TcpListener> listener = TcpListener::Open(options);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  return listener.ok() ? std::move(*listener) : TcpListener();
}

Result<TcpConnection> Connect(const Endpoint& to, const TcpPatience& patience = {}) {
  Result<Fd> socket = StartConnect(to);
  if (!socket.ok()) return socket.status();
  for (const std::int64_t deadline_ns = In(5000);;) {
    Result<TcpConnection> made = FinishConnect(*socket, to, patience);
    if (made.ok() || made.status().code() != Code::kInProgress || NowNs() > deadline_ns) return made;
    SleepNs(100'000);
  }
}

struct Pair {
  TcpConnection caller, listener;
};
Pair MakePair(const TcpPatience& patience = {}) {
  TcpListener listener = Listen();
  Result<TcpConnection> caller = Connect(listener.endpoints()[0], patience);
  EXPECT_TRUE(caller.ok()) << caller.status().message();
  Result<TcpConnection> accepted = listener.Accept(patience);
  EXPECT_TRUE(accepted.ok()) << accepted.status().message();
  return {std::move(*caller), std::move(*accepted)};
}

int Option(const TcpConnection& connection, int level, int name) {
  int value = -1;
  socklen_t bytes = sizeof(value);
  EXPECT_EQ(getsockopt(connection.socket().get(), level, name, &value, &bytes), 0);
  return value;
}

std::span<const std::byte> Text(std::string_view text) { return std::as_bytes(std::span(text)); }

// Ends a connection without a farewell.
void Reset(TcpConnection connection) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  EXPECT_EQ(setsockopt(connection.socket().get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
}

TEST(TcpTest, ListensOnSeveralAddressesWithOnePort) {
  std::vector<IpAddress> addresses = {kHome, kHome2};
  if (HasIpv6()) addresses.push_back(*IpAddress::Parse("::1"));
  TcpListener listener = Listen({.addresses = addresses});
  ASSERT_EQ(listener.endpoints().size(), addresses.size());
  EXPECT_NE(listener.port(), 0);
  EXPECT_EQ(listener.Accept().status().code(), Code::kInProgress);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    EXPECT_EQ(listener.endpoints()[i], (Endpoint{addresses[i], listener.port()}));
    Result<TcpConnection> caller = Connect(listener.endpoints()[i]);
    ASSERT_TRUE(caller.ok()) << caller.status().message();
    Result<TcpConnection> accepted = listener.Accept();
    ASSERT_TRUE(accepted.ok()) << accepted.status().message();
    EXPECT_EQ(accepted->local(), caller->remote());
    EXPECT_EQ(accepted->remote(), caller->local());
  }
  EXPECT_EQ(listener.Accept().status().code(), Code::kInProgress);
}

TEST(TcpTest, TakesTheFirstFreePortOfARange) {
  const TcpListener taken = Listen();
  const std::uint16_t port = taken.port();
  if (port == 65535) GTEST_SKIP() << "the last port cannot begin a range";
  const auto next = static_cast<std::uint16_t>(port + 1);
  const Result<TcpListener> listener = TcpListener::Open({.addresses = {kHome}, .ports = {port, next}});
  if (listener.ok()) {
    EXPECT_EQ(listener->port(), next);
  }
  // Whether that was free or not, now both are taken.
  const Status none = TcpListener::Open({.addresses = {kHome}, .ports = {port, next}}).status();
  EXPECT_EQ(none.code(), Code::kInvalidUsage);
  EXPECT_NE(none.message().find("each port from " + std::to_string(port) + " to " + std::to_string(next) + " is taken"),
            std::string::npos)
      << none.message();
  const Status one = TcpListener::Open({.addresses = {kHome2, kHome}, .ports = {port, port}}).status();
  EXPECT_EQ(one.message(), "cannot listen on 127.0.0.2, 127.0.0.1: port " + std::to_string(port) +
                               " is taken. `ss -ltnp` shows who has a port; end that process or allow more ports");
  EXPECT_EQ(TcpListener::Open({.addresses = {kHome}, .ports = {9, 8}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(TcpListener::Open({.addresses = {}}).status().code(), Code::kInvalidArgument);
}

TEST(TcpTest, APortInTimeWaitIsFree) {
  TcpListener listener = Listen();
  Result<TcpConnection> caller = Connect(listener.endpoints()[0]);
  ASSERT_TRUE(caller.ok());
  const std::uint16_t port = listener.port();
  // Who closes first waits: that is this side.
  { const Result<TcpConnection> accepted = listener.Accept(); }
  listener = TcpListener();
  *caller = TcpConnection();
  const Result<TcpListener> again = TcpListener::Open({.addresses = {kHome}, .ports = {port, port}});
  EXPECT_TRUE(again.ok()) << again.status().message();
}

TEST(TcpTest, AddressesOfOthersAreRefusedWithTheReason) {
  const Status status = TcpListener::Open({.addresses = {IpAddress::V4(203, 0, 113, 1)}}).status();
  EXPECT_EQ(status.code(), Code::kInvalidUsage);
  EXPECT_EQ(status.message(),
            "cannot listen on 203.0.113.1:0: Cannot assign requested address (errno 99). This host has no such "
            "address, or no "
            "local port is left (sysctl net.ipv4.ip_local_port_range)");
  EXPECT_EQ(StartConnect({kHome, 9}, IpAddress::V4(203, 0, 113, 1)).status().code(), Code::kInvalidUsage);
}

TEST(TcpTest, ConnectionsHaveTheirOptions) {
  const Pair pair = MakePair();
  for (const TcpConnection* side : {&pair.caller, &pair.listener}) {
    EXPECT_EQ(Option(*side, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(Option(*side, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(Option(*side, IPPROTO_TCP, TCP_KEEPIDLE), 5);
    EXPECT_EQ(Option(*side, IPPROTO_TCP, TCP_KEEPINTVL), 1);
    EXPECT_EQ(Option(*side, IPPROTO_TCP, TCP_KEEPCNT), 5);
    EXPECT_EQ(Option(*side, IPPROTO_TCP, TCP_USER_TIMEOUT), 10000);
    EXPECT_NE(fcntl(side->socket().get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(fcntl(side->socket().get(), F_GETFL) & O_NONBLOCK, 0);
  }
  const Pair other = MakePair({.idle_s = 10, .interval_s = 2, .probes = 3, .unacknowledged_ms = 16000});
  EXPECT_EQ(Option(other.caller, IPPROTO_TCP, TCP_KEEPIDLE), 10);
  EXPECT_EQ(Option(other.listener, IPPROTO_TCP, TCP_KEEPINTVL), 2);
  EXPECT_EQ(Option(other.listener, IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(Option(other.listener, IPPROTO_TCP, TCP_USER_TIMEOUT), 16000);
}

TEST(TcpTest, PiecesArriveInOrder) {
  Pair pair = MakePair();
  std::byte buffer[64];
  EXPECT_EQ(pair.listener.Receive(buffer).status().code(), Code::kInProgress);
  const std::span<const std::byte> pieces[] = {Text("head "), {}, Text("and body")};
  EXPECT_EQ(*pair.caller.Send(pieces), 13u);
  ASSERT_TRUE(pair.listener.WaitReadable(In(5000)).ok());
  const Result<std::size_t> got = pair.listener.Receive(buffer);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(std::string(reinterpret_cast<char*>(buffer), *got), "head and body");
}

TEST(TcpTest, WaitsEndAtTheirDeadline) {
  Pair pair = MakePair();
  const std::int64_t begin_ns = NowNs();
  const Status nothing = pair.caller.WaitReadable(In(50));
  EXPECT_EQ(nothing.code(), Code::kTimeout);
  EXPECT_GE(NowNs() - begin_ns, 50 * kNsPerMs);
  EXPECT_EQ(nothing.message(), pair.caller.remote().ToString() +
                                   " sent nothing before the deadline on the connection from " + pair.caller.Name());
  EXPECT_TRUE(pair.caller.WaitWritable(In(0)).ok());
  const std::vector<std::byte> much(1 << 20);
  while (pair.caller.Send(much).ok()) {
  }
  EXPECT_EQ(pair.caller.WaitWritable(In(20)).code(), Code::kTimeout);
}

TEST(TcpTest, TheEndOfAConnectionNamesBothSides) {
  Pair closed = MakePair();
  closed.listener = TcpConnection();
  std::byte buffer[8];
  ASSERT_TRUE(closed.caller.WaitReadable(In(5000)).ok());
  const Status end = closed.caller.Receive(buffer).status();
  EXPECT_EQ(end.code(), Code::kRemote);
  EXPECT_EQ(end.message(), closed.caller.remote().ToString() + " closed the connection from " + closed.caller.Name());

  Pair reset = MakePair();
  Reset(std::move(reset.listener));
  ASSERT_TRUE(reset.caller.WaitReadable(In(5000)).ok());
  const Status broken = reset.caller.Receive(buffer).status();
  EXPECT_EQ(broken.code(), Code::kRemote);
  EXPECT_EQ(broken.message(),
            "cannot receive on the connection from " + reset.caller.Name() +
                ": Connection reset by peer (errno 104). The other process has ended, or a firewall has cut "
                "the connection");
  EXPECT_EQ(reset.caller.Send(Text("x")).status().code(), Code::kRemote);  // and no SIGPIPE
}

TEST(TcpTest, ARefusedConnectionSaysWhereAndWhy) {
  const Endpoint gone = Listen().endpoints()[0];
  const Status status = Connect(gone).status();
  EXPECT_TRUE(status.message().starts_with("cannot connect from 127.0.0.1 to " + gone.ToString() +
                                           ": Connection refused (errno 111). Nothing listens there"))
      << status.message();
}

// Linux connects a socket to itself where its own port happens to be the one it asks for.
TEST(TcpTest, ASocketConnectedToItselfIsNone) {
  const Endpoint gone = Listen().endpoints()[0];
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage storage;
  const auto bytes = static_cast<socklen_t>(gone.ToSockaddr(storage));
  const auto* address = reinterpret_cast<const sockaddr*>(&storage);
  ASSERT_EQ(bind(fd.get(), address, bytes), 0);
  ASSERT_EQ(connect(fd.get(), address, bytes), 0);
  const Status status = TcpConnection::Adopt(std::move(fd)).status();
  EXPECT_EQ(status.code(), Code::kRemote);
  EXPECT_NE(status.message().find("has connected this socket to itself"), std::string::npos);
}

TEST(TcpTest, CallersThatHaveLeftAreNoError) {
  TcpListener listener = Listen();
  for (int i = 0; i < 3; ++i) {
    Result<TcpConnection> caller = Connect(listener.endpoints()[0]);
    ASSERT_TRUE(caller.ok());
    Reset(std::move(*caller));
  }
  Result<TcpConnection> stays = Connect(listener.endpoints()[0]);
  ASSERT_TRUE(stays.ok());
  while (true) {
    const Result<TcpConnection> accepted = listener.Accept();
    ASSERT_TRUE(accepted.ok()) << accepted.status().message();
    if (accepted->remote() == stays->local()) break;
  }
}

// A receiver that is stopped, so that its buffer stays full, is taken for dead after unacknowledged_ms, as tcp.h says.
TEST(TcpTest, DataThatNobodyTakesEndTheConnection) {
  Pair pair = MakePair({.unacknowledged_ms = 300});
  const std::vector<std::byte> much(1 << 20);
  Result<std::size_t> sent = pair.caller.Send(much);
  for (const std::int64_t deadline_ns = In(20'000); NowNs() < deadline_ns;) {
    if (!sent.ok() && sent.status().code() != Code::kInProgress) break;
    SleepNs(kNsPerMs);
    sent = pair.caller.Send(much);
  }
  EXPECT_EQ(sent.status().code(), Code::kTimeout) << sent.status().message();
  EXPECT_NE(sent.status().message().find("Connection timed out (errno 110). The other host does not answer"),
            std::string::npos)
      << sent.status().message();
  EXPECT_TRUE(pair.caller.PeerIsFull().value());
}

TEST(TcpTest, APeerThatReadsIsNotFull) {
  Pair pair = MakePair();
  EXPECT_FALSE(pair.caller.PeerIsFull().value());
  const std::vector<std::byte> much(1 << 20);
  const std::int64_t deadline_ns = In(20'000);
  while (!pair.caller.PeerIsFull().value() && NowNs() < deadline_ns) (void)pair.caller.Send(much).ok();
  EXPECT_TRUE(pair.caller.PeerIsFull().value());
  std::vector<std::byte> taken(1 << 20);
  while (pair.caller.PeerIsFull().value() && NowNs() < deadline_ns) (void)pair.listener.Receive(taken).ok();
  EXPECT_FALSE(pair.caller.PeerIsFull().value());
}

TEST(TcpTest, CountsWhatArrives) {
  Pair pair = MakePair();
  const std::optional<TcpTraffic> before = pair.caller.Traffic();
  ASSERT_TRUE(before);
  const std::vector<std::byte> some(10'000);
  std::vector<std::byte> taken(some.size());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(pair.caller.Send(some).ok());
    for (std::size_t got = 0; got < some.size();) {
      const Result<std::size_t> came = pair.listener.Receive(taken);
      ASSERT_TRUE(came.ok());
      got += *came;
    }
  }
  for (const std::int64_t deadline_ns = In(20'000); pair.caller.Unacknowledged() > 0 && NowNs() < deadline_ns;)
    SleepNs(kNsPerMs);
  const std::optional<TcpTraffic> after = pair.caller.Traffic();
  EXPECT_EQ(after->arrived - before->arrived, 3 * some.size());
  EXPECT_GE(after->busy_ns, before->busy_ns);
  EXPECT_LT(after->busy_ns - before->busy_ns, 20 * kNsPerSecond);
  EXPECT_GT(after->round_trip_ns, 0);
  EXPECT_GT(after->packet_bytes, 100u);
}

}  // namespace
}  // namespace tutti::sys
