// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/groups.h"

#include <algorithm>

#include "comm/gpu/planner.h"
#include "comm/gpu/recipe.h"
#include "comm/gpu/runner.h"
#include "comm/gpu/submitter.h"
#include "comm/gpu/window.h"
#include "comm/gpu/work.h"
#include "comm/host/predict.h"
#include "tutti/operation.h"

namespace tutti::comm {
namespace {

using exec::gpu::kMaxItems;
using exec::gpu::Shape;
using Kind = Collective;

// How many of so many items each launch has: as few launches as there can be, of equal sizes.
std::size_t ItemsOfALaunch(std::size_t items) {
  const std::size_t launches = (items + kMaxItems - 1) / kMaxItems;
  return (items + launches - 1) / launches;
}

// Whether there are kernels for several of these. A factor is not what all ranks share, so it can not decide.
bool HasBatchKernel(const Operation& o) {
  if (IsTransfer(o.kind) || o.kind == Kind::kBarrier || IsEmpty(o)) return false;
  return !Reduces(o.kind) || o.op == ReduceOp::kSum || o.op == ReduceOp::kAvg;
}

// Whether both follow one plan with one kernel. What only moves data does so for any type.
bool AreAlike(const Operation& a, const Operation& b) {
  const Collective collective = a.kind;
  return a.kind == b.kind && (!HasRoot(collective) || a.root == b.root) &&
         (!Reduces(collective) || (a.type == b.type && a.op == b.op));
}

// Whether two that are alike move as many bytes, so that what was found out about one holds for the other.
bool AreOfASize(const Operation& a, const Operation& b) { return a.count == b.count && a.type == b.type; }

}  // namespace

bool GpuGroups::CanBeMerged(const Operation& o) {
  if (!HasBatchKernel(o) || windows_.FindCopies(o) != nullptr) return false;
  const Result<const GpuRecipe*> recipe = planner_.FindRecipe(o.kind, BytesOf(o), o.root);
  // Among many ranks some collectives are sends and receives only.
  return recipe.ok() && !planner_.IsLong(**recipe) && (*recipe)->plan->program.steps > 0;
}

// Calls `run` with the collectives of a group: all that are alike together, in the order of the first of each.
template <typename F>
Status GpuGroups::ForEachKind(std::span<const Operation> operations, F run) {
  seen_.assign(operations.size(), 0);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& first = operations[i];
    if (seen_[i] != 0 || IsTransfer(first.kind)) continue;
    alike_.assign(1, &first);
    const bool merged = i + 1 < operations.size() && CanBeMerged(first);
    for (std::size_t j = i + 1; merged && j < operations.size(); ++j) {
      if (seen_[j] != 0 || !AreAlike(first, operations[j])) continue;
      const bool known = windows_.empty() && AreOfASize(operations[j], *alike_.back());
      if (!known && !CanBeMerged(operations[j])) continue;
      alike_.push_back(&operations[j]);
      seen_[j] = 1;
    }
    TUTTI_RETURN_IF_ERROR(run(std::span<const Operation* const>(alike_)));
  }
  return Status::Ok();
}

Status GpuGroups::PrepareAlike(std::span<const Operation* const> operations) {
  const Result<const GpuRecipe*> recipe = planner_.FindBatchRecipe(operations);
  if (!recipe.ok()) return recipe.status();
  if (*recipe != nullptr) return Status::Ok();
  for (const Operation* o : operations) TUTTI_RETURN_IF_ERROR(runner_.Prepare(*o));
  return Status::Ok();
}

Status GpuGroups::RunAlike(std::span<const Operation* const> operations, sys::cuda::Stream stream) {
  const Result<const GpuRecipe*> recipe = planner_.FindBatchRecipe(operations);
  if (!recipe.ok()) return recipe.status();
  if (*recipe == nullptr) {
    for (const Operation* o : operations) TUTTI_RETURN_IF_ERROR(runner_.RunCollective(*o, stream));
    return Status::Ok();
  }
  Shape shape = (*recipe)->shape;
  // Each item has a channel of its own where there are enough: items in turn wait for each other's messages.
  const std::size_t each = ItemsOfALaunch(operations.size());
  const int most = std::min(planner_.MostChannels(*(*recipe)->plan, shape.protocol), exec::gpu::kMaxBatchChannels);
  shape.channels = std::min(std::max(shape.channels, static_cast<int>(each)), most);
  for (std::size_t i = 0; i < operations.size(); i += each) {
    const auto some = operations.subspan(i, std::min(each, operations.size() - i));
    TUTTI_RETURN_IF_ERROR(submitter_.RunBatch(some, **recipe, shape, stream));
  }
  return Status::Ok();
}

Status GpuGroups::Prepare(std::span<const Operation> operations) {
  if (runner_.across_hosts()) return Status::Ok();
  return ForEachKind(operations, [&](auto kind) { return PrepareAlike(kind); });
}

Result<double> GpuGroups::PredictCollectivesUs(std::span<const Operation> operations) {
  double us = 0;
  const Status status = ForEachKind(operations, [&](std::span<const Operation* const> kind) -> Status {
    const bool copies = kind.size() == 1 && windows_.FindCopies(*kind[0]) != nullptr;
    const Result<double> kind_us = copies ? planner_.PredictCopiesUs(*kind[0]) : planner_.PredictAlikeUs(kind);
    if (!kind_us.ok()) return kind_us.status();
    us += *kind_us;
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return us;
}

Result<double> GpuGroups::PredictUs(std::span<const Operation> operations) {
  const Result<double> collectives_us = PredictCollectivesUs(operations);
  if (!collectives_us.ok()) return collectives_us;
  const std::size_t most = MostTransferred(operations).bytes;
  return *collectives_us + (most > 0 ? planner_.PredictTransferUs(most) : 0);
}

Status GpuGroups::Run(std::span<const Operation> operations, sys::cuda::Stream stream) {
  if (operations.size() == 1) return runner_.Run(operations[0], stream);
  for (const Operation& o : operations) TUTTI_RETURN_IF_ERROR(runner_.Validate(o));
  return RunValid(operations, stream);
}

Status GpuGroups::RunValid(std::span<const Operation> operations, sys::cuda::Stream stream) {
  if (operations.size() == 1) return runner_.RunValid(operations[0], stream);
  if (runner_.across_hosts()) return runner_.RunAcrossHosts(operations, stream);
  const auto transfers = std::ranges::count_if(operations, [](const Operation& o) { return IsTransfer(o.kind); });
  if (transfers == std::ssize(operations)) return submitter_.RunTransfers(operations, stream);  // one launch
  TUTTI_RETURN_IF_ERROR(Prepare(operations));
  if (transfers > 0) TUTTI_RETURN_IF_ERROR(submitter_.RunTransfers(operations, stream));
  return ForEachKind(operations, [&](auto kind) { return RunAlike(kind, stream); });
}

}  // namespace tutti::comm
