// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/host_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "comm/gpu/work.h"

namespace tutti::comm {
namespace {

using Kind = Collective;

constexpr int kRanks = 3;
constexpr std::size_t kMiB = std::size_t{1} << 20;

std::vector<HostPiece> Cut(const Operation& o, int rank = 1) { return CutForHost(std::span(&o, 1), rank, kRanks); }

// Marks each byte of user memory as often as the pieces' copies name it.
std::vector<int> Covered(const std::vector<HostPiece>& pieces, bool in, const std::byte* user, std::size_t bytes) {
  std::vector<int> times(bytes, 0);
  for (const HostPiece& piece : pieces) {
    for (const HostCopy& copy : in ? piece.in : piece.out) {
      EXPECT_GE(copy.user, user);
      EXPECT_LE(copy.user + copy.bytes, user + bytes);
      EXPECT_LE(copy.at + copy.bytes, piece.bytes);
      for (std::size_t i = 0; i < copy.bytes; ++i) ++times[static_cast<std::size_t>(copy.user - user) + i];
    }
  }
  return times;
}

bool AllOnce(const std::vector<int>& times) {
  return std::ranges::all_of(times, [](int n) { return n == 1; });
}

TEST(HostPieces, HaveEveryByteOnce) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, kMiB / 2, 3 * kMiB + 77}) {
    std::vector<std::byte> in(count * 4 * kRanks), out(in.size());
    for (const Kind kind : {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter, Kind::kAllToAll}) {
      const Operation o{.kind = kind, .in = in.data(), .out = out.data(), .count = count, .type = DataType::kFloat32};
      const std::vector<HostPiece> pieces = Cut(o);
      const bool gathers = kind == Kind::kAllGather || kind == Kind::kAllToAll;
      const bool scatters = kind == Kind::kReduceScatter || kind == Kind::kAllToAll;
      const std::size_t one = count * 4;
      EXPECT_TRUE(AllOnce(Covered(pieces, true, in.data(), scatters ? kRanks * one : one))) << Name(kind);
      EXPECT_TRUE(AllOnce(Covered(pieces, false, out.data(), gathers ? kRanks * one : one))) << Name(kind);
      std::size_t elements = 0;
      for (const HostPiece& piece : pieces) elements += piece.operations[0].operation.count;
      EXPECT_EQ(elements, count);
    }
  }
}

TEST(HostPieces, AreCutAlikeOnAllRanks) {
  std::vector<std::byte> memory(16);
  const Operation o{.kind = Kind::kGather,
                    .in = memory.data(),
                    .out = memory.data(),
                    .count = 9 * kMiB,
                    .type = DataType::kUint8,
                    .root = 2};
  const std::vector<HostPiece> first = Cut(o, 0), root = Cut(o, 2);
  ASSERT_EQ(first.size(), root.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].operations[0].operation.count, root[i].operations[0].operation.count);
    EXPECT_TRUE(first[i].out.empty());
    EXPECT_EQ(root[i].out.size(), 3u);
  }
}

TEST(HostPieces, InPlaceIsInPlaceOnTheHost) {
  std::vector<std::byte> memory(64);
  const auto place = [&](const Operation& o, int rank) {
    const std::vector<HostPiece> pieces = Cut(o, rank);
    EXPECT_EQ(pieces.size(), 1u);
    return pieces[0].operations[0].PlaceIn(memory.data());
  };
  std::byte* const m = memory.data();
  const Operation reduce = place({.kind = Kind::kAllReduce, .in = m, .out = m, .count = 8}, 1);
  EXPECT_EQ(reduce.in, reduce.out);
  const Operation gather = place({.kind = Kind::kAllGather, .in = m, .out = m, .count = 8}, 1);
  EXPECT_EQ(gather.in, static_cast<std::byte*>(gather.out) + 8);
  const Operation scatter = place({.kind = Kind::kReduceScatter, .in = m, .out = m, .count = 8}, 2);
  EXPECT_EQ(scatter.out, static_cast<const std::byte*>(scatter.in) + 16);
  const Operation other = place({.kind = Kind::kReduce, .in = m, .count = 8, .root = 0}, 1);
  EXPECT_EQ(other.out, nullptr);
}

TEST(HostPieces, TransfersAreCutTheSameWhateverIsInTheGroup) {
  const std::size_t part = TransferPartBytes(kRanks);
  std::vector<std::byte> memory(4 * part);
  const Operation group[] = {
      {.kind = Kind::kRecv, .out = memory.data(), .count = part + 1, .root = 0},
      {.kind = Kind::kSend, .in = memory.data(), .count = 3 * part, .root = 2},
      {.kind = Kind::kSend, .in = memory.data(), .count = 0, .root = 0},
  };
  const std::vector<HostPiece> pieces = CutForHost(group, 1, kRanks);
  ASSERT_EQ(pieces.size(), 3u);
  ASSERT_EQ(pieces[0].operations.size(), 2u);
  EXPECT_EQ(pieces[1].operations[0].operation.count, 1u);
  EXPECT_EQ(pieces[1].operations[1].operation.count, part);
  ASSERT_EQ(pieces[2].operations.size(), 1u);
  EXPECT_EQ(pieces[2].in[0].user, memory.data() + 2 * part);
}

TEST(HostPieces, OfNothingAreNoneBarriersApart) {
  EXPECT_TRUE(Cut({.kind = Kind::kAllReduce, .count = 0}).empty());
  EXPECT_EQ(Cut({.kind = Kind::kBarrier}).size(), 1u);
}

TEST(HostPieces, BringAFactorFromDeviceMemory) {
  const float factor = 2.5f;
  std::vector<std::byte> memory(4096);
  const Operation o{.kind = Kind::kAllReduce,
                    .in = memory.data(),
                    .out = memory.data(),
                    .count = 4,
                    .type = DataType::kFloat32,
                    .op = ReduceOp::kPreMulSum,
                    .device_scalar = &factor};
  const std::vector<HostPiece> pieces = Cut(o);
  ASSERT_EQ(pieces[0].in.size(), 2u);
  const HostCopy& copy = pieces[0].in[1];
  std::copy_n(copy.user, copy.bytes, memory.data() + copy.at);
  const Operation placed = pieces[0].operations[0].PlaceIn(memory.data());
  EXPECT_EQ(placed.scalar, 2.5);
  EXPECT_EQ(placed.device_scalar, nullptr);
}

}  // namespace
}  // namespace tutti::comm
