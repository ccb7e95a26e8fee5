// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_FABRIC_CONTROL_H_
#define TUTTI_TRANSPORT_NET_FABRIC_CONTROL_H_

// What the two ends of a connection over libfabric tell each other beside data. All of it comes from outside and is checked
// before it is used.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "transport/net/fabric/rails.h"
#include "transport/net/plugin/net_plugin.h"
#include "tutti/status.h"

namespace tutti::transport::net::fabric {

inline constexpr std::size_t kSlots = 32;       // messages of a connection at a time
inline constexpr std::size_t kNameBytes = 128;  // of an endpoint's address, at most
inline constexpr std::size_t kMostSegments = 0xffff;

// What a remote write carries beside its data, in the 32 bits that every provider has room for: 1 bit that tells control from
// data, the low 15 bits of the message's number, 16 bits with the count of its segments.
struct Immediate {
  bool control = false;
  std::uint32_t number = 0;  // its low 15 bits
  std::uint32_t segments = 0;
};
inline constexpr std::uint32_t kNumberMask = 0x7fff;
constexpr std::uint64_t Encode(const Immediate& said) {
  return (said.control ? 1u << 31 : 0u) | (said.number & kNumberMask) << 16 | (said.segments & kMostSegments);
}
constexpr Immediate DecodeImmediate(std::uint64_t data) {
  return {.control = (data >> 31 & 1) != 0,
          .number = static_cast<std::uint32_t>(data >> 16) & kNumberMask,
          .segments = static_cast<std::uint32_t>(data) & static_cast<std::uint32_t>(kMostSegments)};
}

// Where the receiver wants a message; it lies in slot number % kSlots of the sender's mailbox.
struct ControlEntry {
  std::uint64_t address = 0;  // as the provider counts: virtual, or from the beginning of the memory
  std::uint64_t bytes = 0;    // of the buffer
  std::array<std::uint64_t, kMostRails> keys{};
  std::uint32_t number = 0;
  std::int32_t tag = 0;
  std::uint64_t form = 0;  // kEntryForm
};
inline constexpr std::uint64_t kEntryForm = 0x3159525446545554;
static_assert(sizeof(ControlEntry) == 64 && std::is_trivially_copyable_v<ControlEntry>);

// What is wrong with an entry that should be for message `number`; kRemote.
Status CheckEntry(const ControlEntry& entry, std::uint32_t number);

// The first message of each side.
struct Introduction {
  std::uint64_t form = 0;                        // kIntroductionForm
  std::uint64_t token = 0;                       // which the handle tells; who does not have it is a stranger
  std::uint64_t mailbox = 0;                     // the address of the sender's
  std::array<std::uint64_t, kMostRails> keys{};  // of the mailbox
  std::uint32_t rails = 0;
  std::array<std::uint32_t, kMostRails> name_bytes{};
  std::uint32_t unused = 0;
  std::array<std::array<std::byte, kNameBytes>, kMostRails> names{};
};
inline constexpr std::uint64_t kIntroductionForm = 0x314f4c4c45485454;
static_assert(sizeof(Introduction) == 592 && std::is_trivially_copyable_v<Introduction>);

// Names are those of the rails, at most kNameBytes each.
Introduction Introduce(std::uint64_t token, std::span<const std::vector<std::byte>> names);
// What is wrong with one of so many bytes; kRemote.
Status CheckIntroduction(std::span<const std::byte> said, std::uint64_t token, Introduction& to);

// The handle of a listener: its token, and its first rail's address. The last 8 bytes are the caller's.
struct CallMe {
  std::uint64_t form = 0;  // kHandleForm
  std::uint64_t token = 0;
  std::uint64_t name_bytes = 0;
  std::array<std::byte, 96> name{};
  std::uint64_t call = 0;  // which of the caller's calls it is; 0: none yet
};
inline constexpr std::uint64_t kHandleForm = 0x31454c444e485454;
static_assert(sizeof(CallMe) == sizeof(plugin::Handle) && std::is_trivially_copyable_v<CallMe>);

Result<CallMe> ReadHandle(const plugin::Handle& handle);

// How a message is cut: `rails` shares of at least 128 KiB together, or one for the rail whose turn it is, and each share into
// segments of at most `segment_bytes`. A message of 0 bytes has one segment.
struct Segment {
  std::size_t rail = 0, offset = 0, bytes = 0;
};
inline constexpr std::size_t kSplitBytes = 128 << 10;
std::vector<Segment> Cut(std::size_t bytes, std::size_t rails, std::size_t segment_bytes, std::uint32_t number);

}  // namespace tutti::transport::net::fabric

#endif  // TUTTI_TRANSPORT_NET_FABRIC_CONTROL_H_
