// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROTO_LL_H_
#define TUTTI_PROTO_LL_H_

// LL ("low latency"): every 8-byte store carries 4 bytes of data and a 4-byte flag, so a reader that sees the flag
// has the data. One trip, no fence, half of the bandwidth.
//
//   byte  0         4         8         12        16
//         +---------+---------+---------+---------+
//         | data lo |  flag   | data hi |  flag   |    one line: 8 bytes of payload
//         +---------+---------+---------+---------+
//         '--- one store ----''--- one store -----'    each half arrives whole
//
// A link owns a ring of lines. A message takes ceil(bytes / 8) lines and starts on a fresh unit of 64 bytes (a cache
// line, kLlLinesPerUnit lines), so that neighbours in the ring never share a cache line. A unit is always written
// whole. The low 8 bits of its flag are the number of times the ring has been filled, counted from 1, modulo 2^8: they
// differ from those of the pass before, which is all that can still be there. The upper 24 bits are those of the call's
// mark (trace/call.h): data of another call is not accepted, and a reader can tell that it is there.
//
// Ordering: writer stores the 8-byte halves in any order; a reader may use a half once its flag matches. Reuse: the
// reader publishes how many units it has consumed (Credit); the writer never fills more than the ring holds beyond
// that.

#include <cstddef>
#include <cstdint>

namespace tutti::proto {

struct alignas(16) LlLine {
  std::uint32_t data_low;
  std::uint32_t flag_low;
  std::uint32_t data_high;
  std::uint32_t flag_high;
};

inline constexpr std::size_t kLlPayloadBytes = 8;  // per line
inline constexpr std::size_t kLlUnitBytes = 64;    // ring unit
inline constexpr std::size_t kLlLinesPerUnit = kLlUnitBytes / sizeof(LlLine);
inline constexpr std::size_t kLlUnitPayloadBytes = kLlLinesPerUnit * kLlPayloadBytes;  // 32

static_assert(sizeof(LlLine) == 16);
static_assert(offsetof(LlLine, flag_low) == 4 && offsetof(LlLine, flag_high) == 12);

// Units that a message of `bytes` takes.
constexpr std::size_t LlUnits(std::size_t bytes) { return (bytes + kLlUnitPayloadBytes - 1) / kLlUnitPayloadBytes; }

// Flag of the unit with running number `index` in a ring of `units` (a power of two: 1 << log2_units), in a message of
// the call with this mark.
inline constexpr std::uint32_t kLlPassBits = 0xff;
constexpr std::uint32_t LlFlag(std::uint64_t index, int log2_units, std::uint64_t mark) {
  return (static_cast<std::uint32_t>(mark >> 32) & ~kLlPassBits) |
         (static_cast<std::uint32_t>((index >> log2_units) + 1) & kLlPassBits);
}

}  // namespace tutti::proto

#endif  // TUTTI_PROTO_LL_H_
