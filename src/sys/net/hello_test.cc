// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/hello.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/hello_terms.h"

namespace tutti::sys {
namespace {

using tests::Terms;
using tests::Text;

constexpr const char* kCaller = "10.0.0.2:41000";
constexpr const char* kListener = "10.0.0.1:500";

// The four messages of a hello, as far as it got, and how it ended on both sides.
struct Talk {
  std::vector<NetMessage> messages;
  Status caller, listener;
  HelloOutcome callers, listeners;
};

// A hello between two sides in memory. `change` may change message number `at` on its way.
Talk SayHello(const HelloTerms& caller_terms, const HelloTerms& listener_terms, int at = -1,
              const std::function<void(NetMessage&)>& change = {}) {
  Talk talk;
  HelloCaller caller(caller_terms, *FreshNonce());
  HelloListener listener([&](const HelloId& id) { return id == listener_terms.id ? &listener_terms : nullptr; },
                         *FreshNonce());
  const auto pass = [&](const NetMessage& message) {
    talk.messages.push_back(message);
    if (static_cast<int>(talk.messages.size()) - 1 == at) change(talk.messages.back());
    return talk.messages.back();
  };
  NetMessage message = caller.Opening();
  talk.caller = talk.listener = Status(Code::kInProgress, "");
  for (int turn = 0; turn < 4 && !message.empty(); ++turn) {
    const bool to_listener = turn % 2 == 0;
    const NetMessage sent = pass(message);
    (to_listener ? talk.listener : talk.caller) =
        to_listener ? listener.Take(sent, kCaller, kListener, message) : caller.Take(sent, kCaller, kListener, message);
  }
  talk.callers = caller.outcome();
  talk.listeners = listener.outcome();
  return talk;
}

TEST(HelloTest, BothSidesKnowEachOtherAfterwards) {
  const Talk talk = SayHello(Terms("I am host 3"), Terms("I am the root"));
  ASSERT_TRUE(talk.caller.ok()) << talk.caller.message();
  ASSERT_TRUE(talk.listener.ok()) << talk.listener.message();
  EXPECT_EQ(talk.messages.size(), 4u);
  EXPECT_EQ(talk.callers.payload, Text("I am the root"));
  EXPECT_EQ(talk.listeners.payload, Text("I am host 3"));
  EXPECT_EQ(talk.callers.version.name, "0.1.0");
  EXPECT_EQ(talk.listeners.version.number, 3u);
  EXPECT_EQ(talk.callers.id, Terms("").id);
  EXPECT_EQ(talk.callers.session, talk.listeners.session);
  EXPECT_NE(talk.callers.session, Terms("").secret);
  EXPECT_NE(talk.callers.session, SayHello(Terms(""), Terms("")).callers.session);  // a key of its own for each
  for (const NetMessage& message : talk.messages) EXPECT_LE(message.size(), kMostHelloBytes);
}

TEST(HelloTest, TheLargestPayloadsFit) {
  HelloTerms caller = Terms(""), listener = Terms("");
  caller.payload.resize(kMostHelloPayload);
  listener.payload.resize(kMostHelloPayload);
  caller.version.name = std::string(100, 'v');
  const Talk talk = SayHello(caller, listener);
  EXPECT_TRUE(talk.caller.ok() && talk.listener.ok());
  EXPECT_EQ(talk.listeners.version.name, std::string(kMostVersionName, 'v'));
  for (const NetMessage& message : talk.messages) EXPECT_LE(message.size(), kMostHelloBytes);
}

TEST(HelloTest, AnotherSecretIsFoundOutByWhoeverHearsOfItFirst) {
  const Talk talk = SayHello(Terms("secret words"), Terms("", std::byte{2}));
  EXPECT_EQ(talk.caller.code(), Code::kInvalidArgument);
  EXPECT_EQ(talk.caller.message(), "does not know the secret of this job: ranks of another job listen there");
  EXPECT_EQ(talk.messages.size(), 2u);  // nothing is said to a stranger, not even who calls
  // A caller that goes on all the same.
  const HelloTerms terms = Terms("");
  HelloListener listener([&](const HelloId&) { return &terms; }, *FreshNonce());
  HelloCaller caller(Terms("", std::byte{2}), *FreshNonce());
  NetMessage reply;
  EXPECT_EQ(listener.Take(caller.Opening(), kCaller, kListener, reply).code(), Code::kInProgress);
  const NetMessage guess = internal::Encode(internal::HelloAnswer{}, internal::HelloKind::kAnswer);
  const Status status = listener.Take(guess, kCaller, kListener, reply);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "does not know the secret of the job that it asks for");
  EXPECT_TRUE(reply.empty());
}

TEST(HelloTest, AnIdThatNobodyAdmitsIsRefusedWithoutAWord) {
  HelloTerms other = Terms("");
  other.id[15] ^= std::byte{1};
  const Talk talk = SayHello(other, Terms(""));
  EXPECT_EQ(talk.messages.size(), 1u);
  EXPECT_EQ(talk.listener.message(), "asks for a job that this process has no part in");
}

TEST(HelloTest, EveryBitCounts) {
  const Talk whole = SayHello(Terms("abc"), Terms("xyz"));
  ASSERT_TRUE(whole.caller.ok());
  int tried = 0;
  for (int at = 0; at < 4; ++at) {
    for (std::size_t bit = 0; bit < whole.messages[at].size() * 8; ++bit) {
      const Talk talk = SayHello(Terms("abc"), Terms("xyz"), at, [bit](NetMessage& message) {
        message[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      });
      EXPECT_FALSE(talk.caller.ok()) << "message " << at << ", bit " << bit;
      // The listener is done before the welcome arrives.
      EXPECT_EQ(talk.listener.ok(), at == 3) << "message " << at << ", bit " << bit;
      EXPECT_NE(talk.caller.code(), Code::kInvalidUsage) << "message " << at << ", bit " << bit;
      EXPECT_NE(talk.listener.code(), Code::kInvalidUsage) << "message " << at << ", bit " << bit;
      ++tried;
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(HelloTest, MessagesCutShortOrLongerAreRefused) {
  const Talk whole = SayHello(Terms("abc"), Terms("xyz"));
  for (int at = 0; at < 4; ++at) {
    for (std::size_t bytes = 0; bytes < whole.messages[at].size(); ++bytes) {
      const Talk talk =
          SayHello(Terms("abc"), Terms("xyz"), at, [bytes](NetMessage& message) { message.resize(bytes); });
      EXPECT_FALSE(talk.caller.ok()) << "message " << at << ", " << bytes << " bytes";
    }
    const Talk talk = SayHello(Terms("abc"), Terms("xyz"), at, [](NetMessage& message) { message.push_back({}); });
    EXPECT_FALSE(talk.caller.ok()) << "message " << at;
  }
}

TEST(HelloTest, WhatWasOverheardServesNobody) {
  const HelloTerms terms = Terms("");
  const Talk old = SayHello(terms, terms);
  ASSERT_TRUE(old.caller.ok());
  NetMessage reply;
  // To a listener: the old opening and the old answer, to a fresh nonce.
  HelloListener listener([&](const HelloId&) { return &terms; }, *FreshNonce());
  EXPECT_EQ(listener.Take(old.messages[0], kCaller, kListener, reply).code(), Code::kInProgress);
  EXPECT_EQ(listener.Take(old.messages[2], kCaller, kListener, reply).code(), Code::kInvalidArgument);
  // To a caller: the old challenge.
  HelloCaller caller(terms, *FreshNonce());
  EXPECT_EQ(caller.Take(old.messages[1], kCaller, kListener, reply).code(), Code::kInvalidArgument);
  // The listener's own code, sent back to it as the caller's: it names another message.
  HelloListener mirrored([&](const HelloId&) { return &terms; }, *FreshNonce());
  EXPECT_EQ(mirrored.Take(old.messages[0], kCaller, kListener, reply).code(), Code::kInProgress);
  const Result<internal::HelloChallenge> challenge = internal::ParseChallenge(reply);
  ASSERT_TRUE(challenge.ok());
  const NetMessage mirror =
      internal::Encode(internal::HelloAnswer{.payload = {}, .mac = challenge->mac}, internal::HelloKind::kAnswer);
  EXPECT_EQ(mirrored.Take(mirror, kCaller, kListener, reply).code(), Code::kInvalidArgument);
  // Messages out of turn.
  HelloListener early([&](const HelloId&) { return &terms; }, *FreshNonce());
  EXPECT_EQ(early.Take(old.messages[2], kCaller, kListener, reply).code(), Code::kInvalidArgument);
  EXPECT_TRUE(reply.empty());
}

TEST(HelloTest, DifferentVersionsAreOneSentenceOnBothSides) {
  HelloTerms newer = Terms("");
  newer.version = {.number = 4, .name = "0.2.0"};
  for (const bool caller_is_newer : {false, true}) {
    const Talk talk = caller_is_newer ? SayHello(newer, Terms("")) : SayHello(Terms(""), newer);
    EXPECT_EQ(talk.caller.code(), Code::kInvalidUsage);
    EXPECT_EQ(talk.listener.code(), Code::kInvalidUsage);
    EXPECT_EQ(talk.caller.message(), talk.listener.message());
    EXPECT_EQ(talk.caller.message(),
              caller_is_newer
                  ? "10.0.0.2:41000 runs Tutti 0.2.0 (protocol 4), 10.0.0.1:500 runs Tutti 0.1.0 (protocol 3): "
                    "start all ranks with one build of Tutti"
                  : "10.0.0.2:41000 runs Tutti 0.1.0 (protocol 3), 10.0.0.1:500 runs Tutti 0.2.0 (protocol 4): "
                    "start all ranks with one build of Tutti");
  }
  HelloTerms renamed = Terms("");
  renamed.version.name = "0.1.1";  // the number decides
  EXPECT_TRUE(SayHello(renamed, Terms("")).caller.ok());
  // Who does not know the secret can say nothing about versions.
  HelloTerms stranger = newer;
  stranger.secret.fill(std::byte{9});
  EXPECT_EQ(SayHello(Terms(""), stranger).caller.code(), Code::kInvalidArgument);
}

TEST(HelloTest, AnotherFormOfHelloIsOneSentenceOnBothSides) {
  const Talk talk = SayHello(Terms(""), Terms(""), 0, [](NetMessage& message) { message[2] = std::byte{9}; });
  EXPECT_EQ(talk.listener.message(),
            "says hello in form 9, where this process knows form 1: they run different versions of Tutti");
  ASSERT_EQ(talk.messages.size(), 2u);  // so that the other can say the same
  NetMessage notice = talk.messages[1], reply;
  notice[2] = std::byte{9};
  HelloCaller caller(Terms(""), *FreshNonce());
  const Status status = caller.Take(notice, kCaller, kListener, reply);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), talk.listener.message());
}

// Python's hashlib, so that another implementation can be made from the drawing alone:
//   key = bytes([1]) * 32; part = lambda b: struct.pack('<Q', len(b)) + b
//   version = struct.pack('<HHIH', 1, 1, 3, 5) + b'0.1.0' + struct.pack('<IH', 3, 5) + b'0.1.0'
//   parts = [b'tutti hello challenge', bytes([0xab]) * 16, bytes([7]) * 32, bytes([8]) * 32, version, b'', b'']
//   hashlib.blake2b(b''.join(map(part, parts)), key=key, digest_size=32).hexdigest()
TEST(HelloTest, TheCodeOfAChallengeIsTheOneOfTheDrawing) {
  const HelloTerms terms = Terms("");
  Nonce callers, listeners;
  callers.fill(std::byte{7});
  listeners.fill(std::byte{8});
  HelloListener listener([&](const HelloId&) { return &terms; }, listeners);
  NetMessage reply;
  EXPECT_EQ(listener.Take(HelloCaller(terms, callers).Opening(), kCaller, kListener, reply).code(), Code::kInProgress);
  const Result<internal::HelloChallenge> challenge = internal::ParseChallenge(reply);
  ASSERT_TRUE(challenge.ok());
  std::string hex;
  for (const std::byte byte : challenge->mac) {
    constexpr const char* kDigits = "0123456789abcdef";
    hex += kDigits[std::to_integer<int>(byte) >> 4];
    hex += kDigits[std::to_integer<int>(byte) & 15];
  }
  EXPECT_EQ(hex, "0fa7a378d926a5d000b60f418a50bdff3e7ae14b345afb17da5e1ebf3c745762");
}

}  // namespace
}  // namespace tutti::sys
