// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_GPU_H_
#define TUTTI_GPU_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tutti/communicator.h"
#include "tutti/export.h"
#include "tutti/status.h"

namespace tutti {

struct GpuOptions {
  int device = 0;  // CUDA ordinal in this process
  // Most device memory that the communicator takes, bytes; twice as much with more than 16 ranks. The same on all ranks.
  std::int64_t scratch_bytes = std::int64_t{96} << 20;
  // Most and fewest blocks of one kernel, the same on all ranks. NCCL_MAX_NCHANNELS and NCCL_MIN_NCHANNELS, where they are
  // set, bind too. More than a GPU has multiprocessors are never used, fewer where an operation is too small to be cut.
  int max_channels = 128;
  int min_channels = 1;
  // At least so many ranks share each GPU, those of other communicators included: blocks leave room for all of them, as kernels that
  // wait for each other must. The same on all ranks.
  int ranks_per_gpu = 1;
  bool overlap_launches = true;  // small operations may be put on the GPU while the stream's kernel before them ends
  bool zero_ctas = false;        // where copy engines can do an operation, they do; counts where all ranks say so
  bool legacy_ipc = false;       // hand memory on by IPC handles, as where descriptors are forbidden
};

// Operations of a communicator's ranks on device memory, one GPU per rank (several ranks may share one). Needs NVIDIA's
// driver and a build with CUDA. GPUs write to each other's memory where all of them can (NVLink or PCIe peer access), else,
// or with NCCL_P2P_DISABLE=1, to host memory that they share. What leaves a host goes through host memory and
// over the network, by a thread of the library's: an operation is copies and waits in the caller's stream then.
//
// On one host every operation is one kernel launch in the caller's stream: no allocation, no wait on the host, and it may be
// captured in a CUDA graph and replayed. The first use of a kind of operation makes its plan, so call each once before
// timing; all kernels are loaded when the communicator is made, by one rank alone when it first uses them.
//
// Streams: operations of a communicator take place in the order of their calls; calls on different streams must be
// ordered by the caller (events), on every rank alike.
// Threads: one thread at a time, except Abort.
class TUTTI_EXPORT GpuCommunicator {
 public:
  // Collective over the ranks of `communicator`, which must outlive this object and stays usable for host memory.
  static Result<GpuCommunicator> Create(Communicator& communicator, const GpuOptions& options);

  GpuCommunicator(GpuCommunicator&&) noexcept;
  GpuCommunicator& operator=(GpuCommunicator&&) noexcept;
  // Waits for this rank's kernels, not for others that run on the GPU; ends them first where the communicator is broken.
  // What graphs hold must have come to its end if it was launched. Kernels that do not end within TUTTI_TIMEOUT_MS are
  // told to; where even that fails, the memory that they use is not given back.
  ~GpuCommunicator();

  // Enqueues an operation on device pointers. `stream`: a cudaStream_t, null for the default stream; the GPU's context
  // must be the thread's current one (cudaSetDevice). Buffers as in Operation, aligned to their elements. Returns when
  // enqueued; errors that show later come from Check.
  Status Run(const Operation& operation, void* stream);

  // Operations as one: all sends and receives in one kernel, in whatever order they are listed; collectives after them.
  // Sums, averages and moves that differ in nothing but buffers and counts share kernels too, so none may read what
  // another one of the group writes. All ranks list the same collectives in the same order. A send or receive outside a
  // group is a group of one.
  Status RunGroup(std::span<const Operation> operations, void* stream);

  // What went wrong in kernels so far: a wait that ended after TUTTI_TIMEOUT_MS, a peer that died or aborted. Looks at
  // peers at most ten times a second, and ends the kernels where they can not come to an end by themselves.
  Status Check();

  // Ends this rank's kernels within milliseconds and breaks the communicator for all. Any thread.
  void Abort(const std::string& reason);

  // What would be chosen for an operation: "two_shot LL128, 16 channels".
  std::string Explain(const Operation& operation);

  std::size_t device_bytes() const;  // that this communicator holds
  // Host memory that carries what the GPUs exchange, of this rank; 0 where they reach each other's memory.
  std::size_t host_bytes() const;

  struct TUTTI_HIDDEN Impl;  // defined in src/comm; public for the library's own tools and tests
  Impl* impl() const { return impl_.get(); }

 private:
  explicit GpuCommunicator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tutti

#endif  // TUTTI_GPU_H_
