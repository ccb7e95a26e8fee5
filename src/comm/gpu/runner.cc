// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/runner.h"

#include <cstddef>

#include "comm/gpu/planner.h"
#include "comm/gpu/submitter.h"
#include "comm/gpu/window.h"
#include "comm/gpu/work.h"
#include "comm/host/core.h"
#include "comm/host/validate.h"
#include "exec/gpu/lower/copies.h"
#include "tutti/operation.h"

namespace tutti::comm {

using Kind = Collective;

Status GpuRunner::Prepare(const Operation& o) {
  if (IsTransfer(o.kind) || IsEmpty(o) || windows_.Takes(o)) return Status::Ok();
  if (windows_.TakesSecondShot(o)) return Prepare(exec::gpu::ShotsOf(o, core_.rank, core_.ranks).scatter);
  return planner_.FindRecipe(o.kind, BytesOf(o), o.root).status();
}

Status GpuRunner::Validate(const Operation& o) {
  // NCCL takes an all-to-all whose output is its input and promises nothing about the result; benchmarks time that.
  Operation apart = o;
  if (o.kind == Kind::kAllToAll && o.in == o.out && o.out != nullptr) {
    apart.out = static_cast<std::byte*>(o.out) + static_cast<std::size_t>(core_.ranks) * o.count * SizeOf(o.type);
  }
  TUTTI_RETURN_IF_ERROR(comm::Validate(apart, core_.rank, core_.ranks));
  return FindBreak();
}

Status GpuRunner::FindBreak() const {
  if (host_.broken.load(std::memory_order_relaxed)) [[unlikely]]
    return host_.Broken();
  return Status::Ok();
}

Status GpuRunner::Run(const Operation& o, sys::cuda::Stream stream) {
  TUTTI_RETURN_IF_ERROR(Validate(o));
  return RunValid(o, stream);
}

Status GpuRunner::RunValid(const Operation& o, sys::cuda::Stream stream) {
  return IsTransfer(o.kind) ? submitter_.RunTransfers(std::span(&o, 1), stream) : RunCollective(o, stream);
}

Status GpuRunner::RunCollective(const Operation& o, sys::cuda::Stream stream) {
  if (IsEmpty(o)) {
    submitter_.Record(o, core_.IsCaptured(stream));
    return Status::Ok();
  }
  if (!windows_.empty()) {
    if (windows_.Takes(o)) return RunCopies(o, stream);
    if (windows_.TakesSecondShot(o)) return RunShots(o, stream);
  }
  return submitter_.Run(o, o, stream);
}

Status GpuRunner::RunCopies(const Operation& o, sys::cuda::Stream stream) {
  const bool captured = core_.IsCaptured(stream);
  submitter_.Record(o, captured);
  return windows_.Run(o, stream, captured);
}

// Also in place: a peer's copies into this rank's output wait for a word that this stream writes behind the kernel, which
// has read the input by then.
Status GpuRunner::RunShots(const Operation& o, sys::cuda::Stream stream) {
  const exec::gpu::Shots shots = exec::gpu::ShotsOf(o, core_.rank, core_.ranks);
  const Status scattered = submitter_.Run(shots.scatter, o, stream);
  return scattered.ok() ? windows_.Run(shots.gather, stream, core_.IsCaptured(stream)) : scattered;
}

std::string GpuRunner::Explain(const Operation& o) {
  if (IsTransfer(o.kind)) return "direct";
  if (windows_.Takes(o)) return "copy engines";
  if (windows_.TakesSecondShot(o)) {
    return Explain(exec::gpu::ShotsOf(o, core_.rank, core_.ranks).scatter) + ", then copy engines";
  }
  return planner_.Explain(o);
}

}  // namespace tutti::comm
