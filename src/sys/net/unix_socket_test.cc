// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/unix_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "sys/os/clock.h"
#include "sys/os/memory.h"
#include "sys/os/random_bytes.h"

namespace tutti::sys {
namespace {

std::string FreshName() {
  std::uint64_t number = 0;
  EXPECT_TRUE(FillRandom(std::as_writable_bytes(std::span(&number, 1))).ok());
  return fmt::format("tutti-test-{:x}", number);
}

std::int64_t In(std::int64_t ms) { return NowNs() + ms * kNsPerMs; }

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

Result<Received> WaitAndReceive(const Fd& socket, std::span<std::byte> buffer) {
  TUTTI_RETURN_IF_ERROR(WaitReadable(socket, In(5000)));
  return ReceiveMessage(socket, buffer);
}

TEST(UnixSocketTest, ConnectsToANameThatAppearsLater) {
  const std::string name = FreshName();
  Result<Fd> client = Fd();
  std::thread connector([&] { client = Connect(SocketKind::kStream, name, In(10'000)); });
  SleepNs(30 * kNsPerMs);
  Result<Fd> listener = Listen(SocketKind::kStream, name);
  ASSERT_TRUE(listener.ok());
  connector.join();
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  Result<Fd> server = Accept(*listener);
  ASSERT_TRUE(server.ok());
  EXPECT_EQ(Accept(*listener).status().code(), Code::kInProgress);
  const Result<PeerCredentials> peer = Credentials(*server);
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_EQ(peer->uid, getuid());
}

TEST(UnixSocketTest, NamesAreExclusiveAndErrorsTold) {
  const std::string name = FreshName();
  const Result<Fd> listener = Listen(SocketKind::kPacket, name);
  ASSERT_TRUE(listener.ok());
  EXPECT_EQ(Listen(SocketKind::kPacket, name).status().code(), Code::kInvalidUsage);
  EXPECT_EQ(TryConnect(SocketKind::kPacket, FreshName()).status().code(), Code::kInProgress);
  EXPECT_EQ(Connect(SocketKind::kPacket, FreshName(), In(20)).status().code(), Code::kTimeout);
  EXPECT_EQ(Listen(SocketKind::kPacket, "").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(Listen(SocketKind::kPacket, std::string(108, 'x')).status().code(), Code::kInvalidArgument);
}

TEST(UnixSocketTest, StreamsMoreThanTheBuffersHold) {
  Result<SocketPair> pair = MakeSocketPair(SocketKind::kStream);
  ASSERT_TRUE(pair.ok());
  std::vector<std::byte> out(8 << 20), in(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 + (i >> 12));
  std::thread sender([&] { EXPECT_TRUE(SendExact(pair->a, out, In(20'000)).ok()); });
  EXPECT_TRUE(ReceiveExact(pair->b, in, In(20'000)).ok());
  sender.join();
  EXPECT_EQ(in, out);
}

TEST(UnixSocketTest, DeadlinesHold) {
  Result<SocketPair> pair = MakeSocketPair(SocketKind::kStream);
  std::byte one[1];
  const std::int64_t begin_ns = NowNs();
  EXPECT_EQ(ReceiveExact(pair->b, one, In(30)).code(), Code::kTimeout);
  EXPECT_GE(NowNs() - begin_ns, 29 * kNsPerMs);
  const std::vector<std::byte> much(8 << 20);
  EXPECT_EQ(SendExact(pair->a, much, In(30)).code(), Code::kTimeout);
}

TEST(UnixSocketTest, AClosedPeerIsRemoteAndRaisesNoSignal) {
  for (const SocketKind kind : {SocketKind::kStream, SocketKind::kPacket}) {
    Result<SocketPair> pair = MakeSocketPair(kind);
    pair->b.Close();
    std::byte one[1];
    EXPECT_EQ(ReceiveExact(pair->a, one, In(5000)).code(), Code::kRemote);
    EXPECT_EQ(SendExact(pair->a, one, In(5000)).code(), Code::kRemote);
  }
}

TEST(UnixSocketTest, WhatWasSentBeforeCloseArrives) {
  for (const SocketKind kind : {SocketKind::kStream, SocketKind::kPacket}) {
    Result<SocketPair> pair = MakeSocketPair(kind);
    ASSERT_TRUE(SendMessage(pair->a, Bytes("never read")).ok());
    ASSERT_TRUE(SendMessage(pair->b, Bytes("last words")).ok());
    pair->b.Close();  // with unread bytes: the peer sees ECONNRESET first
    std::byte buffer[64];
    const Result<Received> got = ReceiveMessage(pair->a, buffer);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(got->bytes, 10u);
    EXPECT_EQ(ReceiveMessage(pair->a, buffer).status().code(), Code::kRemote);
  }
}

// Linux can report the end of a packet socket although a message is there, to a receiver that looks at the very time of both.
TEST(UnixSocketTest, ALastMessageIsNotOverlooked) {
  constexpr int kPairs = 20000;
  std::atomic<Fd*> sender{nullptr};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      Fd* socket = sender;
      if (socket == nullptr) continue;
      EXPECT_TRUE(SendMessage(*socket, Bytes("last")).ok());
      socket->Close();
      sender = nullptr;
    }
  });
  int overlooked = 0;
  for (int i = 0; i < kPairs; ++i) {
    Result<SocketPair> pair = MakeSocketPair(SocketKind::kPacket);
    ASSERT_TRUE(pair.ok());
    sender = &pair->b;
    std::byte buffer[16];
    Result<Received> got = Status(Code::kInProgress, "");
    while (!got.ok() && got.status().code() == Code::kInProgress) got = ReceiveMessage(pair->a, buffer);
    overlooked += got.ok() ? 0 : 1;
    while (sender != nullptr) CpuPause();
  }
  stop = true;
  other.join();
  EXPECT_EQ(overlooked, 0);
}

TEST(UnixSocketTest, WaitsOnSeveral) {
  Result<SocketPair> quiet = MakeSocketPair(SocketKind::kPacket);
  Result<SocketPair> loud = MakeSocketPair(SocketKind::kPacket);
  Result<SocketPair> ended = MakeSocketPair(SocketKind::kPacket);
  Watched watched[4] = {{}, {.fd = quiet->a.get()}, {.fd = loud->a.get()}, {.fd = ended->a.get()}};
  EXPECT_EQ(*WaitAny(watched, In(10)), 0);
  ASSERT_TRUE(SendMessage(loud->b, Bytes("x")).ok());
  ended->b.Close();
  EXPECT_EQ(*WaitAny(watched, In(5000)), 2);
  EXPECT_FALSE(watched[0].readable || watched[1].readable);
  EXPECT_TRUE(watched[2].readable && watched[3].readable);
  watched[1].what = Watched::For::kReadingAndWriting;
  EXPECT_EQ(*WaitAny(std::span(watched).first(2), In(5000)), 1);
  EXPECT_TRUE(watched[1].writable && !watched[1].readable);
}

TEST(UnixSocketTest, PacketsKeepTheirBorders) {
  Result<SocketPair> pair = MakeSocketPair(SocketKind::kPacket);
  ASSERT_TRUE(SendMessage(pair->a, Bytes("one")).ok());
  ASSERT_TRUE(SendMessage(pair->a, Bytes("seven77")).ok());
  ASSERT_TRUE(SendMessage(pair->a, Bytes("too long")).ok());
  std::byte buffer[7];
  EXPECT_EQ(ReceiveMessage(pair->b, buffer)->bytes, 3u);
  EXPECT_EQ(ReceiveMessage(pair->b, buffer)->bytes, 7u);
  EXPECT_EQ(ReceiveMessage(pair->b, buffer).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ReceiveMessage(pair->b, buffer).status().code(), Code::kInProgress);
}

TEST(UnixSocketTest, PassesManyDescriptors) {
  const int before = CountOpenFds();
  {
    Result<SocketPair> pair = MakeSocketPair(SocketKind::kPacket);
    std::vector<Fd> memory;
    std::vector<int> numbers;
    for (int i = 0; i < kMostFdsPerMessage; ++i) {
      memory.push_back(std::move(*CreateSharedMemory("tutti-test", 4096 + i)));
      numbers.push_back(memory.back().get());
    }
    ASSERT_TRUE(SendMessage(pair->a, Bytes("x"), numbers).ok());
    std::byte buffer[8];
    Result<Received> got = WaitAndReceive(pair->b, buffer);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    ASSERT_EQ(got->fds.size(), numbers.size());
    EXPECT_FALSE(got->fds_lost);
    for (int i = 0; i < kMostFdsPerMessage; ++i) {
      struct stat info;
      ASSERT_EQ(fstat(got->fds[i].get(), &info), 0);
      EXPECT_EQ(info.st_size, 4096 + i);
      EXPECT_NE(fcntl(got->fds[i].get(), F_GETFD) & FD_CLOEXEC, 0);
    }
    numbers.push_back(0);
    EXPECT_EQ(SendMessage(pair->a, Bytes("x"), numbers).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(SendMessage(pair->a, {}, std::span(numbers).first(1)).status().code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(CountOpenFds(), before);
}

TEST(UnixSocketTest, DescriptorsWithoutRoomAreNoticed) {
  const pid_t child = fork();
  if (child == 0) {
    Result<SocketPair> pair = MakeSocketPair(SocketKind::kPacket);
    const std::vector<int> numbers(20, 0);
    const bool sent = SendMessage(pair->a, Bytes("x"), numbers).ok();
    const rlimit limit = {.rlim_cur = 10, .rlim_max = 10};
    setrlimit(RLIMIT_NOFILE, &limit);
    std::byte buffer[8];
    const Result<Received> got = ReceiveMessage(pair->b, buffer);
    const bool named = DescriptorsLost().message().find("ulimit -n") != std::string::npos;
    _exit(sent && got.ok() && got->bytes == 1 && got->fds_lost && named ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tutti::sys
