// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Groups of operations: all sends and receives are one launch, and so are collectives that are alike.
#include <algorithm>

#include "base/log.h"
#include "comm/gpu/impl.h"
#include "comm/host/validate.h"

namespace tutti {
namespace {

using comm::IsEmpty;
using exec::gpu::kMaxItems;
using exec::gpu::PreparedPlan;
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

bool GpuCommunicator::Impl::CanBeMerged(const Operation& o) {
  if (!HasBatchKernel(o) || windows->Takes(o)) return false;
  const Result<const comm::GpuRecipe*> recipe = FindRecipe(o.kind, comm::BytesOf(o), o.root);
  // Among many ranks some collectives are sends and receives only.
  return recipe.ok() && (*recipe)->predicted_us < machine.long_call_us && (*recipe)->plan->program.steps > 0;
}

// Calls `run` with the collectives of a group: all that are alike together, in the order of the first of each.
template <typename F>
Status GpuCommunicator::Impl::ForEachKind(std::span<const Operation> operations, F run) {
  seen.assign(operations.size(), 0);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& first = operations[i];
    if (seen[i] != 0 || IsTransfer(first.kind)) continue;
    alike.assign(1, &first);
    const bool merged = i + 1 < operations.size() && CanBeMerged(first);
    for (std::size_t j = i + 1; merged && j < operations.size(); ++j) {
      if (seen[j] != 0 || !AreAlike(first, operations[j])) continue;
      const bool known = windows->empty() && AreOfASize(operations[j], *alike.back());
      if (!known && !CanBeMerged(operations[j])) continue;
      alike.push_back(&operations[j]);
      seen[j] = 1;
    }
    TUTTI_RETURN_IF_ERROR(run(std::span<const Operation* const>(alike)));
  }
  return Status::Ok();
}

Result<const comm::GpuRecipe*> GpuCommunicator::Impl::FindBatchRecipe(std::span<const Operation* const> operations) {
  if (operations.size() < 2) return nullptr;
  const Operation& first = *operations[0];
  double one_by_one_us = 0;
  std::size_t bytes = 0;
  const Operation* before = nullptr;
  double us = 0;  // of the one before
  for (const Operation* o : operations) {
    if (before == nullptr || !AreOfASize(*o, *before)) {
      const Result<const comm::GpuRecipe*> recipe = FindRecipe(o->kind, comm::BytesOf(*o), o->root);
      if (!recipe.ok()) return recipe;
      us = (*recipe)->predicted_us;
    }
    one_by_one_us += us;
    bytes += comm::BytesOf(*o);
    before = o;
  }
  const Result<const comm::GpuRecipe*> recipe = FindIn(batch_recipes, batch_chooser, first.kind, bytes, first.root);
  if (!recipe.ok() || (*recipe)->predicted_us < one_by_one_us) return recipe;
  return nullptr;
}

Status GpuCommunicator::Impl::EnqueueBatch(std::span<const Operation* const> operations, const PreparedPlan& plan,
                                           Shape shape, sys::cuda::Stream stream) {
  const Operation& first = *operations[0];
  works.clear();
  for (const Operation* o : operations) works.push_back(comm::WorkOf(*o));
  const exec::gpu::BatchCut cut = executor.CutBatch(plan, works, shape);
  shape.threads = batch_chooser.Threads(shape.protocol, static_cast<double>(cut.message_bytes));
  const Result<exec::gpu::Launch> launch = executor.CompileBatch(plan, works, shape, cut);
  if (!launch.ok()) return launch.status();
  if (log::Enabled(log::Level::kInfo, log::kTuning)) [[unlikely]]
    LogBatch(first, static_cast<int>(operations.size()), shape, cut.blocks);
  return Enqueue(*launch, operations, stream);
}

Status GpuCommunicator::Impl::PrepareAlike(std::span<const Operation* const> operations) {
  const Result<const comm::GpuRecipe*> recipe = FindBatchRecipe(operations);
  if (!recipe.ok()) return recipe.status();
  if (*recipe != nullptr) return Status::Ok();
  for (const Operation* o : operations) TUTTI_RETURN_IF_ERROR(Prepare(*o));
  return Status::Ok();
}

Status GpuCommunicator::Impl::RunAlike(std::span<const Operation* const> operations, sys::cuda::Stream stream) {
  const Result<const comm::GpuRecipe*> recipe = FindBatchRecipe(operations);
  if (!recipe.ok()) return recipe.status();
  if (*recipe == nullptr) {
    for (const Operation* o : operations) TUTTI_RETURN_IF_ERROR(RunCollective(*o, stream));
    return Status::Ok();
  }
  Shape shape = (*recipe)->shape;
  // Each item has a channel of its own where there are enough: items in turn wait for each other's messages.
  const std::size_t each = ItemsOfALaunch(operations.size());
  const int most = std::min({GeometryOf(*(*recipe)->plan).Channels(static_cast<int>(shape.protocol)), most_blocks,
                             exec::gpu::kMaxBatchChannels});
  shape.channels = std::min(std::max(shape.channels, static_cast<int>(each)), most);
  for (std::size_t i = 0; i < operations.size(); i += each) {
    const auto some = operations.subspan(i, std::min(each, operations.size() - i));
    TUTTI_RETURN_IF_ERROR(EnqueueBatch(some, *(*recipe)->plan, shape, stream));
  }
  return Status::Ok();
}

Status GpuCommunicator::Impl::RunBatchAs(std::span<const Operation> operations, const tune::GpuChoice& choice,
                                         sys::cuda::Stream stream) {
  alike.clear();
  for (const Operation& o : operations) {
    TUTTI_RETURN_IF_ERROR(comm::Validate(o, host.rank, host.ranks));
    if (!IsEmpty(o)) alike.push_back(&o);
  }
  if (alike.empty()) return Status::Ok();
  const Collective collective = alike[0]->kind;
  const Result<const PreparedPlan*> plan =
      FindPlan(choice.algorithm, collective, HasRoot(collective) ? alike[0]->root : 0);
  if (!plan.ok()) return plan.status();
  TUTTI_RETURN_IF_ERROR(executor.CanRunSteps(**plan, choice.protocol));
  const int most = GeometryOf(**plan).Channels(static_cast<int>(choice.protocol));
  return EnqueueBatch(alike, **plan,
                      {.protocol = choice.protocol,
                       .channels = std::min({choice.channels, most, most_blocks, exec::gpu::kMaxBatchChannels}),
                       .chunk_bytes = choice.chunk_bytes},
                      stream);
}

Status GpuCommunicator::Impl::PrepareGroup(std::span<const Operation> operations) {
  return ForEachKind(operations, [&](auto kind) { return PrepareAlike(kind); });
}

Result<double> GpuCommunicator::Impl::PredictCollectivesUs(std::span<const Operation> operations) {
  double us = 0;
  const Status status = ForEachKind(operations, [&](std::span<const Operation* const> kind) -> Status {
    const Result<const comm::GpuRecipe*> batch = FindBatchRecipe(kind);
    if (!batch.ok()) return batch.status();
    if (*batch != nullptr) us += (*batch)->predicted_us;
    for (const Operation* o : kind) {
      if (*batch != nullptr || IsEmpty(*o)) continue;
      const Result<const comm::GpuRecipe*> recipe = FindRecipe(o->kind, comm::BytesOf(*o), o->root);
      if (!recipe.ok()) return recipe.status();
      us += (*recipe)->predicted_us;
    }
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return us;
}

Status GpuCommunicator::Impl::RunGroup(std::span<const Operation> operations, sys::cuda::Stream stream) {
  if (operations.size() == 1) return Run(operations[0], stream);
  for (const Operation& o : operations) TUTTI_RETURN_IF_ERROR(Validate(o));
  return RunValidGroup(operations, stream);
}

Status GpuCommunicator::Impl::RunValidGroup(std::span<const Operation> operations, sys::cuda::Stream stream) {
  if (operations.size() == 1) return RunValid(operations[0], stream);
  const auto transfers = std::ranges::count_if(operations, [](const Operation& o) { return IsTransfer(o.kind); });
  if (transfers == std::ssize(operations)) return RunTransfers(operations, stream);  // one launch
  TUTTI_RETURN_IF_ERROR(PrepareGroup(operations));
  if (transfers > 0) TUTTI_RETURN_IF_ERROR(RunTransfers(operations, stream));
  return ForEachKind(operations, [&](auto kind) { return RunAlike(kind, stream); });
}

}  // namespace tutti
