// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to every parser of what a peer sends while ranks meet. What a parser accepts must
// encode to the same bytes again: so nothing in a message goes unread, and nothing outside of it is read.
//
// Inputs whose first byte is 128 or more are edits of messages as they are sent: so no message has to be guessed.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (a Members message whose first rank is 2 or more "crashes") must be
// found within seconds.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "comm/meet/bootstrap_message.h"

namespace tutti::comm {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void RequireSame(const Message& encoded, std::span<const std::byte> message) {
  Require(encoded.size() == message.size() &&
          (message.empty() || std::memcmp(encoded.data(), message.data(), message.size()) == 0));
}

// Hello's code cannot be guessed, so it is computed over what came before the whole is compared.
void CheckHello(std::span<const std::byte> message) {
  const Result<Hello> hello = ParseUncheckedHello(message);
  if (!hello.ok() || hello->version != kBootstrapVersion) return;
  const Message encoded = Encode(*hello, {}, {}, {});
  Require(ParseHello(encoded, {}, {}, {}).ok());
  Require(!ParseHello(encoded, {std::byte{1}}, {}, {}).ok());
  constexpr std::size_t kBodyAt = 8 + sizeof(sys::Mac);
  RequireSame({encoded.begin() + kBodyAt, encoded.end()}, message.subspan(kBodyAt));
}

void CheckMembers(std::span<const std::byte> message) {
  const Result<Members> members = ParseMembers(message);
  if (!members.ok()) return;
#ifdef TUTTI_FUZZ_CANARY
  Require(members->first < 2);
#endif
  RequireSame(Encode(*members), message);
}

void CheckOthers(std::span<const std::byte> message) {
  if (const auto greeting = ParseGreeting(message); greeting.ok()) RequireSame(Encode(*greeting), message);
  if (const auto challenge = ParseChallenge(message); challenge.ok()) RequireSame(Encode(*challenge), message);
  if (const auto place = ParsePlace(message); place.ok()) RequireSame(Encode(*place), message);
  if (const auto missing = ParseMissing(message); missing.ok()) RequireSame(Encode(*missing), message);
  if (const auto welcome = ParseWelcome(message); welcome.ok()) RequireSame(Encode(*welcome), message);
  for (const MessageKind kind : {MessageKind::kReady, MessageKind::kComplete}) {
    if (ParseBare(message, kind).ok()) RequireSame(EncodeBare(kind), message);
  }
  Status failure;
  if (ParseFailure(message, failure).ok()) {
    Require(!failure.ok());
    RequireSame(Encode(failure), message);
  }
}

// A message as it is sent, of each kind in turn.
Message Example(unsigned number) {
  constexpr std::byte kPayload[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  const sys::ProcessId process{.pid = 17, .start_ticks = 99};
  const Introduction near{.process = process, .process_namespace = 5, .uid = 6, .has_shared = 1};
  const Introduction far{.process = process, .remote = 1, .host = "other", .payload = kPayload};
  switch (number % 10) {
    case 0:
      return Encode(Greeting{});
    case 1:
      return Encode(Challenge{});
    case 2:
      return Encode(Hello{.rank = 1, .ranks = 4, .left_ms = 1000, .self = near}, {}, {}, {});
    case 3:
      return Encode(Welcome{.process = process, .process_namespace = 5});
    case 4:
      return Encode(Place{.children = 1});
    case 5:
      return Encode(Members{.members = {near}});
    case 6:
      return Encode(Members{.first = 1, .members = {near, far}});
    case 7:
      return EncodeBare(MessageKind::kReady);
    case 8:
      return Encode(Missing{.ranks = {1, 7, 8, 300}, .place = "10.0.0.1:500"});
    default:
      return Encode(Status(Code::kRemote, "rank 1 died", 1));
  }
}

// Pairs of a place and what stands there; the last byte, if it has none, says how much is cut off.
void Edit(std::span<const std::byte> edits, Message& message) {
  for (; edits.size() >= 2; edits = edits.subspan(2)) {
    message[std::to_integer<std::size_t>(edits[0]) % message.size()] = edits[1];
  }
  if (!edits.empty()) message.resize(message.size() - std::to_integer<std::size_t>(edits[0]) % message.size());
}

}  // namespace
}  // namespace tutti::comm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::comm;
  if (size == 0) return 0;
  const std::span<const std::byte> rest = std::as_bytes(std::span(data + 1, size - 1));
  Message text;
  if (data[0] >= 128) {
    text = Example(data[0]);
    Edit(rest, text);
  } else {
    const auto kind = static_cast<MessageKind>(data[0]);
    if (kind <= MessageKind::kMissing) text = EncodeBare(kind);
    text.insert(text.end(), rest.begin(), rest.end());
  }
  // A copy of exactly this size, so that a sanitizer sees the first byte beyond it.
  const Message message(text.begin(), text.end());
  CheckHello(message);
  CheckMembers(message);
  CheckOthers(message);
  return 0;
}
