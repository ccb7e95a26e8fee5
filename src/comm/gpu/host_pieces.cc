// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/host_pieces.h"

#include <algorithm>

#include "comm/gpu/work.h"
#include "comm/host/read_factor.h"

namespace tutti::comm {
namespace {

using Kind = Collective;

// Regions of a piece begin at multiples of it, and so do a collective's pieces in elements.
constexpr std::size_t kGranule = 256;
constexpr std::size_t kMostPartBytes = std::size_t{4} << 20, kLeastPartBytes = std::size_t{64} << 10;

std::size_t RoundUp(std::size_t value) { return (value + kGranule - 1) / kGranule * kGranule; }

// Which blocks of `count` elements of a piece's one region a rank reads and writes, by kind. An all_to_all has two regions.
struct Blocks {
  int region = 1;              // blocks of it
  int in = 0, first_in = 0;    // how many are read, and the first of them
  int out = 0, first_out = 0;  // likewise written
};

Blocks BlocksOf(const Operation& o, int rank, int ranks) {
  const bool root = o.root == rank;
  switch (o.kind) {
    case Kind::kAllReduce:
      return {.in = 1, .out = 1};
    case Kind::kBroadcast:
      return {.in = root ? 1 : 0, .out = o.out != nullptr && !(root && o.in == o.out) ? 1 : 0};
    case Kind::kReduce:
      return {.in = 1, .out = root ? 1 : 0};
    case Kind::kAllGather:
      return {.region = ranks, .in = 1, .first_in = rank, .out = ranks};
    case Kind::kGather:
      return root ? Blocks{.region = ranks, .in = 1, .first_in = rank, .out = ranks} : Blocks{.in = 1};
    case Kind::kReduceScatter:
      return {.region = ranks, .in = ranks, .out = 1, .first_out = rank};
    case Kind::kScatter:
      return root ? Blocks{.region = ranks, .in = ranks, .out = 1, .first_out = rank} : Blocks{.out = 1};
    case Kind::kAllToAll:
      return {.region = ranks, .in = ranks, .out = ranks};
    default:
      return {};
  }
}

// Blocks of user memory whose elements [begin, begin + count) lie in the region one behind the other.
void AddCopies(std::vector<HostCopy>& copies, const void* user, const Operation& o, std::size_t begin,
               std::size_t count, std::size_t at, int first, int blocks) {
  const std::size_t element = SizeOf(o.type), bytes = count * element;
  const auto* from = static_cast<const std::byte*>(user) + begin * element;
  at += static_cast<std::size_t>(first) * bytes;
  if (count == o.count) {
    if (blocks > 0) copies.push_back({at, from, bytes * static_cast<std::size_t>(blocks)});
    return;
  }
  for (int block = 0; block < blocks; ++block) {
    const auto number = static_cast<std::size_t>(block);
    copies.push_back({at + number * bytes, from + number * o.count * element, bytes});
  }
}

void AddFactor(HostPiece& piece, HostOperation& operation) {
  if (operation.operation.op != ReduceOp::kPreMulSum || operation.operation.device_scalar == nullptr) return;
  operation.factor_at = piece.bytes;
  piece.in.push_back({piece.bytes, static_cast<const std::byte*>(operation.operation.device_scalar),
                      SizeOf(operation.operation.type)});
  piece.bytes += kGranule;
}

HostPiece PieceOf(const Operation& o, int rank, int ranks, std::size_t begin, std::size_t count) {
  const Blocks blocks = BlocksOf(o, rank, ranks);
  const std::size_t block = count * SizeOf(o.type);
  const std::size_t region = RoundUp(static_cast<std::size_t>(blocks.region) * block);
  const std::size_t out_region = o.kind == Kind::kAllToAll ? region : 0;  // behind the other, or the same
  HostPiece piece{.bytes = region + out_region};
  HostOperation operation{.operation = o};
  operation.operation.count = count;
  AddCopies(piece.in, o.in, o, begin, count, 0, blocks.first_in, blocks.in);
  AddCopies(piece.out, o.out, o, begin, count, out_region, blocks.first_out, blocks.out);
  const bool reads = blocks.in > 0, writes = blocks.out > 0 || o.kind == Kind::kBroadcast;
  if (reads) operation.in_at = static_cast<std::size_t>(blocks.first_in) * block;
  if (writes) operation.out_at = out_region + static_cast<std::size_t>(blocks.first_out) * block;
  AddFactor(piece, operation);
  piece.operations.push_back(operation);
  return piece;
}

void CutCollective(const Operation& o, int rank, int ranks, std::vector<HostPiece>& pieces) {
  if (o.kind == Kind::kBarrier) {
    pieces.push_back({.operations = {{.operation = o}}});
    return;
  }
  // The same on all ranks, whatever their part in it.
  const bool one_block = o.kind == Kind::kAllReduce || o.kind == Kind::kBroadcast || o.kind == Kind::kReduce;
  const std::size_t blocks = one_block ? 1 : static_cast<std::size_t>(ranks);
  const std::size_t most = std::max(kPieceBytes / blocks / SizeOf(o.type) / kGranule, std::size_t{1}) * kGranule;
  for (std::size_t begin = 0; begin < o.count; begin += most) {
    pieces.push_back(PieceOf(o, rank, ranks, begin, std::min(most, o.count - begin)));
  }
}

// The next part of each send and receive that is not over.
HostPiece RoundOf(std::span<const Operation> operations, std::size_t begin, std::size_t part) {
  HostPiece piece;
  for (const Operation& o : operations) {
    const std::size_t all = BytesOf(o);
    if (!IsTransfer(o.kind) || begin >= all) continue;
    const std::size_t bytes = std::min(part, all - begin);
    const bool send = o.kind == Kind::kSend;
    HostOperation operation{.operation = {.kind = o.kind, .count = bytes, .type = DataType::kUint8, .root = o.root}};
    (send ? operation.in_at : operation.out_at) = piece.bytes;
    const void* user = send ? o.in : o.out;
    (send ? piece.in : piece.out).push_back({piece.bytes, static_cast<const std::byte*>(user) + begin, bytes});
    piece.operations.push_back(operation);
    piece.bytes += RoundUp(bytes);
  }
  return piece;
}

}  // namespace

std::size_t TransferPartBytes(int ranks) {
  constexpr std::size_t kAllPeersBytes = std::size_t{16} << 20;
  const std::size_t part = kAllPeersBytes / (2 * static_cast<std::size_t>(ranks)) / kGranule * kGranule;
  return std::clamp(part, kLeastPartBytes, kMostPartBytes);
}

Operation HostOperation::PlaceIn(std::byte* memory) const {
  Operation o = operation;
  o.in = in_at == kNowhere ? nullptr : memory + in_at;
  o.out = out_at == kNowhere ? nullptr : memory + out_at;
  o.device_scalar = nullptr;
  if (factor_at != kNowhere) ReadFactor(memory + factor_at, o);
  return o;
}

std::vector<HostPiece> CutForHost(std::span<const Operation> operations, int rank, int ranks) {
  std::vector<HostPiece> pieces;
  const std::size_t part = TransferPartBytes(ranks);
  std::size_t longest = 0;
  for (const Operation& o : operations) {
    if (IsTransfer(o.kind)) longest = std::max(longest, BytesOf(o));
  }
  for (std::size_t begin = 0; begin < longest; begin += part) pieces.push_back(RoundOf(operations, begin, part));
  for (const Operation& o : operations) {
    if (!IsTransfer(o.kind) && !IsEmpty(o)) CutCollective(o, rank, ranks, pieces);
  }
  return pieces;
}

}  // namespace tutti::comm
