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
//   piece       post             of its call    bytes of    where in it  where the       data of a post
//                                               the post    this lies    post begins
//   credit      units consumed   lines          -           -            posts           -
//   lost        name of the      -              -           flow         -               -
//               connection
//   state       collectives      of the last    code        culprit      RankState       the reason
//
// Everything is told by its place in its link, counted from the link's beginning, and credits only grow. So frames may come in any
// order, over several connections, and twice. A side that has lost a connection says so on another one (lost), and both send once
// more what the other has not consumed.

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tutti::transport::net {

enum class FrameKind : std::uint8_t { kUnits = 1, kLines, kPiece, kCredit, kLost, kState };

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

// Pieces begin at multiples of this in their message, and have a multiple of it unless they are the last.
inline constexpr std::size_t kPieceGranule = std::size_t{64} << 10;

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_FRAME_H_
