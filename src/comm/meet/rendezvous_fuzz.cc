// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to every parser of what leaders and the rendezvous send each other. What a parser accepts must encode to
// the same bytes again: so nothing in a message goes unread, and nothing outside of it is read.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (arrivals of which the first is rank 2 or more "crash") must be found within
// seconds.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "comm/meet/rendezvous_message.h"

namespace tutti::comm {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void RequireSame(const sys::NetMessage& encoded, std::span<const std::byte> message) {
  Require(encoded.size() == message.size() &&
          (message.empty() || std::memcmp(encoded.data(), message.data(), message.size()) == 0));
}

void Check(std::span<const std::byte> message) {
  for (const RendezvousKind kind : {RendezvousKind::kArrivals, RendezvousKind::kRemote}) {
    const auto arrivals = ParseArrivals(message, kind);
    if (!arrivals.ok()) continue;
#ifdef TUTTI_FUZZ_CANARY
    Require(arrivals->empty() || arrivals->front().rank < 2);
#endif
    RequireSame(Encode(kind, *arrivals), message);
  }
  for (const RendezvousKind kind : {RendezvousKind::kReady, RendezvousKind::kComplete}) {
    if (ParseBare(message, kind).ok()) RequireSame(EncodeBare(kind), message);
  }
  if (const auto join = ParseJoin(message); join.ok()) RequireSame(Encode(*join), message);
  if (const auto known = ParseKnown(message); known.ok()) RequireSame(Encode(*known), message);
  if (const auto all = ParseAll(message); all.ok()) RequireSame(Encode(*all), message);
}

}  // namespace
}  // namespace tutti::comm

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::comm;
  if (size == 0) return 0;
  const auto kind = static_cast<RendezvousKind>(data[0]);
  tutti::sys::NetMessage text = kind <= RendezvousKind::kComplete ? EncodeBare(kind) : tutti::sys::NetMessage();
  const std::span<const std::byte> rest = std::as_bytes(std::span(data + 1, size - 1));
  text.insert(text.end(), rest.begin(), rest.end());
  // A copy of exactly this size, so that a sanitizer sees the first byte beyond it.
  const tutti::sys::NetMessage message(text.begin(), text.end());
  Check(message);
  return 0;
}
