// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/words.h"

#include <utility>

#include "exec/gpu/format/program.h"
#include "exec/gpu/launch/failures.h"
#include "sys/cuda/cuda_memory.h"
#include "transport/p2p/segment.h"

namespace tutti::comm {
namespace {

// Behind the kernels' words: what barriers use, what the trial uses, and copies of the counts of launches.
constexpr std::size_t kBarrierAt = exec::gpu::Failures::kSlots * sizeof(exec::gpu::HostWords),
                      kSeenAt = kBarrierAt + 64, kCountsAt = kBarrierAt + 128;
static_assert(kSeenAt + transport::p2p::kSeats * sizeof(std::uint32_t) <= kCountsAt);
constexpr std::size_t kBytes = kBarrierAt + 256;
constexpr std::size_t PlaceOfCounts(GpuWords::Asks asks) {
  return kCountsAt + static_cast<std::size_t>(asks) * sizeof(transport::p2p::LaunchCounts);
}
static_assert(kBytes <= sys::cuda::MappedHostMemory::kMostBytes);

}  // namespace

Result<GpuWords> GpuWords::Create(const sys::cuda::Driver* driver) {
  Result<sys::cuda::MappedHostMemory> page = sys::cuda::MappedHostMemory::Create(driver, kBytes);
  if (!page.ok()) return page.status();
  GpuWords words;
  words.page_ = std::make_shared<const sys::cuda::MappedHostMemory>(std::move(*page));
  return words;
}

std::byte* GpuWords::HostAt(std::size_t offset) const { return static_cast<std::byte*>(page_->host()) + offset; }
std::byte* GpuWords::DeviceAt(std::size_t offset) const { return static_cast<std::byte*>(page_->device()) + offset; }

exec::gpu::HostWords* GpuWords::host() const {
  return page_ == nullptr ? nullptr : static_cast<exec::gpu::HostWords*>(page_->host());
}
exec::gpu::HostWords* GpuWords::device() const {
  return page_ == nullptr ? nullptr : static_cast<exec::gpu::HostWords*>(page_->device());
}

std::byte* GpuWords::barrier_bytes() const { return DeviceAt(kBarrierAt); }

volatile std::uint32_t* GpuWords::seen_here() const {
  return reinterpret_cast<volatile std::uint32_t*>(HostAt(kSeenAt));
}
std::uint32_t* GpuWords::seen_on_gpu() const { return reinterpret_cast<std::uint32_t*>(DeviceAt(kSeenAt)); }

const transport::p2p::LaunchCounts* GpuWords::counts(Asks asks) const {
  return reinterpret_cast<const transport::p2p::LaunchCounts*>(HostAt(PlaceOfCounts(asks)));
}
sys::cuda::Address GpuWords::counts_on_gpu(Asks asks) const {
  return reinterpret_cast<sys::cuda::Address>(DeviceAt(PlaceOfCounts(asks)));
}

}  // namespace tutti::comm
