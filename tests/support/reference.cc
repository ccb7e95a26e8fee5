// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "plan/plan.h"
#include "tools/verify_data.h"

namespace tutti::tests {

using tools::CountWrong;
using tools::FillExpected;
using tools::FillInput;
using tools::FillMove;
using tools::PreMulScalar;
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0x5a};

struct Shape {
  std::size_t in_pieces, out_pieces;
  bool has_in, has_out;
};

Shape ShapeOf(const Case& c, int rank, int ranks) {
  const auto collective = c.kind;
  return {static_cast<std::size_t>(plan::InPieces(collective, ranks)),
          static_cast<std::size_t>(plan::OutPieces(collective, ranks)),
          (c.kind != Collective::kBroadcast && c.kind != Collective::kScatter) || rank == c.root,
          (c.kind != Collective::kReduce && c.kind != Collective::kGather) || rank == c.root};
}

// What rank `source` contributes: one piece of count elements, numbered by the piece.
void FillPiece(std::byte* data, const Case& c, int source, int ranks, std::size_t piece, std::uint64_t seed) {
  if (Reduces(c.kind)) {
    FillInput(data, piece * c.count, c.count, c.type, c.op, source, ranks, seed);
  } else {
    FillMove(data, piece * c.count, c.count, c.type, seed, source);
  }
}

Bytes MakeInput(const Case& c, int rank, int ranks, std::uint64_t seed) {
  const Shape shape = ShapeOf(c, rank, ranks);
  const std::size_t piece_bytes = c.count * SizeOf(c.type);
  Bytes in(shape.in_pieces * piece_bytes);
  for (std::size_t p = 0; p < shape.in_pieces; ++p) FillPiece(in.data() + p * piece_bytes, c, rank, ranks, p, seed);
  return in;
}

Bytes MakeExpected(const Case& c, int rank, int ranks, std::uint64_t seed) {
  const Shape shape = ShapeOf(c, rank, ranks);
  const std::size_t piece_bytes = c.count * SizeOf(c.type);
  Bytes out(shape.out_pieces * piece_bytes);
  for (std::size_t p = 0; p < shape.out_pieces; ++p) {
    std::byte* piece = out.data() + p * piece_bytes;
    const int source = static_cast<int>(p);
    switch (c.kind) {
      case Collective::kAllReduce:
      case Collective::kReduce:
        FillExpected(piece, 0, c.count, c.type, c.op, ranks, seed);
        break;
      case Collective::kReduceScatter:
        FillExpected(piece, rank * c.count, c.count, c.type, c.op, ranks, seed);
        break;
      case Collective::kBroadcast:
        FillPiece(piece, c, c.root, ranks, 0, seed);
        break;
      case Collective::kScatter:
        FillPiece(piece, c, c.root, ranks, rank, seed);
        break;
      case Collective::kAllToAll:
        FillPiece(piece, c, source, ranks, rank, seed);
        break;
      default:
        FillPiece(piece, c, source, ranks, 0, seed);
        break;
    }
  }
  return out;
}

// A buffer with guards around it, off its alignment by `misalign`.
struct Guarded {
  Guarded(std::size_t bytes, std::size_t misalign)
      : bytes(bytes),
        storage(bytes + 2 * kGuardBytes + misalign, kGuard),
        data(storage.data() + kGuardBytes + misalign) {}
  bool Intact() const {
    for (const std::byte* p = storage.data(); p < data; ++p) {
      if (*p != kGuard) return false;
    }
    for (const std::byte* p = data + bytes; p < storage.data() + storage.size(); ++p) {
      if (*p != kGuard) return false;
    }
    return true;
  }
  std::size_t bytes;
  Bytes storage;
  std::byte* data;
};

}  // namespace

std::string Describe(const Case& c, int ranks) {
  return fmt::format("{} of {} {} {}, root {}, {} ranks{}{}", Name(c.kind), c.count, Name(c.type), Name(c.op), c.root,
                     ranks, c.in_place ? ", in place" : "", c.misalign != 0 ? ", misaligned" : "");
}

Status RunCaseOn(int rank, int ranks, const Case& c, std::uint64_t seed, const RunOn& run) {
  const Shape shape = ShapeOf(c, rank, ranks);
  const Bytes input = MakeInput(c, rank, ranks, seed);
  const Bytes expected = MakeExpected(c, rank, ranks, seed);
  const std::size_t piece_bytes = c.count * SizeOf(c.type);
  Guarded in(input.size(), c.misalign), out(expected.size(), c.misalign);
  Operation o{
      .kind = c.kind, .count = c.count, .type = c.type, .op = c.op, .root = c.root, .scalar = PreMulScalar(rank)};
  std::byte* result = out.data;
  if (!c.in_place) {
    std::ranges::copy(input, in.data);
    o.in = shape.has_in ? in.data : nullptr;
    o.out = shape.has_out ? out.data : nullptr;
  } else if (input.size() < expected.size()) {  // gathers: the input is a piece of the output
    std::byte* own = out.data + rank * piece_bytes;
    if (shape.has_out) std::ranges::copy(input, own);
    if (!shape.has_out) std::ranges::copy(input, in.data);
    o.in = shape.has_out ? own : in.data;
    o.out = shape.has_out ? out.data : nullptr;
  } else {  // the output is the input or a piece of it
    std::ranges::copy(input, in.data);
    result = input.size() > expected.size() ? in.data + rank * piece_bytes : in.data;
    if (!shape.has_in) result = out.data;
    o.in = shape.has_in ? in.data : nullptr;
    o.out = shape.has_out ? result : nullptr;
  }
  if (Status s = run(o, in.storage, out.storage); !s.ok())
    return Status(s.code(), Describe(c, ranks) + ": " + s.message(), s.peer());
  if (shape.has_out) {
    const std::size_t elements = expected.size() / SizeOf(c.type);
    if (const std::size_t wrong = CountWrong(result, expected.data(), elements, c.type, c.op); wrong != 0) {
      const std::size_t size = SizeOf(c.type);
      std::size_t first = 0;
      while (CountWrong(result + first * size, expected.data() + first * size, 1, c.type, c.op) == 0) ++first;
      return Status(Code::kInternal, fmt::format("{}: {} of {} elements are wrong, the first is number {}",
                                                 Describe(c, ranks), wrong, elements, first));
    }
  }
  if (!in.Intact() || !out.Intact()) return Status(Code::kInternal, Describe(c, ranks) + ": wrote outside its buffers");
  if (!c.in_place && !std::ranges::equal(input, std::span(in.data, in.bytes))) {
    return Status(Code::kInternal, Describe(c, ranks) + ": changed its input");
  }
  return Status::Ok();
}

Status RunCase(Communicator& communicator, std::span<const Case> cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    TUTTI_RETURN_IF_ERROR(
        RunCaseOn(communicator.rank(), communicator.ranks(), cases[i], 1000 + i,
                  [&](const Operation& o, std::span<std::byte>, std::span<std::byte>) { return communicator.Run(o); }));
  }
  return Status::Ok();
}

}  // namespace tutti::tests
