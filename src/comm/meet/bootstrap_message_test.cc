// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/bootstrap_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

const sys::Nonce kNonceA = [] {
  sys::Nonce nonce;
  nonce.fill(std::byte{0xa1});
  return nonce;
}();
const sys::Nonce kNonceB = [] {
  sys::Nonce nonce;
  nonce.fill(std::byte{0xb2});
  return nonce;
}();
const sys::Key kSecret = kNonceB;

Message Some(std::size_t bytes) { return Message(bytes, std::byte{7}); }

Hello SomeHello(const Message& payload) {
  return {.rank = 3,
          .ranks = 8,
          .left_ms = 1234,
          .self = {.process = {.pid = 17, .start_ticks = 99},
                   .process_namespace = 5,
                   .uid = 6,
                   .has_shared = 1,
                   .payload = payload}};
}

void ExpectSame(const Introduction& a, const Introduction& b) {
  EXPECT_EQ(a.process, b.process);
  EXPECT_EQ(a.process_namespace, b.process_namespace);
  EXPECT_EQ(a.uid, b.uid);
  EXPECT_EQ(a.has_shared, b.has_shared);
  EXPECT_TRUE(std::ranges::equal(a.payload, b.payload));
}

TEST(BootstrapMessageTest, WhatIsEncodedIsParsed) {
  EXPECT_EQ(ParseGreeting(Encode(Greeting{.nonce = kNonceA}))->nonce, kNonceA);
  const Result<Challenge> challenge = ParseChallenge(Encode(Challenge{.nonce = kNonceA, .mac = kNonceB}));
  EXPECT_EQ(challenge->nonce, kNonceA);
  EXPECT_EQ(challenge->mac, kNonceB);
  const Welcome sent{.rank = 4, .process = {.pid = 1, .start_ticks = 2}, .process_namespace = 3};
  const Result<Welcome> welcome = ParseWelcome(Encode(sent));
  EXPECT_EQ(welcome->rank, 4);
  EXPECT_EQ(welcome->process, sent.process);
  EXPECT_EQ(welcome->process_namespace, 3u);
  EXPECT_EQ(ParsePlace(Encode(Place{.children = 1}))->children, 1u);
  EXPECT_FALSE(ParsePlace(Encode(Place{.children = 3})).ok());
  EXPECT_TRUE(ParseBare(EncodeBare(MessageKind::kReady), MessageKind::kReady).ok());
  EXPECT_FALSE(ParseBare(EncodeBare(MessageKind::kReady), MessageKind::kComplete).ok());
  for (const std::vector<int>& ranks : {std::vector<int>{}, {0}, {7, 8}, {3, kMostRanks - 1}}) {
    const Missing missing{.ranks = ranks, .place = "10.0.0.1:500 of the process that made the id"};
    EXPECT_EQ(*ParseMissing(Encode(missing)), missing);
  }
  EXPECT_LE(Encode(Missing{.ranks = {kMostRanks - 1}}).size(), kMostMessageBytes);
  Status failure;
  ASSERT_TRUE(ParseFailure(Encode(Status(Code::kRemote, "gone", 5)), failure).ok());
  EXPECT_EQ(failure.ToString(), Status(Code::kRemote, "gone").ToString());
  EXPECT_EQ(failure.peer(), 5);
  ASSERT_TRUE(ParseFailure(Encode(Status(Code::kRemote, std::string(100'000, 'x'))), failure).ok());
  EXPECT_EQ(failure.message().size(), kMostSentenceBytes);
}

TEST(BootstrapMessageTest, HelloIsBoundToSecretAndNonces) {
  const Message payload = Some(100);
  const Message message = Encode(SomeHello(payload), kSecret, kNonceA, kNonceB);
  const Result<Hello> hello = ParseHello(message, kSecret, kNonceA, kNonceB);
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->version, kBootstrapVersion);
  EXPECT_EQ(hello->rank, 3);
  EXPECT_EQ(hello->ranks, 8);
  EXPECT_EQ(hello->left_ms, 1234);
  ExpectSame(hello->self, SomeHello(payload).self);
  EXPECT_FALSE(ParseHello(message, kNonceA, kNonceA, kNonceB).ok());
  EXPECT_FALSE(ParseHello(message, kSecret, kNonceB, kNonceB).ok());
  EXPECT_FALSE(ParseHello(message, kSecret, kNonceA, kNonceA).ok());
  for (std::size_t i = 0; i < message.size(); ++i) {
    Message bent = message;
    bent[i] ^= std::byte{1};
    EXPECT_FALSE(ParseHello(bent, kSecret, kNonceA, kNonceB).ok()) << "byte " << i;
  }
}

TEST(BootstrapMessageTest, OfAnotherVersionOnlyTheBeginningIsRead) {
  Hello newer = SomeHello({});
  newer.version = kBootstrapVersion + 1;
  const Result<Hello> hello = ParseHello(Encode(newer, kSecret, kNonceA, kNonceB), kSecret, kNonceA, kNonceB);
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->version, kBootstrapVersion + 1);
  EXPECT_EQ(hello->rank, 3);
  EXPECT_EQ(hello->left_ms, 0);
}

TEST(BootstrapMessageTest, MembersKeepTheirPayloads) {
  const Message payloads[] = {Some(0), Some(1), Some(kMostPayloadBytes)};
  Members members{.first = 7};
  std::size_t bytes = 16;
  for (const Message& payload : payloads) {
    members.members.push_back(SomeHello(payload).self);
    bytes += EncodedBytes(members.members.back());
  }
  const Message message = Encode(members);
  EXPECT_EQ(message.size(), bytes);
  const Result<Members> parsed = ParseMembers(message);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->first, 7);
  ASSERT_EQ(parsed->members.size(), 3u);
  for (int i = 0; i < 3; ++i) ExpectSame(parsed->members[i], members.members[i]);
}

using Parser = std::function<bool(std::span<const std::byte>)>;

struct Case {
  const char* name;
  Message message;
  Parser parses;
};

std::vector<Case> Cases() {
  static const Message payload = Some(20);
  const Introduction member = SomeHello(payload).self;
  return {
      {"Greeting", Encode(Greeting{}), [](auto m) { return ParseGreeting(m).ok(); }},
      {"Challenge", Encode(Challenge{}), [](auto m) { return ParseChallenge(m).ok(); }},
      {"Hello", Encode(SomeHello(payload), kSecret, kNonceA, kNonceB),
       [](auto m) { return ParseUncheckedHello(m).ok(); }},
      {"Welcome", Encode(Welcome{}), [](auto m) { return ParseWelcome(m).ok(); }},
      {"Missing", Encode(Missing{.ranks = {1, 9}}), [](auto m) { return ParseMissing(m).ok(); }},
      {"Place", Encode(Place{.children = 2}), [](auto m) { return ParsePlace(m).ok(); }},
      {"Members", Encode(Members{.first = 0, .members = {member, member}}),
       [](auto m) { return ParseMembers(m).ok(); }},
      {"Ready", EncodeBare(MessageKind::kReady), [](auto m) { return ParseBare(m, MessageKind::kReady).ok(); }},
  };
}

TEST(BootstrapMessageTest, ShorterAndLongerMessagesAreRefused) {
  for (const Case& c : Cases()) {
    ASSERT_TRUE(c.parses(c.message)) << c.name;
    for (std::size_t bytes = 0; bytes < c.message.size(); ++bytes) {
      const Message cut(c.message.begin(), c.message.begin() + bytes);
      EXPECT_FALSE(c.parses(cut)) << c.name << " of " << bytes << " bytes";
    }
    Message longer = c.message;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(c.parses(longer)) << c.name;
  }
}

TEST(BootstrapMessageTest, NoMessageIsTakenForAnother) {
  const std::vector<Case> cases = Cases();
  for (const Case& sent : cases) {
    for (const Case& expected : cases) {
      EXPECT_EQ(expected.parses(sent.message), &sent == &expected) << sent.name << " as " << expected.name;
    }
  }
  EXPECT_EQ(*KindOf(Encode(Greeting{})), MessageKind::kGreeting);
  EXPECT_EQ(*KindOf(Encode(Status(Code::kRemote, ""))), MessageKind::kFailure);
  EXPECT_FALSE(KindOf(Some(8)).ok());
  EXPECT_FALSE(KindOf({}).ok());
}

TEST(BootstrapMessageTest, LyingLengthsAreRefused) {
  const Message payload = Some(20);
  const Message good = Encode(Members{.first = 0, .members = {SomeHello(payload).self}});
  const auto with = [&good](std::size_t at, auto value) {
    Message message = good;
    std::memcpy(message.data() + at, &value, sizeof(value));
    return ParseMembers(message).ok();
  };
  EXPECT_TRUE(with(8, std::int32_t{0}));
  EXPECT_FALSE(with(8, std::int32_t{-1}));
  EXPECT_FALSE(with(8, kMostRanks));
  EXPECT_FALSE(with(12, std::uint32_t{2}));
  EXPECT_FALSE(with(12, ~std::uint32_t{0}));
  EXPECT_FALSE(with(40, std::uint32_t{2}));  // has_shared
  EXPECT_FALSE(with(44, std::uint32_t{2}));  // remote
  EXPECT_FALSE(with(48, std::uint32_t{1}));  // the length of the host's name
  EXPECT_TRUE(with(52, std::uint64_t{20}));  // the payload's
  for (const std::uint64_t bytes : {std::uint64_t{19}, std::uint64_t{21}, ~std::uint64_t{0}}) {
    EXPECT_FALSE(with(52, bytes)) << bytes;
  }
}

}  // namespace
}  // namespace tutti::comm
