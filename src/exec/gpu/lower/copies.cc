// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/lower/copies.h"

#include "exec/gpu/format/program.h"
#include "exec/gpu/lower/compile.h"
#include "plan/plan.h"

namespace tutti::exec::gpu {
namespace {

using Kind = Collective;

static_assert(kSeats <= transport::p2p::kMostCopyRanks);

std::uint32_t Bit(int rank) { return std::uint32_t{1} << rank; }
std::uint32_t AllBut(int rank, int ranks) { return (Bit(ranks) - 1) & ~Bit(rank); }

}  // namespace

bool ScattersInPlace(const Operation& o, int rank) {
  return o.kind == Kind::kScatter && o.in != nullptr &&
         o.out == static_cast<const std::byte*>(o.in) + rank * o.count * SizeOf(o.type);
}

std::size_t CopiedOutputBytes(const Operation& o, int ranks) {
  return plan::OutPieces(o.kind, ranks) * o.count * SizeOf(o.type);
}

CopyList ListCopies(const PreparedPlan& plan, const Work& work) {
  CopyList list;
  const std::size_t piece = work.count * SizeOf(work.type);
  const auto* in = static_cast<const std::byte*>(work.in);
  const auto add = [&](int peer, int from, int to) {
    list.copies[list.count++] = {.peer = peer,
                                 .from = in + static_cast<std::size_t>(from) * piece,
                                 .offset = static_cast<std::size_t>(to) * piece,
                                 .bytes = piece};
  };
  for (const plan::Moves::Send& send : plan.moves.sends) {
    add(send.peer, send.in, send.out);
    list.writes_to |= Bit(send.peer);
    list.sent_bytes += piece;
  }
  for (const plan::Moves::Copy& copy : plan.moves.copies) add(plan.rank, copy.in, copy.out);
  for (const plan::Moves::Receive& receive : plan.moves.receives) list.written_by |= Bit(receive.peer);
  return list;
}

Shots ShotsOf(const Operation& o, int rank, int ranks) {
  Shots shots{o, o};
  shots.scatter.kind = Kind::kReduceScatter;
  shots.scatter.count = o.count / static_cast<std::size_t>(ranks);
  shots.scatter.out = static_cast<std::byte*>(o.out) + rank * shots.scatter.count * SizeOf(o.type);
  shots.gather.kind = Kind::kAllGather;
  shots.gather.count = shots.scatter.count;
  shots.gather.in = shots.scatter.out;
  return shots;
}

CopyList ListBarrier(int rank, int ranks) {
  CopyList list;
  list.writes_to = list.written_by = AllBut(rank, ranks);
  return list;
}

}  // namespace tutti::exec::gpu
