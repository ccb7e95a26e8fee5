// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/across_kernel.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "exec/gpu/device/across.cuh"

namespace tutti::exec::gpu {

// Of a block of one thread; all streams may read them.
Index threadIdx, blockIdx, blockDim{1}, gridDim{1};

namespace host {
namespace {

template <typename T>
u64 LoadAs(const void* at) {
  return std::atomic_ref<T>(*static_cast<T*>(const_cast<void*>(at))).load(std::memory_order_acquire);
}
template <typename T>
void StoreAs(void* at, const void* data) {
  T value;
  std::memcpy(&value, data, sizeof(value));
  std::atomic_ref<T>(*static_cast<T*>(at)).store(value, std::memory_order_release);
}

}  // namespace

// Every access has an order of its own, so a fence has nothing to do: ThreadSanitizer knows no fences.
void Store(void* at, const void* data, u32 bytes) {
  if (bytes == 8) return StoreAs<std::uint64_t>(at, data);
  if (bytes == 4) return StoreAs<std::uint32_t>(at, data);
  StoreAs<std::uint8_t>(at, data);
}
u64 Load(const void* at, Order /*order*/, u32 bytes) {
  return bytes == 8 ? LoadAs<std::uint64_t>(at) : bytes == 4 ? LoadAs<std::uint32_t>(at) : LoadAs<std::uint8_t>(at);
}
void Fence() {}
void Barrier(u32 /*number*/, u32 /*threads*/) {}
void Pause(int /*what*/, int /*step*/, int /*peer*/) { std::this_thread::sleep_for(std::chrono::microseconds(5)); }
bool IsPlanted(Plant /*plant*/) { return false; }

}  // namespace host
}  // namespace tutti::exec::gpu

namespace tutti::tests {

const FakeKernel& AcrossKernel() {
  static const FakeKernel kernel{sizeof(exec::gpu::Across), [](const void* argument) {
                                   exec::gpu::RunAcross(*static_cast<const exec::gpu::Across*>(argument));
                                 }};
  return kernel;
}

}  // namespace tutti::tests
