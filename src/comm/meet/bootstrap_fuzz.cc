// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to every parser of what a peer sends while ranks meet. What a parser accepts must
// encode to the same bytes again: so nothing in a message goes unread, and nothing outside of it is read.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (a Members message of two members or more "crashes")
// must be found within seconds.

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
  Require(members->members.size() < 2);
#endif
  RequireSame(Encode(*members), message);
}

void CheckOthers(std::span<const std::byte> message) {
  if (const auto greeting = ParseGreeting(message); greeting.ok()) RequireSame(Encode(*greeting), message);
  if (const auto challenge = ParseChallenge(message); challenge.ok()) RequireSame(Encode(*challenge), message);
  if (const auto place = ParsePlace(message); place.ok()) RequireSame(Encode(*place), message);
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

}  // namespace
}  // namespace tutti::comm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::comm;
  if (size == 0) return 0;
  const auto kind = static_cast<MessageKind>(data[0]);
  Message text = kind <= MessageKind::kFailure ? EncodeBare(kind) : Message();
  const std::span<const std::byte> rest = std::as_bytes(std::span(data + 1, size - 1));
  text.insert(text.end(), rest.begin(), rest.end());
  // A copy of exactly this size, so that a sanitizer sees the first byte beyond it.
  const Message message(text.begin(), text.end());
  CheckHello(message);
  CheckMembers(message);
  CheckOthers(message);
  return 0;
}
