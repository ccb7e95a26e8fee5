// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/runner.h"

#include <cstddef>
#include <span>
#include <vector>

#include "comm/gpu/hosts.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/program_calls.h"
#include "comm/gpu/submitter.h"
#include "comm/gpu/window.h"
#include "comm/gpu/work.h"
#include "comm/host/core.h"
#include "comm/host/ledger.h"
#include "comm/host/validate.h"
#include "exec/gpu/lower/copies.h"
#include "tutti/operation.h"

namespace tutti::comm {

using exec::gpu::PreparedPlan;
using Kind = Collective;

Status GpuRunner::Prepare(const Operation& o) {
  if (IsTransfer(o.kind) || IsEmpty(o) || core_.hosts != nullptr) return Status::Ok();
  const PreparedPlan* copies = windows_.FindCopies(o);
  if (copies != nullptr && exec::gpu::CopiesAll(*copies)) return Status::Ok();
  const Operation kernel = copies != nullptr ? exec::gpu::FirstShot(*copies, o) : o;
  return planner_.FindRecipe(kernel.kind, BytesOf(kernel), kernel.root).status();
}

Status GpuRunner::Validate(const Operation& o) {
  const bool onto_itself = o.kind == Kind::kAllToAll && o.in == o.out && o.out != nullptr;
  TUTTI_RETURN_IF_ERROR(onto_itself ? ValidateOntoItself(o) : comm::ValidateForGpu(o, core_.rank, core_.ranks));
  return FindBreak();
}

// NCCL takes an all-to-all whose output is its input and promises nothing about the result; benchmarks time that.
Status GpuRunner::ValidateOntoItself(const Operation& o) const {
  Operation apart = o;
  apart.out = static_cast<std::byte*>(o.out) + static_cast<std::size_t>(core_.ranks) * o.count * SizeOf(o.type);
  return comm::ValidateForGpu(apart, core_.rank, core_.ranks);
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

bool GpuRunner::across_hosts() const { return core_.hosts != nullptr; }

Status GpuRunner::RunObserved(std::span<const Operation> operations, const ProgramCalls& calls,
                              sys::cuda::Stream stream) {
  std::vector<const Operation*> observed;
  for (const Operation& o : operations) observed.push_back(&o);
  return core_.LaunchObserved(observed, {}, stream, calls.captured,
                              [&] { return core_.hosts->Run(operations, calls, stream); });
}

Status GpuRunner::RunAcrossHosts(std::span<const Operation> operations, sys::cuda::Stream stream) {
  ProgramCalls calls{.count = operations.size(), .captured = core_.IsCaptured(stream)};
  for (const Operation& o : operations) {
    if (!calls.captured) calls.last = ledger_.RecordGpuCall(o);
  }
  const Status s =
      core_.observed != nullptr ? RunObserved(operations, calls, stream) : core_.hosts->Run(operations, calls, stream);
  if (!s.ok()) core_.Break(s);
  return s;
}

Status GpuRunner::RunValid(const Operation& o, sys::cuda::Stream stream) {
  if (core_.hosts != nullptr) return RunAcrossHosts(std::span(&o, 1), stream);
  return IsTransfer(o.kind) ? submitter_.RunTransfers(std::span(&o, 1), stream) : RunCollective(o, stream);
}

Status GpuRunner::RunCollective(const Operation& o, sys::cuda::Stream stream) {
  if (IsEmpty(o)) return submitter_.RunEmpty(o, stream);
  if (!windows_.empty()) {
    if (const PreparedPlan* copies = windows_.FindCopies(o)) return RunCopies(o, *copies, stream);
  }
  return submitter_.Run(o, stream);
}

Status GpuRunner::RunCopies(const Operation& o, const PreparedPlan& plan, sys::cuda::Stream stream) {
  const std::span<std::byte* const> outputs = windows_.OutputsOf(plan, o);
  if (exec::gpu::CopiesAll(plan)) return submitter_.RunCopies(o, plan, nullptr, outputs, stream);
  const Operation first = exec::gpu::FirstShot(plan, o);
  return submitter_.RunCopies(o, plan, &first, outputs, stream);
}

std::string GpuRunner::Explain(const Operation& o) {
  if (core_.hosts != nullptr) return core_.hosts->Explain(o);
  if (IsTransfer(o.kind)) return "direct";
  const PreparedPlan* copies = windows_.FindCopies(o);
  if (copies == nullptr) return planner_.Explain(o);
  if (exec::gpu::CopiesAll(*copies)) return "copy engines";
  return planner_.Explain(exec::gpu::FirstShot(*copies, o)) + ", then copy engines";
}

}  // namespace tutti::comm
