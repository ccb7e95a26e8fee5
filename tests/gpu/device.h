// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_GPU_DEVICE_H_
#define TUTTI_TESTS_GPU_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/gpu/impl.h"
#include "tests/support/reference.h"

namespace tutti::tests {

// One rank's GPU in a test: its context made current, a stream, and device memory that mirrors host storage.
class Device {
 public:
  // Makes the GPU of a communicator the calling thread's, with two buffers of `bytes`.
  static Result<Device> Create(GpuCommunicator& communicator, std::size_t bytes);
  Device(Device&& other) noexcept;
  Device& operator=(Device&&) = delete;
  ~Device();

  sys::cuda::Stream stream() const { return stream_; }
  const sys::cuda::Driver& driver() const { return *driver_; }
  std::byte* first() const { return reinterpret_cast<std::byte*>(buffers_[0]); }
  std::byte* second() const { return reinterpret_cast<std::byte*>(buffers_[1]); }

  // Copies host storage to the device, runs `enqueue` on the operation with its pointers moved there, waits, and copies
  // everything back.
  using Enqueue = std::function<Status(const Operation& o)>;
  Status Mirror(const Operation& o, std::span<std::byte> first, std::span<std::byte> second, const Enqueue& enqueue);

  // Waits for the stream; then what the communicator says of its kernels.
  Status Synchronize();

 private:
  Device() = default;
  GpuCommunicator* communicator_ = nullptr;
  const sys::cuda::Driver* driver_ = nullptr;
  sys::cuda::Stream stream_ = nullptr;
  sys::cuda::Address buffers_[2] = {};
  std::size_t bytes_ = 0;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_GPU_DEVICE_H_
