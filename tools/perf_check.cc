// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_check.h"

#include <algorithm>
#include <cstring>

#include "tools/perf_buffers.h"
#include "tools/verify_data.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;  // stays in a core's own cache
constexpr std::byte kPoison{0xA5};

// What a stretch of a buffer must hold: elements [first, first + count) of a rank's data, or of the reduction
// of all.
struct Source {
  enum class Kind { kInput, kReduced, kMoved };
  Kind kind;
  std::size_t first;
  int rank = 0;  // whose data; meaningless for kReduced
};

void Fill(const Work& work, const Source& source, std::size_t offset, std::size_t count, void* data,
          std::uint64_t seed) {
  const std::size_t first = source.first + offset;
  switch (source.kind) {
    case Source::Kind::kInput:
      return FillInput(data, first, count, work.type, work.op, source.rank, work.ranks, seed);
    case Source::Kind::kReduced:
      return FillExpected(data, first, count, work.type, work.op, work.ranks, seed);
    case Source::Kind::kMoved:
      return FillMove(data, first, count, work.type, seed, source.rank);
  }
}

// What this rank's whole input holds.
Source InputOf(const Work& work) {
  return {Reduces(work.collective) ? Source::Kind::kInput : Source::Kind::kMoved, 0, work.rank};
}

// What part `part` (of Work::count elements) of this rank's output must hold.
Source OutputOf(const Work& work, int part) {
  const std::size_t own_part = static_cast<std::size_t>(work.rank) * work.count;
  switch (work.collective) {
    case Collective::kReduceScatter:
      return {Source::Kind::kReduced, own_part};
    case Collective::kAllGather:
    case Collective::kGather:
      return {Source::Kind::kMoved, 0, part};
    case Collective::kBroadcast:
      return {Source::Kind::kMoved, 0, work.root};
    case Collective::kScatter:
      return {Source::Kind::kMoved, own_part, work.root};
    case Collective::kAllToAll:
      return {Source::Kind::kMoved, own_part, part};
    case Collective::kSendRecv:
      return {Source::Kind::kMoved, 0, (work.rank + work.ranks - 1) % work.ranks};
    default:
      return {Source::Kind::kReduced, 0};
  }
}

// Bytes of the second buffer that an operation may use; the guard lies behind.
std::size_t UsedBytes(const Work& work, Placement placement) {
  return placement == Placement::kInPlace ? work.bytes() : work.out_count() * SizeOf(work.type);
}

}  // namespace

void FillBuffers(const Work& work, Placement placement, std::byte* first, std::byte* second, std::uint64_t seed) {
  std::memset(second, static_cast<int>(kPoison), UsedBytes(work, placement) + kGuardBytes);
  if (work.uses_in()) Fill(work, InputOf(work), 0, work.in_count(), PlaceOf(work, placement, first, second).in, seed);
}

Checker::Checker() : expected_(kPieceBytes) {}

std::size_t Checker::CountWrong(const Work& work, Placement placement, const std::byte* first, const std::byte* second,
                                std::uint64_t seed) {
  const Place place = PlaceOf(work, placement, const_cast<std::byte*>(first), const_cast<std::byte*>(second));
  const std::size_t size = SizeOf(work.type);
  std::size_t wrong = 0;
  auto compare = [&](const std::byte* got, std::size_t count, const Source& source, ReduceOp op) {
    for (std::size_t done = 0; done < count;) {
      const std::size_t piece = std::min(count - done, kPieceBytes / size);
      Fill(work, source, done, piece, expected_.data(), seed);
      wrong += tools::CountWrong(got + done * size, expected_.data(), piece, work.type, op);
      done += piece;
    }
  };
  if (work.uses_out() && work.count > 0) {
    const int parts = static_cast<int>(work.out_count() / work.count);
    const ReduceOp op = Reduces(work.collective) ? work.op : ReduceOp::kSum;  // kSum: the same bits
    for (int part = 0; part < parts; ++part) {
      compare(place.out + static_cast<std::size_t>(part) * work.count * size, work.count, OutputOf(work, part), op);
    }
  }
  if (work.uses_in() && placement == Placement::kOutOfPlace) {
    compare(place.in, work.in_count(), InputOf(work), ReduceOp::kSum);
  }
  const std::byte* guard = second + UsedBytes(work, placement);
  return wrong +
         static_cast<std::size_t>(std::count_if(guard, guard + kGuardBytes, [](std::byte b) { return b != kPoison; }));
}

}  // namespace tutti::tools
