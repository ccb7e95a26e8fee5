// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to what a stranger reaches on a port: the frames, the parsers of a hello's messages, and both sides
// of a hello. What a parser accepts must encode to the same bytes again; frames must not depend on how the bytes come; and
// nobody who does not know the secret gets through.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (an Answer with a payload of two bytes or more that is not as the seed's
// "crashes") must be found within seconds.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "sys/net/frames.h"
#include "sys/net/hello.h"

namespace tutti::sys {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckParsers(std::span<const std::byte> message) {
  using internal::HelloKind;
  const auto same = [&](const NetMessage& encoded) { return std::ranges::equal(encoded, message); };
  if (const auto opening = internal::ParseOpening(message); opening.ok()) Require(same(Encode(*opening)));
  if (const auto challenge = internal::ParseChallenge(message); challenge.ok()) Require(same(Encode(*challenge)));
  for (const HelloKind kind : {HelloKind::kAnswer, HelloKind::kWelcome}) {
    const auto answer = internal::ParseAnswer(message, kind);
    if (!answer.ok()) continue;
#ifdef TUTTI_FUZZ_CANARY
    const auto& payload = answer->payload;
    Require(kind != HelloKind::kAnswer || payload.size() < 2 || payload[0] == std::byte{'h'});
#endif
    Require(same(Encode(*answer, kind)));
  }
}

void CheckSides(std::span<const std::byte> message) {
  HelloTerms terms;
  terms.secret.fill(std::byte{5});
  HelloListener listener([&](const HelloId&) { return &terms; }, Nonce{});
  HelloCaller caller(terms, Nonce{});
  NetMessage reply;
  for (int turn = 0; turn < 2; ++turn) {
    const Status heard = listener.Take(message, "a", "b", reply);
    Require(!heard.ok() && heard.message().size() < 400);
    Require(!caller.Take(message, "a", "b", reply).ok() && reply.empty());
  }
  // The answer's turn, which `message` does not reach alone.
  HelloListener opened([&](const HelloId&) { return &terms; }, Nonce{});
  Require(opened.Take(caller.Opening(), "a", "b", reply).code() == Code::kInProgress);
  Require(opened.Take(message, "a", "b", reply).code() == Code::kInvalidArgument && reply.empty());
}

std::vector<NetMessage> Frames(std::span<const std::byte> stream, std::size_t piece) {
  std::vector<NetMessage> all;
  FrameReader reader(kMostHelloBytes);
  while (!stream.empty()) {
    reader.Feed(stream.first(std::min(piece, stream.size())));
    stream = stream.subspan(std::min(piece, stream.size()));
    Result<NetMessage> next = reader.Next();
    for (; next.ok(); next = reader.Next()) all.push_back(*next);
    Require(next.status().message().size() < 400);
    if (next.status().code() != Code::kInProgress) break;
  }
  return all;
}

}  // namespace
}  // namespace tutti::sys

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::sys;
  // A copy of exactly this size, so that a sanitizer sees the first byte beyond it.
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  const NetMessage message(input.begin(), input.end());
  CheckParsers(message);
  CheckSides(message);
  const std::vector<NetMessage> whole = Frames(message, std::max<std::size_t>(message.size(), 1));
  Require(whole == Frames(message, 1) && whole == Frames(message, 7));
  return 0;
}
