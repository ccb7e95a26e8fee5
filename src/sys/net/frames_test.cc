// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sys/net/poll_set.h"
#include "sys/os/clock.h"

namespace tutti::sys {
namespace {

constexpr std::size_t kMost = 1 << 20;

std::int64_t In(std::int64_t ms) { return NowNs() + ms * kNsPerMs; }

NetMessage Message(std::string_view text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  return NetMessage(bytes.begin(), bytes.end());
}
NetMessage Random(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  NetMessage message(bytes);
  for (std::byte& byte : message) byte = static_cast<std::byte>(random());
  return message;
}

struct Pair {
  FramedConnection a, b;
};
Pair MakePair(std::size_t most_bytes = kMost) {
  Result<TcpListener> listener = TcpListener::Open({.addresses = {IpAddress::V4(127, 0, 0, 1)}});
  EXPECT_TRUE(listener.ok());
  Result<Fd> socket = StartConnect(listener->endpoints()[0]);
  EXPECT_TRUE(socket.ok());
  Result<TcpConnection> accepted = listener->Accept();
  for (const std::int64_t deadline_ns = In(5000); !accepted.ok() && NowNs() < deadline_ns;)
    accepted = listener->Accept();
  Result<TcpConnection> made = FinishConnect(*socket, listener->endpoints()[0]);
  EXPECT_TRUE(made.ok() && accepted.ok());
  return {FramedConnection(std::move(*made), most_bytes), FramedConnection(std::move(*accepted), most_bytes)};
}

TEST(FrameReaderTest, TakesFramesApartHoweverTheyCome) {
  const std::vector<NetMessage> messages = {Message("one"), {}, Random(70000, 1), Message("x"), {}};
  NetMessage stream;
  for (const NetMessage& message : messages) {
    const NetMessage frame = MakeFrame(message);
    EXPECT_EQ(frame.size(), message.size() + kFrameHeaderBytes);
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (const std::size_t piece : {1ul, 3ul, 7ul, 8ul, 4096ul, stream.size()}) {
    FrameReader reader(kMost);
    std::vector<NetMessage> got;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      reader.Feed(std::span(stream).subspan(at, std::min(piece, stream.size() - at)));
      Result<NetMessage> next = reader.Next();
      for (; next.ok(); next = reader.Next()) got.push_back(*next);
      ASSERT_EQ(next.status().code(), Code::kInProgress) << next.status().message();
    }
    EXPECT_EQ(got, messages) << "pieces of " << piece;
    EXPECT_TRUE(reader.rest().empty());
  }
}

TEST(FrameReaderTest, TheFormatIsWhatTheDrawingSays) {
  const NetMessage frame = MakeFrame(Random(258, 1));
  constexpr unsigned char kHead[] = {'T', 'U', 'T', 'F', 2, 1, 0, 0};
  EXPECT_EQ(std::memcmp(frame.data(), kHead, sizeof(kHead)), 0);
}

TEST(FrameReaderTest, AnotherProtocolIsToldAtItsFirstByte) {
  for (const char* text : {"GET / HTTP/1.1\r\n", "\x16\x03\x01", "TUTX", "TUB"}) {
    FrameReader reader(kMost);
    reader.Feed(Message(text));
    const Status status = reader.Next().status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("speaks another protocol"), std::string::npos);
    EXPECT_EQ(reader.Next().status().code(), Code::kInvalidArgument);  // and stays so
    EXPECT_LT(status.message().size(), 250u);
    EXPECT_TRUE(std::ranges::all_of(status.message(), [](char c) { return c >= 32 && c < 127; }));
  }
  FrameReader reader(kMost);
  reader.Feed(Message("TUT"));
  EXPECT_EQ(reader.Next().status().code(), Code::kInProgress);
}

TEST(FrameReaderTest, ALengthBeyondTheBoundIsRefusedBeforeAnythingComes) {
  FrameReader reader(100);
  NetMessage frame = MakeFrame(NetMessage(100));
  reader.Feed(frame);
  EXPECT_TRUE(reader.Next().ok());
  frame = MakeFrame(NetMessage(101));
  reader.Feed(std::span(frame).first(kFrameHeaderBytes));
  const Status status = reader.Next().status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "sends a message of 101 bytes, where at most 100 are expected");
  NetMessage huge = Message("TUTF");
  huge.resize(kFrameHeaderBytes, std::byte{0xff});
  FrameReader other(100);
  other.Feed(huge);
  EXPECT_EQ(other.Next().status().message(), "sends a message of 4294967295 bytes, where at most 100 are expected");
}

TEST(FramedConnectionTest, CarriesMessagesBothWaysAtOnce) {
  Pair pair = MakePair(8 << 20);
  // More than the buffers of both sockets hold, so both sides wait for each other.
  const NetMessage big = Random(6 << 20, 2);
  std::thread other([&] {
    EXPECT_TRUE(pair.b.Send(big, In(30'000)).ok());
    EXPECT_EQ(*pair.b.Receive(In(30'000)), Message("ready"));
  });
  const Result<NetMessage> got = pair.a.Receive(In(30'000));
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_TRUE(*got == big);
  EXPECT_TRUE(pair.a.Send(Message("ready"), In(5000)).ok());
  other.join();
}

TEST(FramedConnectionTest, PostsWhatDoesNotFitAndGoesOn) {
  Pair pair = MakePair(32 << 20);
  const NetMessage big = Random(24 << 20, 3);
  ASSERT_TRUE(pair.a.Post(big).ok());
  ASSERT_TRUE(pair.a.Post(Message("after")).ok());
  EXPECT_TRUE(pair.a.wants_to_send());
  EXPECT_GT(pair.a.unsent_bytes(), 0u);
  EXPECT_EQ(pair.a.Flush().code(), Code::kInProgress);
  std::vector<NetMessage> got;
  for (const std::int64_t deadline_ns = In(30'000); got.size() < 2 && NowNs() < deadline_ns;) {
    const Status flushed = pair.a.Flush();
    ASSERT_TRUE(flushed.ok() || flushed.code() == Code::kInProgress) << flushed.message();
    Result<NetMessage> next = pair.b.TryReceive();
    if (next.ok()) got.push_back(std::move(*next));
  }
  ASSERT_EQ(got.size(), 2u);
  EXPECT_TRUE(got[0] == big);
  EXPECT_EQ(got[1], Message("after"));
  EXPECT_FALSE(pair.a.wants_to_send());
}

TEST(FramedConnectionTest, DeadlinesAndEndsAreNamed) {
  Pair pair = MakePair();
  EXPECT_EQ(pair.a.Receive(In(20)).status().code(), Code::kTimeout);
  EXPECT_EQ(pair.a.Post(NetMessage(kMost + 1)).code(), Code::kInternal);
  const NetMessage frame = MakeFrame(Message("half a message"));
  const TcpConnection& raw = pair.b.tcp();
  ASSERT_TRUE(const_cast<TcpConnection&>(raw).Send(std::span(frame).first(12)).ok());
  pair.b = FramedConnection();
  const Status end = pair.a.Receive(In(5000)).status();
  EXPECT_EQ(end.code(), Code::kRemote);
  EXPECT_NE(end.message().find("(in the middle of a message, after 12 bytes of it)"), std::string::npos)
      << end.message();

  Pair whole = MakePair();
  ASSERT_TRUE(whole.b.Post(Message("last words")).ok());
  whole.b = FramedConnection();
  EXPECT_EQ(*whole.a.Receive(In(5000)), Message("last words"));
  EXPECT_EQ(whole.a.Receive(In(5000)).status().code(), Code::kRemote);
}

TEST(FramedConnectionTest, WhoSpeaksAnotherProtocolIsNamed) {
  Pair pair = MakePair();
  TcpConnection raw = pair.b.Release();
  ASSERT_TRUE(raw.Send(Message("SSH-2.0-OpenSSH\r\n")).ok());
  const Status status = pair.a.Receive(In(5000)).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_TRUE(status.message().starts_with(raw.local().ToString() +
                                           " speaks another protocol than Tutti's (it began with "
                                           "\"SSH-2.0-OpenSSH\\x0d\\x0a\")"))
      << status.message();
}

TEST(PollSetTest, FindsTheFewThatHaveNews) {
  Result<PollSet> made = PollSet::Make();
  ASSERT_TRUE(made.ok());
  PollSet set = std::move(*made);
  std::vector<Pair> pairs;
  for (std::uint64_t i = 0; i < 100; ++i) {
    pairs.push_back(MakePair());
    ASSERT_TRUE(set.Add(pairs.back().b.tcp().socket(), i, PollSet::For::kReading).ok());
  }
  EXPECT_TRUE(set.Wait(In(20))->empty());
  ASSERT_TRUE(pairs[42].a.Post(Message("hello")).ok());
  pairs[7].a = FramedConnection();
  std::vector<std::uint64_t> tokens;
  for (const std::int64_t deadline_ns = In(5000); tokens.size() < 2 && NowNs() < deadline_ns;) {
    tokens.clear();
    const Result<std::vector<PollEvent>> news = set.Wait(deadline_ns);
    ASSERT_TRUE(news.ok());
    for (const PollEvent& event : *news) {
      EXPECT_TRUE(event.readable && !event.writable);
      tokens.push_back(event.token);
    }
  }
  std::ranges::sort(tokens);
  EXPECT_EQ(tokens, (std::vector<std::uint64_t>{7, 42}));
  // A set in another one.
  Result<PollSet> outer = PollSet::Make();
  ASSERT_TRUE(outer.ok() && outer->Add(set.fd(), 1, PollSet::For::kReading).ok());
  EXPECT_EQ(outer->Wait(In(5000))->size(), 1u);
  set.Remove(pairs[7].b.tcp().socket());
  EXPECT_TRUE(pairs[42].b.TryReceive().ok());
  EXPECT_TRUE(set.Wait(In(0))->empty());
  EXPECT_TRUE(outer->Wait(In(0))->empty());
  ASSERT_TRUE(set.Change(pairs[3].b.tcp().socket(), 33, PollSet::For::kReadingAndWriting).ok());
  const Result<std::vector<PollEvent>> writable = set.Wait(In(5000));
  ASSERT_EQ(writable->size(), 1u);
  EXPECT_TRUE((*writable)[0].token == 33 && (*writable)[0].writable && !(*writable)[0].readable);
}

}  // namespace
}  // namespace tutti::sys
