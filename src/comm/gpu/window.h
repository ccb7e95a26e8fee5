// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_WINDOW_H_
#define TUTTI_COMM_GPU_WINDOW_H_

// The windows of a communicator, and the operations that copy engines do in them.
//
// Every rank decides by itself whether copy engines do an operation, and all decide alike: they do it where its output
// lies in a symmetric window, which by NCCL's rule has the same place in the window on every rank, and where the cost
// model says that it pays, or the zero-CTA policy asks for it. Gathers and scatters are done so under that policy only: a
// program need not pass the output on every rank, and has to under the policy.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/gpu/one_sided.h"
#include "comm/host/impl.h"
#include "comm/host/size_class.h"
#include "exec/gpu/launch/copy_runner.h"
#include "sys/cuda/cuda.h"
#include "sys/cuda/cuda_memory.h"
#include "transport/p2p/window.h"
#include "tutti/gpu.h"

namespace tutti::comm {

class GpuWindows {
 public:
  using Symmetry = WindowSymmetry;
  using Put = WindowPut;

  explicit GpuWindows(GpuCommunicator::Impl& gpu) : gpu_(gpu) {}
  GpuWindows(const GpuWindows&) = delete;
  GpuWindows& operator=(const GpuWindows&) = delete;
  // REQUIRES: the GPU's context is the thread's current one, and nothing of the runner's is pending.
  ~GpuWindows();

  // Collective. Makes a window of a buffer of this rank's and one of every other rank. Null, on all ranks, where a rank's
  // buffer can not be reached by all others: the log says why (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=REG). The GPU's context
  // must be the thread's current one, here and in the next two.
  Result<const transport::p2p::Window*> Register(const void* buffer, std::size_t bytes, Symmetry symmetry);
  // Of this rank alone. False where there is no such window. REQUIRES: operations on it have ended here.
  bool Deregister(const void* window);
  // Whether copy engines are to do an operation, which is valid and moves something.
  bool Takes(const Operation& operation);
  // Whether it is an all_reduce whose second shot (exec::gpu::ShotsOf) they are to do.
  bool TakesSecondShot(const Operation& operation);
  // REQUIRES: Takes, or the second shot of what TakesSecondShot.
  Status Run(const Operation& operation, sys::cuda::Stream stream, bool captured);

  // One-sided: see exec::gpu::CopyRunner. kInvalidArgument for a rank, place or count that does not exist; kUnsupported
  // where no window has been registered, where copy engines can not be used, and in a capture.
  Status RunPut(const Put& put, sys::cuda::Stream stream, bool captured);
  Status AwaitSignals(std::span<const exec::gpu::CopyRunner::Awaited> awaited, sys::cuda::Stream stream, bool captured);

  bool empty() const { return windows_.empty(); }
  // The window of a handle; null where there is none.
  const transport::p2p::Window* Find(const void* handle) const;

  // The rest: any thread.
  bool Pending() const;
  // Ends what waits for peers; REQUIRES: the communicator is broken.
  void Release();
  // Waits, but not for ever, until no peer writes to this rank's memory any more. REQUIRES: as above.
  void AwaitPeers() const;
  // What an operation has waited for too long, if one has.
  Status Overdue();

 private:
  Status Exchange(transport::p2p::Window& window);
  Status DecideOnCopies();
  Status MakeRunner();
  Status SharePages(const sys::Fd& own);
  Status TryRunner();
  Status CanSignal(int peer, bool captured) const;
  bool Pays(const Operation& operation);
  // Whether copy engines can write an operation's output, and are to.
  bool CanWrite(const Operation& operation);
  // The plan by which copy engines do an operation; null: they can not.
  const exec::gpu::PreparedPlan* PlanOf(const Operation& operation);
  double PredictCopiesUs(Collective collective, std::size_t bytes);
  const transport::p2p::Window* Holding(const Operation& operation) const;

  GpuCommunicator::Impl& gpu_;
  std::vector<std::unique_ptr<transport::p2p::Window>> windows_;
  std::vector<sys::cuda::SharedHostMemory> pages_;  // of all ranks: transport::p2p::CopyWords
  std::unique_ptr<exec::gpu::CopyRunner> owner_;
  std::atomic<exec::gpu::CopyRunner*> runner_{nullptr};  // owner_'s, once it is complete
  bool tried_ = false;                                   // whether there is to be a runner has been decided
  bool zero_ctas_ = false;                               // all ranks ask for it
  std::array<std::vector<const exec::gpu::PreparedPlan*>, kCollectives> plans_;  // PlanOf, by root
  // By collective and size class: whether it pays; 0: not known.
  enum : std::uint8_t { kUnknown, kYes, kNo };
  std::array<std::array<std::uint8_t, kSizeClasses>, kCollectives> pays_{};
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_WINDOW_H_
