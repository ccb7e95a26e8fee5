// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROTO_LL128_H_
#define TUTTI_PROTO_LL128_H_

// LL128: lines of 128 bytes, 120 of data and an 8-byte flag at the end. 15/16 of the bandwidth, still one trip.
//
//   byte  0                                              120       128
//         +----------------------------------------------+---------+
//         |                 15 x 8 bytes of data         |  flag   |
//         +----------------------------------------------+---------+
//
// On a host a line is two cache lines. Up to 56 bytes lie in the second one, beside the flag, so that one cache line comes from the other core
// instead of two (Ll128Begin). On a GPU data always begin at byte 0.
//
// Valid only where whoever sees the flag sees the 120 bytes before it: NVLink delivers a warp's 128-byte store whole;
// on a CPU the flag is stored with release and loaded with acquire order, after the data.
//
// A link owns a ring of lines. A message takes ceil(bytes / 120) lines. The low 16 bits of the flag are the number of
// times the ring has been filled, counted from 1, the upper 48 those of the call's mark, as in LL. Reuse as in LL,
// counted in lines.

#include <cstddef>
#include <cstdint>

namespace tutti::proto {

inline constexpr std::size_t kLl128PayloadBytes = 120;

struct alignas(128) Ll128Line {
  unsigned char data[kLl128PayloadBytes];
  std::uint64_t flag;
};

static_assert(sizeof(Ll128Line) == 128);
static_assert(offsetof(Ll128Line, flag) == kLl128PayloadBytes);

// On a host: where the data of a line that holds `bytes` of them begin.
constexpr std::size_t Ll128Begin(std::size_t bytes) {
  constexpr std::size_t kSecondCacheLine = 64;
  return bytes <= kLl128PayloadBytes - kSecondCacheLine ? kSecondCacheLine : 0;
}

// Lines that a message of `bytes` takes.
constexpr std::size_t Ll128Lines(std::size_t bytes) { return (bytes + kLl128PayloadBytes - 1) / kLl128PayloadBytes; }

// Flag of the line with running number `index` in a ring of 1 << log2_lines lines, in a message of the call with this
// mark.
inline constexpr std::uint64_t kLl128PassBits = 0xffff;
constexpr std::uint64_t Ll128Flag(std::uint64_t index, int log2_lines, std::uint64_t mark) {
  return (mark & ~kLl128PassBits) | (((index >> log2_lines) + 1) & kLl128PassBits);
}

}  // namespace tutti::proto

#endif  // TUTTI_PROTO_LL128_H_
