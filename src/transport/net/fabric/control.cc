// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/fabric/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace tutti::transport::net::fabric {
namespace {

constexpr std::size_t kShareGranule = 128;

Status CannotBe(const char* what) {
  return Status(Code::kRemote, fmt::format("{} has come over the network Libfabric, which cannot be; look whether all "
                                           "hosts run the same build of Tutti",
                                           what));
}

}  // namespace

Status CheckEntry(const ControlEntry& entry, std::uint32_t number) {
  if (entry.form != kEntryForm) return CannotBe("a place for a message of an unknown form");
  if (entry.number != number) return CannotBe("a place for a message out of its turn");
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  if (entry.bytes > std::uint64_t{1} << 40 || entry.address > kMost - entry.bytes) {
    return CannotBe("a place for a message that leaves the memory");
  }
  return Status::Ok();
}

Introduction Introduce(std::uint64_t token, std::span<const std::vector<std::byte>> names) {
  Introduction own{.form = kIntroductionForm, .token = token, .rails = static_cast<std::uint32_t>(names.size())};
  for (std::size_t i = 0; i < names.size(); ++i) {
    own.name_bytes[i] = static_cast<std::uint32_t>(names[i].size());
    std::memcpy(own.names[i].data(), names[i].data(), names[i].size());
  }
  return own;
}

Status CheckIntroduction(std::span<const std::byte> said, std::uint64_t token, Introduction& to) {
  if (said.size() != sizeof(to)) return CannotBe("an introduction of another length");
  std::memcpy(&to, said.data(), sizeof(to));
  if (to.form != kIntroductionForm || to.token != token) return CannotBe("an introduction of a stranger");
  if (to.rails == 0 || to.rails > kMostRails) return CannotBe("an introduction with an impossible count of rails");
  const auto used = std::span(to.name_bytes).first(to.rails);
  if (std::ranges::any_of(used, [](std::uint32_t bytes) { return bytes == 0 || bytes > kNameBytes; })) {
    return CannotBe("an introduction with an impossible address");
  }
  return Status::Ok();
}

Result<CallMe> ReadHandle(const plugin::Handle& handle) {
  CallMe place;
  std::memcpy(&place, handle.bytes.data(), sizeof(place));
  if (place.form != kHandleForm || place.name_bytes == 0 || place.name_bytes > place.name.size()) {
    return CannotBe("the address of a listener that is none");
  }
  return place;
}

std::vector<Segment> Cut(std::size_t bytes, std::size_t rails, std::size_t segment_bytes, std::uint32_t number) {
  const bool split = bytes >= kSplitBytes && rails > 1;
  const std::size_t even = (bytes + rails - 1) / rails;
  const std::size_t share = split ? (even + kShareGranule - 1) / kShareGranule * kShareGranule : bytes;
  std::vector<Segment> segments;
  std::size_t at = 0;
  for (std::size_t rail = split ? 0 : number % rails; at < bytes; ++rail) {
    const std::size_t end = at + std::min(share, bytes - at);
    while (at < end) {
      const std::size_t part = std::min(segment_bytes, end - at);
      segments.push_back({.rail = rail, .offset = at, .bytes = part});
      at += part;
    }
  }
  if (segments.empty()) segments.push_back({.rail = number % rails});
  return segments;
}

}  // namespace tutti::transport::net::fabric
