// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/within_host.h"

#include <utility>

#include "comm/gpu/faults.h"
#include "comm/gpu/groups.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/program_calls.h"
#include "comm/host/impl.h"

namespace tutti::comm {

GpuWithinHost::GpuWithinHost(Communicator communicator, std::vector<int> in_parent)
    : communicator_(std::move(communicator)),
      in_parent_(std::move(in_parent)),
      enqueued_(std::make_unique<EnqueuedCalls>()) {}

GpuWithinHost::~GpuWithinHost() = default;

Result<std::unique_ptr<GpuWithinHost>> GpuWithinHost::Create(Communicator communicator, std::vector<int> in_parent,
                                                             const GpuOptions& options) {
  std::unique_ptr<GpuWithinHost> made(new GpuWithinHost(std::move(communicator), std::move(in_parent)));
  Result<GpuCommunicator> gpu = GpuCommunicator::Create(made->communicator_, options);
  if (!gpu.ok()) return made->InParent(gpu.status());
  made->gpu_ = std::move(*gpu);
  return made;
}

// Its sentence says the rank's number there already.
Status GpuWithinHost::InParent(const Status& status) const {
  const int peer = status.peer();
  if (peer < 0 || peer >= static_cast<int>(in_parent_.size())) return status;
  return Status(status.code(), status.message(), in_parent_[static_cast<std::size_t>(peer)]);
}

Status GpuWithinHost::Run(std::span<const Operation> operations, const ProgramCalls& calls, sys::cuda::Stream stream) {
  const trace::Recorder& recorder = communicator_.impl()->recorder;
  const std::uint64_t before = recorder.last();
  const Status s = gpu_->RunGroup(operations, stream);
  if (recorder.last() > before) enqueued_->Add(before + 1, recorder.last(), calls);
  return InParent(s);
}

Result<double> GpuWithinHost::PredictUs(std::span<const Operation> operations) {
  return gpu_->impl()->groups.PredictUs(operations);
}

Status GpuWithinHost::Check() { return InParent(gpu_->Check()); }

Status GpuWithinHost::EndIfBroken() { return InParent(gpu_->impl()->faults.EndIfBroken()); }

void GpuWithinHost::NoteEvidence(const trace::View& whole) {
  gpu_->impl()->faults.NoteEvidence(gpu_->impl()->words);
  Core& core = *communicator_.impl();
  if (core.boxes.empty()) return;
  const trace::WaitView wait = core.boxes[static_cast<std::size_t>(core.rank)].wait();
  std::optional<ProgramCalls> calls;
  if (wait.on_gpu) calls = wait.number == 0 ? ProgramCalls{.captured = true} : enqueued_->Find(wait.number);
  core.recorder.NoteWhole(calls ? CallThatWaits(whole, *calls, wait, in_parent_) : std::nullopt);
}

void GpuWithinHost::CloseEvidence() { gpu_->impl()->faults.CloseEvidence(); }

void GpuWithinHost::Abort(const std::string& why) {
  if (!gpu_->impl()->faults.broken()) gpu_->Abort(why);
  (void)EndIfBroken();
}

bool GpuWithinHost::Drain() { return gpu_->impl()->Drain(); }

std::size_t GpuWithinHost::device_bytes() const { return gpu_->device_bytes(); }

}  // namespace tutti::comm
