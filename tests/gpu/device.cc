// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/device.h"
#include "comm/gpu/faults.h"

#include <fmt/format.h>

#include <utility>

namespace tutti::tests {

using sys::cuda::Check;

Result<Device> Device::Create(GpuCommunicator& communicator, std::size_t bytes) {
  Device device;
  GpuCommunicator::Impl& impl = *communicator.impl();
  device.communicator_ = &communicator;
  device.driver_ = impl.driver;
  device.bytes_ = bytes;
  const sys::cuda::Driver& d = *impl.driver;
  TUTTI_RETURN_IF_ERROR(Check(d, d.CtxSetCurrent(impl.context.get()), "the GPU's context"));
  TUTTI_RETURN_IF_ERROR(Check(d, d.StreamCreate(&device.stream_, sys::cuda::kNonBlocking), "a stream"));
  for (sys::cuda::Address& buffer : device.buffers_) {
    TUTTI_RETURN_IF_ERROR(Check(d, d.MemAlloc(&buffer, bytes), fmt::format("{} bytes of device memory", bytes)));
  }
  return device;
}

Device::Device(Device&& other) noexcept
    : communicator_(other.communicator_),
      driver_(std::exchange(other.driver_, nullptr)),
      stream_(other.stream_),
      buffers_{other.buffers_[0], other.buffers_[1]},
      bytes_(other.bytes_) {}

Device::~Device() {
  if (driver_ == nullptr) return;
  for (const sys::cuda::Address buffer : buffers_) {
    if (buffer != 0) driver_->MemFree(buffer);
  }
  if (stream_ != nullptr) driver_->StreamDestroy(stream_);
}

Status Device::Synchronize() {
  TUTTI_RETURN_IF_ERROR(Check(*driver_, driver_->StreamSynchronize(stream_), "waiting for a stream"));
  return communicator_->impl()->faults.FindGivenUp();
}

Status Device::Mirror(const Operation& o, std::span<std::byte> first, std::span<std::byte> second,
                      const Enqueue& enqueue) {
  const std::span<std::byte> storages[2] = {first, second};
  Operation moved = o;
  const auto move = [&](const void* p) -> std::byte* {
    for (int i = 0; i < 2; ++i) {
      const auto* begin = storages[i].data();
      if (p != nullptr && p >= begin && p <= begin + storages[i].size()) {
        return reinterpret_cast<std::byte*>(buffers_[i]) + (static_cast<const std::byte*>(p) - begin);
      }
    }
    return nullptr;
  };
  moved.in = move(o.in);
  moved.out = move(o.out);
  for (int i = 0; i < 2; ++i) {
    if (storages[i].size() > bytes_) return Status(Code::kInvalidArgument, "a case is larger than the test's buffers");
    TUTTI_RETURN_IF_ERROR(
        Check(*driver_, driver_->MemcpyHtoD(buffers_[i], storages[i].data(), storages[i].size()), "copying to a GPU"));
  }
  // A copy from pageable memory may return before its last piece has arrived; the stream does not wait for it.
  TUTTI_RETURN_IF_ERROR(Check(*driver_, driver_->StreamSynchronize(nullptr), "copying to a GPU"));
  TUTTI_RETURN_IF_ERROR(enqueue(moved));
  TUTTI_RETURN_IF_ERROR(Synchronize());
  for (int i = 0; i < 2; ++i) {
    TUTTI_RETURN_IF_ERROR(Check(*driver_, driver_->MemcpyDtoH(storages[i].data(), buffers_[i], storages[i].size()),
                                "copying from a GPU"));
  }
  return Status::Ok();
}

}  // namespace tutti::tests
