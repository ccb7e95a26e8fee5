// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/queue.h"

#include <algorithm>

#include "base/log.h"
#include "comm/gpu/ensure_context.h"
#include "comm/gpu/evidence.h"
#include "comm/gpu/groups.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/log_operation.h"
#include "comm/gpu/runner.h"
#include "comm/host/validate.h"

namespace tutti::comm {
namespace {

using sys::cuda::CaptureOf;
using sys::cuda::Stream;

constexpr log::Subsystems kLogged = log::kColl | log::kTuning;

}  // namespace

Status GpuQueue::Usable() const { return gpu_ ? Status::Ok() : HasLeft(rank_); }

Status GpuQueue::Link(Stream before, Stream after) {
  if (order_ == nullptr) {
    TUTTI_RETURN_IF_ERROR(sys::cuda::Check(driver_, driver_.EventCreate(&order_, sys::cuda::kNoTiming), "an event"));
  }
  TUTTI_RETURN_IF_ERROR(
      sys::cuda::Check(driver_, driver_.EventRecord(order_, before), "ordering two streams of a communicator"));
  return sys::cuda::Check(driver_, driver_.StreamWaitEvent(after, order_, 0), "ordering two streams of a communicator");
}

// Lets what comes on `stream` take place after this communicator's last operation, where that was on another one. An
// operation in a graph under capture is ordered against those of the same capture only; graphs are ordered by whoever
// launches them.
Status GpuQueue::Follow(Stream stream) {
  if (stream == last_ && used_) [[likely]]
    return Status::Ok();
  if (used_) {
    const Result<unsigned long long> now = CaptureOf(driver_, stream);
    if (!now.ok()) return now.status();
    const Result<unsigned long long> then = CaptureOf(driver_, last_);  // fails where the stream is gone
    if (then.ok() && *then == *now) TUTTI_RETURN_IF_ERROR(Link(last_, stream));
  }
  used_ = true;
  last_ = stream;
  NoteStream(*gpu_->impl(), stream);
  return Status::Ok();
}

bool GpuQueue::Captures(Stream stream) const {
  const Result<unsigned long long> capture = CaptureOf(driver_, stream);
  return capture.ok() && *capture != 0;
}

Status GpuQueue::Check(const Operation& operation) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  return gpu_->impl()->runner.Validate(operation);
}

Status GpuQueue::Prepare(std::span<const Call> calls) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const EnsureContext context(driver_, gpu.context.get());
  operations_.clear();
  for (const Call& call : calls) operations_.push_back(call.operation);
  return gpu.groups.Prepare(operations_);
}

Status GpuQueue::Post(const Operation& operation, Stream stream) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const EnsureContext context(driver_, gpu.context.get());
  TUTTI_RETURN_IF_ERROR(Follow(stream));
  if (log::Enabled(log::Level::kInfo, kLogged)) [[unlikely]]
    LogGpuOperation(gpu.host, gpu.runner, operation);
  return runner_->Run(operation, stream);
}

Status GpuQueue::Submit(std::span<const Call> calls) {
  if (calls.empty()) return Status::Ok();
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  TUTTI_RETURN_IF_ERROR(gpu.runner.FindBreak());
  const EnsureContext context(driver_, gpu.context.get());
  const Stream stream = calls[0].stream;
  TUTTI_RETURN_IF_ERROR(Follow(stream));
  std::vector<Stream> others;
  operations_.clear();
  for (const Call& call : calls) {
    operations_.push_back(call.operation);
    if (log::Enabled(log::Level::kInfo, kLogged)) [[unlikely]]
      LogGpuOperation(gpu.host, gpu.runner, call.operation);
    if (call.stream != stream && std::ranges::find(others, call.stream) == others.end()) others.push_back(call.stream);
  }
  for (const Stream other : others) TUTTI_RETURN_IF_ERROR(Link(other, stream));
  TUTTI_RETURN_IF_ERROR(gpu.groups.RunValid(operations_, stream));
  for (const Stream other : others) TUTTI_RETURN_IF_ERROR(Link(stream, other));
  return Status::Ok();
}

}  // namespace tutti::comm
