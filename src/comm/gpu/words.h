// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_WORDS_H_
#define TUTTI_COMM_GPU_WORDS_H_

// The host memory that a communicator's kernels and its host both see.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti {
namespace exec::gpu {
struct HostWords;
}
namespace sys::cuda {
class MappedHostMemory;
}
namespace transport::p2p {
struct LaunchCounts;
}
}  // namespace tutti

namespace tutti::comm {

class GpuWords {
 public:
  static Result<GpuWords> Create(const sys::cuda::Driver* driver);
  GpuWords() = default;  // none: host() is null

  // What kernels say of themselves, exec::gpu::Failures::kSlots of them, as the host and as the GPU see them.
  exec::gpu::HostWords* host() const;
  exec::gpu::HostWords* device() const;
  // Two bytes that kernels of barriers may use, as the GPU sees them.
  std::byte* barrier_bytes() const;
  // A word for each rank that the trial of all pairs uses, as the host and as the GPU see them.
  volatile std::uint32_t* seen_here() const;
  std::uint32_t* seen_on_gpu() const;
  // Copies of the counts of launches, as the host sees them, and where the GPU is to write them: one for who waits for kernels to end, one
  // for who asks which have begun.
  enum class Asks : std::uint8_t { kWhatHasEnded, kWhatHasBegun };
  const transport::p2p::LaunchCounts* counts(Asks asks) const;
  sys::cuda::Address counts_on_gpu(Asks asks) const;

 private:
  std::byte* HostAt(std::size_t offset) const;
  std::byte* DeviceAt(std::size_t offset) const;

  std::shared_ptr<const sys::cuda::MappedHostMemory> page_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_WORDS_H_
