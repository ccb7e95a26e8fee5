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
// captured in a graph. For a small operation, which is one piece, one kernel does all that the stream has to do
// (exec/gpu/format/across.h). docs/decisions/0017-gpu-memory-between-hosts.md says why it is so.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/gpu/host_runner.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti::exec::gpu {
struct Across;
}

namespace tutti::comm {

// Threads: one at a time, except Release. The GPU's context must be the thread's current one.
class GpuAcrossHosts {
 public:
  // Puts the kernel for small operations into a stream.
  using StartKernel = std::function<Status(const exec::gpu::Across&, sys::cuda::Stream)>;
  // The kernel, loaded into the thread's current context. None where this build has no kernels for the GPU, which is logged. `who`:
  // the rank, in the log.
  static StartKernel FindKernel(const sys::cuda::Driver* driver, const std::string& who);

  struct Options {
    const sys::cuda::Driver* driver = nullptr;
    sys::cuda::Device device = 0;
    sys::cuda::Context context = nullptr;
    std::int64_t spin_ns = 0;                   // how long the thread polls before it gives the core away
    std::function<void(const Status&)> broken;  // called by the thread when an operation has failed
    StartKernel start_kernel;                   // none: small operations go as large ones do
  };
  // Among whom an operation takes place: all ranks, or those of this rank's rail (comm/gpu/host_stages.h).
  enum Over : std::uint8_t { kAll, kRail };

  // `communicators`: its own, for all ranks and, if there are rails, for this rank's.
  static Result<std::unique_ptr<GpuAcrossHosts>> Create(const Options& options,
                                                        std::vector<RunnerCommunicator> communicators);
  // REQUIRES: Drain or Release was called.
  ~GpuAcrossHosts();
  GpuAcrossHosts(const GpuAcrossHosts&) = delete;
  GpuAcrossHosts& operator=(const GpuAcrossHosts&) = delete;

  // Enqueues operations that were called as one. After an error a part of them may be in the stream, so that peers wait for the
  // rest. `calls`: of the program, what they belong to. REQUIRES: they are valid, with the ranks' numbers in the communicator that it goes
  // over.
  Status Run(Over over, std::span<const Operation> operations, const ProgramCalls& calls, sys::cuda::Stream stream);
  // HostRunner::NoteCalls.
  void NoteCalls(const trace::View& whole);
  // Waits until all has ended that was enqueued, captured calls apart; false where it has not after `timeout_ns`.
  bool Drain(std::int64_t timeout_ns);
  // The communicator is broken: lets streams go. Any thread.
  void Release(const std::string& why);
  // Pinned memory that it holds.
  std::size_t host_bytes() const;
  // How many operations went by a kernel.
  std::uint64_t kernels_started() const;

 private:
  struct Inside;
  explicit GpuAcrossHosts(std::unique_ptr<Inside> inside);
  const std::unique_ptr<Inside> inside_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_ACROSS_HOSTS_H_
