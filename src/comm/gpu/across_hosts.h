// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_ACROSS_HOSTS_H_
#define TUTTI_COMM_GPU_ACROSS_HOSTS_H_

// Operations on device memory between ranks of several hosts. They run in host memory, piece by piece (host_pieces.h):
//
//   the stream   copies what a piece reads to pinned memory, says so, waits for a word, copies what was written back
//   a thread     waits for the stream's word, runs the piece over a communicator of its own, says so (host_runner.h)
//
// While one piece runs, the stream copies the next one there and the last one back. Calls return when all is enqueued; they may be
// captured in a graph. docs/decisions/0017-gpu-memory-between-hosts.md says why it is so.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/gpu/host_pieces.h"
#include "comm/gpu/host_runner.h"
#include "sys/cuda/cuda.h"
#include "sys/cuda/cuda_memory.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::comm {

// Threads: one at a time, except Release. The GPU's context must be the thread's current one.
class GpuAcrossHosts {
 public:
  struct Options {
    const sys::cuda::Driver* driver = nullptr;
    sys::cuda::Device device = 0;
    sys::cuda::Context context = nullptr;
    Communicator communicator;  // its own, over the same ranks
    std::int64_t spin_ns = 0;
    std::function<void(const Status&)> broken;  // called by the thread when an operation has failed
  };
  static Result<std::unique_ptr<GpuAcrossHosts>> Create(Options options);
  // REQUIRES: Drain or Release was called.
  ~GpuAcrossHosts();
  GpuAcrossHosts(const GpuAcrossHosts&) = delete;
  GpuAcrossHosts& operator=(const GpuAcrossHosts&) = delete;

  // Enqueues operations that were called as one. After an error a part of them may be in the stream, so that peers wait for the
  // rest. REQUIRES: they are valid.
  Status Run(std::span<const Operation> operations, sys::cuda::Stream stream, bool captured);
  // Waits until all has ended that was enqueued, captured calls apart; false where it has not after `timeout_ns`.
  bool Drain(std::int64_t timeout_ns);
  // The communicator is broken: lets streams go. Any thread.
  void Release(const std::string& why);
  // Pinned memory that it holds.
  std::size_t host_bytes() const;

 private:
  explicit GpuAcrossHosts(const Options& options);
  Status MakeRoom(std::span<const HostPiece> pieces);
  Status Grow(sys::cuda::SharedHostMemory& place, std::size_t bytes);
  Status Enqueue(std::span<const HostPiece> pieces, sys::cuda::Stream stream, bool captured);
  Status Begin(const HostPiece& piece, std::size_t place, const sys::cuda::MemoryOperation& ready,
               sys::cuda::Stream stream);
  Status End(const HostPiece& piece, std::size_t place, const sys::cuda::MemoryOperation& done,
             sys::cuda::Stream stream);
  Status Flush(sys::cuda::Stream stream);
  HostRunner::Placed Place(const HostPiece& piece, std::size_t place) const;
  sys::cuda::Address WordAt(std::size_t offset) const;

  // Where pieces lie in turn, so that one can be copied while another one runs.
  static constexpr std::size_t kPlaces = 2;

  const sys::cuda::Driver& driver_;
  const sys::cuda::Device device_;
  const sys::cuda::Context context_;
  const int rank_, ranks_;
  sys::cuda::MappedHostMemory words_;
  std::array<sys::cuda::SharedHostMemory, kPlaces> places_;
  std::vector<sys::cuda::SharedHostMemory> outgrown_;  // that streams may still use
  std::vector<sys::cuda::MemoryOperation> operations_;  // of the batch that is being made
  sys::cuda::Event ended_ = nullptr;                    // behind the last call; none before the first
  std::unique_ptr<HostRunner> runner_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_ACROSS_HOSTS_H_
