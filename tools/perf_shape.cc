// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_shape.h"

#include <algorithm>

#include "plan/plan.h"
#include "tools/verify_data.h"

namespace tutti::tools {
std::size_t Work::in_count() const { return count * plan::InPieces(collective, ranks); }
std::size_t Work::out_count() const { return count * plan::OutPieces(collective, ranks); }
bool Work::uses_in() const {
  return rank == root || (collective != Collective::kBroadcast && collective != Collective::kScatter);
}
bool Work::uses_out() const {
  return rank == root || (collective != Collective::kReduce && collective != Collective::kGather);
}
std::size_t Work::bytes() const { return std::max(in_count(), out_count()) * SizeOf(type); }

std::size_t CountFor(Collective collective, DataType type, int ranks, std::size_t bytes, Rounding rounding) {
  std::size_t count = bytes / SizeOf(type);
  if (std::max(plan::InPieces(collective, 2), plan::OutPieces(collective, 2)) == 1) return count;
  count /= static_cast<std::size_t>(ranks);
  const std::size_t granule = 16 / SizeOf(type);
  return rounding == Rounding::kExact ? count : count / granule * granule;
}

bool HasInPlace(Collective collective) {
  return collective != Collective::kAllToAll && collective != Collective::kSendRecv;
}

Place PlaceOf(const Work& work, Placement placement, std::byte* first, std::byte* second) {
  if (placement == Placement::kOutOfPlace) return {first, second};
  const std::size_t part = static_cast<std::size_t>(work.rank) * work.count * SizeOf(work.type);
  // Where one buffer holds a part per rank, the other one is this rank's part of it.
  return {work.in_count() < work.out_count() ? second + part : second,
          work.in_count() > work.out_count() ? second + part : second};
}

std::vector<Operation> OperationsOf(const Work& work, const Place& place) {
  Operation operation{.kind = work.collective == Collective::kSendRecv ? Collective::kSend : work.collective,
                      .in = work.uses_in() ? place.in : nullptr,
                      .out = work.uses_out() ? place.out : nullptr,
                      .count = work.count,
                      .type = work.type,
                      .op = work.op,
                      .root = work.root};
  if (work.op == ReduceOp::kPreMulSum) operation.scalar = PreMulScalar(work.rank);
  if (work.collective != Collective::kSendRecv) return {operation};
  Operation receive = operation;
  operation.out = nullptr;
  operation.root = (work.rank + 1) % work.ranks;
  receive.kind = Collective::kRecv;
  receive.in = nullptr;
  receive.root = (work.rank + work.ranks - 1) % work.ranks;
  return {operation, receive};
}

double AlgorithmBandwidth(std::size_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / 1e9 / seconds : 0;
}

double BusFactor(Collective collective, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * others;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kAllToAll:
      return others;
    default:
      return 1;
  }
}

}  // namespace tutti::tools
