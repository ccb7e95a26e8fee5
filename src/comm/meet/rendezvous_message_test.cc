// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rendezvous_message.h"

#include <gtest/gtest.h>

#include <functional>

#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

using Parse = std::function<bool(std::span<const std::byte>)>;

// A message that is cut off anywhere, or longer, or of another kind, is refused.
void ExpectOnlyThis(const sys::NetMessage& message, const Parse& parses) {
  EXPECT_TRUE(parses(message));
  for (std::size_t bytes = 0; bytes < message.size(); ++bytes) EXPECT_FALSE(parses(std::span(message).first(bytes)));
  sys::NetMessage longer = message;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(parses(longer));
  sys::NetMessage other = message;
  other[4] = std::byte{77};
  EXPECT_FALSE(parses(other));
  EXPECT_FALSE(RendezvousKindOf(other).ok());
  EXPECT_TRUE(RendezvousKindOf(message).ok());
}

TEST(RendezvousMessageTest, Joins) {
  const sys::NetMessage message = Encode(Join{.ranks = 12, .host = "node-7"});
  ExpectOnlyThis(message, [](auto m) { return ParseJoin(m).ok(); });
  EXPECT_EQ(ParseJoin(message)->ranks, 12);
  EXPECT_EQ(ParseJoin(message)->host, "node-7");
  EXPECT_FALSE(ParseJoin(Encode(Join{.ranks = 0, .host = "a"})).ok());
  EXPECT_FALSE(ParseJoin(Encode(Join{.ranks = kMostRanks + 1, .host = "a"})).ok());
}

TEST(RendezvousMessageTest, NamesAreFitForSentences) {
  EXPECT_EQ(CleanHostName("a\nb\x7f"), "a?b?");
  EXPECT_EQ(CleanHostName(""), "?");
  EXPECT_EQ(CleanHostName(std::string(100, 'x')).size(), kMostHostName);
  sys::NetMessage message = Encode(Join{.ranks = 1, .host = "abc"});
  message.back() = std::byte{'\n'};
  EXPECT_FALSE(ParseJoin(message).ok());
}

TEST(RendezvousMessageTest, Arrivals) {
  const std::vector<std::byte> payload(300, std::byte{9});
  const std::vector<Arrival> arrivals = {{.rank = 3, .pid = 17, .start_ticks = 99, .uid = 5, .payload = payload},
                                         {.rank = 0, .host = 2, .pid = 18}};
  const sys::NetMessage message = Encode(RendezvousKind::kRemote, arrivals);
  ExpectOnlyThis(message, [](auto m) { return ParseArrivals(m, RendezvousKind::kRemote).ok(); });
  EXPECT_FALSE(ParseArrivals(message, RendezvousKind::kArrivals).ok());
  const auto parsed = *ParseArrivals(message, RendezvousKind::kRemote);
  ASSERT_EQ(parsed.size(), 2u);
  EXPECT_EQ(parsed[0].rank, 3);
  EXPECT_EQ(parsed[0].pid, 17);
  EXPECT_EQ(parsed[0].start_ticks, 99u);
  EXPECT_EQ(parsed[0].uid, 5u);
  EXPECT_TRUE(std::ranges::equal(parsed[0].payload, payload));
  EXPECT_EQ(parsed[1].host, 2);
  std::size_t bytes = 12;
  for (const Arrival& a : arrivals) bytes += EncodedBytes(a);
  EXPECT_EQ(message.size(), bytes);
  for (const Arrival& bad :
       {Arrival{.rank = -1}, Arrival{.rank = kMostRanks}, Arrival{.host = -1}, Arrival{.host = kMostHosts}}) {
    EXPECT_FALSE(ParseArrivals(Encode(RendezvousKind::kRemote, std::span(&bad, 1)), RendezvousKind::kRemote).ok());
  }
}

TEST(RendezvousMessageTest, KnownHosts) {
  const Known known{.hosts = {{"a", {0, 1}}, {"b", {}}, {"c", {7}}}};
  const sys::NetMessage message = Encode(known);
  ExpectOnlyThis(message, [](auto m) { return ParseKnown(m).ok(); });
  const Known parsed = *ParseKnown(message);
  ASSERT_EQ(parsed.hosts.size(), 3u);
  EXPECT_EQ(parsed.hosts[0].ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(parsed.hosts[2].name, "c");
  // As many as fit a message.
  Known many;
  for (int i = 0; i < 100'000; ++i) many.hosts.push_back({"host" + std::to_string(i), {i % kMostRanks}});
  const sys::NetMessage cut = Encode(many);
  EXPECT_LE(cut.size(), kMostRendezvousBytes);
  EXPECT_GT(ParseKnown(cut)->hosts.size(), 1000u);
}

TEST(RendezvousMessageTest, AllHosts) {
  const sys::NetMessage message = Encode(All{.own = 1, .hosts = {"a", "b"}});
  ExpectOnlyThis(message, [](auto m) { return ParseAll(m).ok(); });
  EXPECT_EQ(ParseAll(message)->own, 1);
  EXPECT_FALSE(ParseAll(Encode(All{.own = 2, .hosts = {"a", "b"}})).ok());
  EXPECT_FALSE(ParseAll(Encode(All{.own = -1, .hosts = {"a", "b"}})).ok());
  All most{.own = 0};
  for (int i = 0; i < kMostHosts; ++i) most.hosts.push_back(std::string(kMostHostName, 'x'));
  EXPECT_LE(Encode(most).size(), kMostRendezvousBytes);
  EXPECT_TRUE(ParseAll(Encode(most)).ok());
}

TEST(RendezvousMessageTest, BareOnes) {
  for (const RendezvousKind kind : {RendezvousKind::kReady, RendezvousKind::kComplete}) {
    ExpectOnlyThis(EncodeBare(kind), [&](auto m) { return ParseBare(m, kind).ok(); });
    EXPECT_EQ(*RendezvousKindOf(EncodeBare(kind)), kind);
  }
}

// What is announced must be able to be there: no memory is taken for it before it has come.
TEST(RendezvousMessageTest, AnnouncedCountsAreBounded) {
  sys::NetMessage message = Encode(RendezvousKind::kArrivals, {});
  for (std::size_t i = 8; i < 12; ++i) message[i] = std::byte{0xff};
  EXPECT_FALSE(ParseArrivals(message, RendezvousKind::kArrivals).ok());
}

}  // namespace
}  // namespace tutti::comm
