// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_FRAME_H_
#define TUTTI_TRANSPORT_NET_FRAME_H_

// What crosses the network between two ranks: frames, a header and `bytes` bytes behind it. All numbers are little endian.
//
//   byte 0       4      5         6         8       16      24         28       32       40
//        +-------+------+---------+---------+-------+-------+----------+--------+--------+---------
//        | bytes | kind | channel | (zero)  | index | mark  | message  | at     | landing| payload
//        +-------+------+---------+---------+-------+-------+----------+--------+--------+---------
//
//   kind        index            mark           message     at           landing         payload
//   units       first unit       -              -           -            -               units of LL, as in the ring
//   lines       first line       -              -           -            -               lines of LL128, as in the ring
//   piece       post             of its call    its bytes   of the first where the       data of a post
//                                                           byte here    message begins
//   credit      units consumed   lines          -           -            posts           -
//   positions   -                -              -           -            -               Positions of each channel
//   state       collectives      of the last    code        culprit      RankState       the reason
//
// Everything is told by its place in its link, counted from the link's beginning, so a frame that comes twice does no harm, and a
// connection that breaks is followed by another on which both sides say first what they have (positions).

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tutti::transport::net {

enum class FrameKind : std::uint8_t { kUnits = 1, kLines, kPiece, kCredit, kPositions, kState };

struct FrameHeader {
  std::uint32_t bytes = 0;
  FrameKind kind = FrameKind::kUnits;
  std::uint8_t channel = 0;
  std::uint16_t zero = 0;
  std::uint64_t index = 0;
  std::uint64_t mark = 0;
  std::uint32_t message = 0;
  std::uint32_t at = 0;
  std::uint64_t landing = 0;
};
inline constexpr std::size_t kFrameHeaderBytes = 40;
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes && std::is_trivially_copyable_v<FrameHeader>);
static_assert(offsetof(FrameHeader, index) == 8 && offsetof(FrameHeader, landing) == 32);

// Of a frame whose payload is looked at as a whole: all but pieces.
inline constexpr std::size_t kMostStagedBytes = 16384;

// How far one half of a channel's links has got: what it has received, and what of that its rank has consumed.
struct Positions {
  std::uint64_t units = 0, lines = 0, posts = 0;
  std::uint64_t units_consumed = 0, lines_consumed = 0, posts_consumed = 0;
};
static_assert(std::is_trivially_copyable_v<Positions> && sizeof(Positions) == 48);

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_FRAME_H_
