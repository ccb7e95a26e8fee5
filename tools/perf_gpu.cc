// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_gpu.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "tools/cli.h"

namespace tutti::tools {

using sys::cuda::Check;

Result<PerfGpu> PerfGpu::Create(Communicator& communicator, const Buffers& buffers, std::size_t bytes) {
  PerfGpu gpu(buffers, bytes + kGuardBytes);
  const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
  if (!driver.ok()) return driver.status();
  const sys::cuda::Driver& d = **driver;
  int devices = 0;
  TUTTI_RETURN_IF_ERROR(Check(d, d.DeviceGetCount(&devices), "counting GPUs"));
  const int device = communicator.rank() % devices;
  Result<sys::cuda::PrimaryContext> context = sys::cuda::PrimaryContext::Retain(&d, device);
  if (!context.ok()) return context.status();
  gpu.context_ = std::move(*context);
  TUTTI_RETURN_IF_ERROR(Check(d, d.CtxSetCurrent(gpu.context_.get()), "the GPU's context"));
  gpu.driver_ = &d;
  TUTTI_RETURN_IF_ERROR(Check(d, d.StreamCreate(&gpu.stream_, sys::cuda::kNonBlocking), "a stream"));
  for (sys::cuda::Address& mirror : gpu.mirrors_) {
    TUTTI_RETURN_IF_ERROR(
        Check(d, d.MemAlloc(&mirror, gpu.bytes_), fmt::format("{} of device memory", FormatBytes(gpu.bytes_))));
  }
  Result<GpuCommunicator> made = GpuCommunicator::Create(communicator, {.device = device});
  if (!made.ok()) return made.status();
  gpu.communicator_.emplace(std::move(*made));
  return gpu;
}

PerfGpu::PerfGpu(PerfGpu&& other) noexcept
    : buffers_(other.buffers_),
      bytes_(other.bytes_),
      driver_(std::exchange(other.driver_, nullptr)),
      communicator_(std::move(other.communicator_)),
      context_(std::move(other.context_)),
      stream_(other.stream_),
      mirrors_{other.mirrors_[0], other.mirrors_[1]} {
  other.communicator_.reset();
}

PerfGpu::~PerfGpu() {
  if (driver_ == nullptr) return;
  communicator_.reset();  // waits for its kernels, which use the buffers
  for (const sys::cuda::Address mirror : mirrors_) {
    if (mirror != 0) driver_->MemFree(mirror);
  }
  if (stream_ != nullptr) driver_->StreamDestroy(stream_);
}

Status PerfGpu::CopyIn() {
  const sys::cuda::Driver& d = *driver_;
  const std::byte* hosts[] = {buffers_->first(), buffers_->second()};
  for (int i = 0; i < 2; ++i) {
    TUTTI_RETURN_IF_ERROR(Check(d, d.MemcpyHtoD(mirrors_[i], hosts[i], bytes_), "copying to a GPU"));
  }
  // A copy from pageable memory may return before its last piece has arrived; the stream does not wait for it.
  return Check(d, d.StreamSynchronize(nullptr), "copying to a GPU");
}

Status PerfGpu::CopyOut() {
  const sys::cuda::Driver& d = *driver_;
  TUTTI_RETURN_IF_ERROR(Wait());
  std::byte* hosts[] = {buffers_->first(), buffers_->second()};
  for (int i = 0; i < 2; ++i) {
    TUTTI_RETURN_IF_ERROR(Check(d, d.MemcpyDtoH(hosts[i], mirrors_[i], bytes_), "copying from a GPU"));
  }
  return Status::Ok();
}

Operation PerfGpu::Moved(const Operation& operation) const {
  const auto move = [&](const void* p) -> std::byte* {
    const std::byte* hosts[] = {buffers_->first(), buffers_->second()};
    for (int i = 0; i < 2; ++i) {
      if (p < hosts[i] || p > hosts[i] + bytes_) continue;
      return reinterpret_cast<std::byte*>(mirrors_[i]) + (static_cast<const std::byte*>(p) - hosts[i]);
    }
    return nullptr;
  };
  Operation moved = operation;
  moved.in = move(operation.in);
  moved.out = move(operation.out);
  return moved;
}

Status PerfGpu::Run(std::span<const Operation> operations) {
  if (operations.size() == 1) return communicator_->Run(Moved(operations[0]), stream_);
  std::vector<Operation> moved;
  for (const Operation& operation : operations) moved.push_back(Moved(operation));
  return communicator_->RunGroup(moved, stream_);
}

Status PerfGpu::Wait() {
  TUTTI_RETURN_IF_ERROR(Check(*driver_, driver_->StreamSynchronize(stream_), "waiting for a GPU"));
  return communicator_->Check();
}

std::string PerfGpu::Explain(const Operation& operation) { return communicator_->Explain(Moved(operation)); }

}  // namespace tutti::tools
