// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/lower/copies.h"

#include "exec/gpu/format/program.h"
#include "exec/gpu/lower/compile.h"
#include "plan/plan.h"

namespace tutti::exec::gpu {
namespace {

using Copies = plan::Forms::Copies;

static_assert(kSeats <= transport::p2p::kMostCopyRanks);

std::uint32_t Bit(int rank) { return std::uint32_t{1} << rank; }
std::uint32_t AllBut(int rank, int ranks) { return (Bit(ranks) - 1) & ~Bit(rank); }

// Of what is copied: blocks that divide pieces evenly.
std::size_t BlockBytes(const PreparedPlan& plan, const Work& work) {
  return work.count * SizeOf(work.type) / static_cast<std::size_t>(plan.blocks_per_piece);
}

}  // namespace

bool CanCopy(const PreparedPlan& plan, const Operation& o) {
  const bool even = o.count % static_cast<std::size_t>(plan.blocks_per_piece) == 0;
  const bool fewer = plan::OutPieces(plan.collective, plan.ranks) < plan::InPieces(plan.collective, plan.ranks);
  const std::size_t before = static_cast<std::size_t>(plan.rank) * o.count * SizeOf(o.type);
  return even && !(fewer && o.in != nullptr && o.out == static_cast<const std::byte*>(o.in) + before);
}

bool CopiesAll(const PreparedPlan& plan) { return plan.forms.copies == Copies::kAll; }

std::size_t CopiedOutputBytes(const PreparedPlan& plan, const Operation& o) {
  return static_cast<std::size_t>(plan::OutPieces(plan.collective, plan.ranks)) * o.count * SizeOf(o.type);
}

CopyList ListCopies(const PreparedPlan& plan, const Work& work) {
  CopyList list;
  const std::size_t bytes = BlockBytes(plan, work);
  const void* const from = plan.forms.copies == Copies::kSecondShot ? work.out : work.in;
  const auto add = [&](int peer, int in, int out) {
    list.copies[list.count++] = {.peer = peer,
                                 .from = static_cast<const std::byte*>(from) + static_cast<std::size_t>(in) * bytes,
                                 .offset = static_cast<std::size_t>(out) * bytes,
                                 .bytes = bytes};
  };
  for (const plan::Moves::Send& send : plan.moves.sends) {
    add(send.peer, send.in, send.out);
    list.writes_to |= Bit(send.peer);
    list.sent_bytes += bytes;
  }
  for (const plan::Moves::Copy& copy : plan.moves.copies) add(plan.rank, copy.in, copy.out);
  for (const plan::Moves::Receive& receive : plan.moves.receives) list.written_by |= Bit(receive.peer);
  return list;
}

Operation FirstShot(const PreparedPlan& plan, const Operation& o) {
  Operation first = o;
  first.kind = Collective::kReduceScatter;
  first.count = o.count / static_cast<std::size_t>(plan.blocks_per_piece);
  first.out = static_cast<std::byte*>(o.out) + static_cast<std::size_t>(plan.rank) * first.count * SizeOf(o.type);
  return first;
}

CopyList ListBarrier(int rank, int ranks) {
  CopyList list;
  list.writes_to = list.written_by = AllBut(rank, ranks);
  return list;
}

}  // namespace tutti::exec::gpu
