// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/validate.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "plan/plan.h"

namespace tutti::comm {
namespace {

std::size_t Pieces(const Operation& o, bool input, int ranks) {
  if (o.kind == Collective::kSend) return input ? 1 : 0;
  if (o.kind == Collective::kRecv) return input ? 0 : 1;
  return input ? plan::InPieces(o.kind, ranks) : plan::OutPieces(o.kind, ranks);
}

bool UsesInput(const Operation& o, int rank) {
  if (o.kind == Collective::kRecv || o.kind == Collective::kBarrier) return false;
  return o.kind == Collective::kBroadcast || o.kind == Collective::kScatter ? o.root == rank : true;
}

bool UsesOutput(const Operation& o, int rank) {
  if (o.kind == Collective::kSend || o.kind == Collective::kBarrier) return false;
  return o.kind == Collective::kReduce || o.kind == Collective::kGather ? o.root == rank : true;
}

}  // namespace

Status Validate(const Operation& o, int rank, int ranks) {
  const auto fail = [&](std::string why) {
    return Status(Code::kInvalidArgument, fmt::format("{} on rank {}: {}", Name(o.kind), rank, why));
  };
  if (o.kind > Collective::kRecv || o.kind == Collective::kSendRecv) {
    return Status(Code::kInvalidArgument, fmt::format("operation kind {} does not exist", static_cast<int>(o.kind)));
  }
  if (o.kind == Collective::kBarrier) return Status::Ok();
  if (static_cast<unsigned>(o.type) >= kDataTypes) {
    return fail(fmt::format("data type {} does not exist", static_cast<int>(o.type)));
  }
  if (!IsTransfer(o.kind) && Reduces(o.kind) && static_cast<unsigned>(o.op) >= kReduceOps) {
    return fail(fmt::format("reduction operator {} does not exist", static_cast<int>(o.op)));
  }
  if (!IsTransfer(o.kind) && Reduces(o.kind) && !Defined(o.op, o.type)) {
    return fail(fmt::format("{} is not defined for elements of type {} (tutti/types.h says which are)", Name(o.op),
                            Name(o.type)));
  }
  const bool rooted = IsTransfer(o.kind) || HasRoot(o.kind);
  if (rooted && (o.root < 0 || o.root >= ranks)) {
    return fail(fmt::format("{} {} is not a rank; this communicator has ranks 0 to {}",
                            IsTransfer(o.kind) ? "peer" : "root", o.root, ranks - 1));
  }
  if (o.count == 0) return Status::Ok();
  std::size_t bytes;
  if (__builtin_mul_overflow(o.count, SizeOf(o.type) * ranks, &bytes)) {
    return fail(fmt::format("count {} overflows the address space", o.count));
  }
  if (UsesInput(o, rank) && o.in == nullptr) return fail("the input is null, its count is not 0");
  if (UsesOutput(o, rank) && o.out == nullptr) return fail("the output is null, its count is not 0");
  if (!UsesInput(o, rank) || !UsesOutput(o, rank)) return Status::Ok();
  // Overlap other than the documented in-place forms.
  const std::size_t piece = o.count * SizeOf(o.type);
  const auto in = reinterpret_cast<std::uintptr_t>(o.in), out = reinterpret_cast<std::uintptr_t>(o.out);
  const std::size_t in_bytes = piece * Pieces(o, true, ranks), out_bytes = piece * Pieces(o, false, ranks);
  if (in + in_bytes <= out || out + out_bytes <= in) return Status::Ok();
  const std::uintptr_t own = static_cast<std::uintptr_t>(rank) * piece;
  const bool in_place = in_bytes == out_bytes  ? in == out && o.kind != Collective::kAllToAll
                        : in_bytes < out_bytes ? in == out + own
                                               : out == in + own;
  if (in_place || ranks == 1) return Status::Ok();
  return fail(o.kind == Collective::kAllToAll
                  ? std::string("input and output overlap; all_to_all has no in-place form")
                  : std::string("input and output overlap, but not in the in-place form of this operation (Operation "
                                "in communicator.h says which)"));
}

Status ValidateForGpu(const Operation& o, int rank, int ranks) {
  TUTTI_RETURN_IF_ERROR(Validate(o, rank, ranks));
  if (o.kind == Collective::kBarrier) return Status::Ok();
  const bool reduces = !IsTransfer(o.kind) && Reduces(o.kind);
  const auto fail = [&](std::string_view what) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} on rank {}: GPUs have no {}; copy the data to host memory, or {}", Name(o.kind), rank,
                              what, reduces ? "reduce another type" : "move bytes"));
  };
  if (static_cast<int>(o.type) >= kNcclDataTypes) return fail(fmt::format("elements of type {}", Name(o.type)));
  if (reduces && static_cast<int>(o.op) >= kNcclReduceOps)
    return fail(fmt::format("reduction operator {}", Name(o.op)));
  return Status::Ok();
}

Status HasLeft(int rank) {
  return Status(Code::kInvalidUsage, fmt::format("rank {} has left this communicator: make no calls on it", rank));
}

}  // namespace tutti::comm
