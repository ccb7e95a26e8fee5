// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Windows behind a GpuQueue's lock, and what is done to them one-sidedly.
#include <fmt/format.h>

#include "comm/gpu/ensure_context.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/queue.h"
#include "comm/gpu/window.h"
#include "comm/host/queue.h"
#include "sys/os/clock.h"

namespace tutti::comm {

using sys::cuda::ScopedContext;
using sys::cuda::Stream;

Result<const transport::p2p::Window*> GpuQueue::RegisterWindow(const void* buffer, std::size_t bytes,
                                                               WindowSymmetry symmetry) {
  std::lock_guard lock(lock_);
  if (Status s = Usable(); !s.ok()) return s;
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const ScopedContext scope(&driver_, gpu.context.get());
  const transport::p2p::Window* window = nullptr;
  const Status s = host_->WithIdle([&](Communicator&) -> Status {
    const Result<const transport::p2p::Window*> made = gpu.windows.Register(buffer, bytes, symmetry);
    if (made.ok()) window = *made;
    return made.status();
  });
  if (!s.ok()) return s;
  return window;
}

Status GpuQueue::DeregisterWindow(const void* handle) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  if (gpu.windows.Find(handle) == nullptr) {
    return NotAWindow();
  }
  const ScopedContext scope(&driver_, gpu.context.get());
  const std::int64_t timeout_ms = gpu.settings.timeout_ms;
  if (!gpu.AwaitKernels(timeout_ms * sys::kNsPerMs)) {
    return Status(Code::kTimeout, fmt::format("the window is still in use: operations of rank {} have not ended within "
                                              "TUTTI_TIMEOUT_MS={}",
                                              gpu.rank, timeout_ms));
  }
  gpu.windows.Deregister(handle);
  return Status::Ok();
}

Status GpuQueue::Put(const WindowPut& put, Stream stream) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const EnsureContext context(driver_, gpu.context.get());
  TUTTI_RETURN_IF_ERROR(Follow(stream));
  return gpu.windows.RunPut(put, stream, gpu.IsCaptured(stream));
}

Status GpuQueue::AwaitSignals(std::span<const AwaitedSignals> awaited, Stream stream) {
  std::lock_guard lock(lock_);
  TUTTI_RETURN_IF_ERROR(Usable());
  GpuCommunicator::Impl& gpu = *gpu_->impl();
  const EnsureContext context(driver_, gpu.context.get());
  TUTTI_RETURN_IF_ERROR(Follow(stream));
  return gpu.windows.AwaitSignals(awaited, stream, gpu.IsCaptured(stream));
}

void* GpuQueue::OwnBufferOf(const void* handle) {
  std::lock_guard lock(lock_);
  return gpu_ ? gpu_->impl()->windows.OwnBufferOf(handle) : nullptr;
}

}  // namespace tutti::comm
