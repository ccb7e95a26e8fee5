// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_WINDOW_H_
#define TUTTI_COMM_GPU_WINDOW_H_

// The windows of a communicator, and the operations that copy engines do in them.
//
// Every rank decides by itself whether copy engines do an operation, and all decide alike: they do it where its output
// lies in a symmetric window, which by NCCL's rule has the same place in the window on every rank, and where the cost
// model says that it pays, or the zero-CTA policy asks for it. Where a rank can not tell from its own output where others lie, as in
// gathers and scatters (plan::Forms::outputs_alike), they do it under that policy only: a program need not pass the output on every
// rank, and has to under the policy.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "comm/gpu/one_sided.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti {
struct Operation;
namespace exec::gpu {
struct PreparedPlan;
}
namespace transport::p2p {
class Window;
}
}  // namespace tutti

namespace tutti::comm {

class GpuCopies;
struct GpuCore;
class GpuExchange;
class GpuPlanner;

class GpuWindows {
 public:
  using Symmetry = WindowSymmetry;
  using Put = WindowPut;

  GpuWindows(GpuCore& core, GpuExchange& exchange, GpuPlanner& planner, GpuCopies& copies);
  GpuWindows(const GpuWindows&) = delete;
  GpuWindows& operator=(const GpuWindows&) = delete;
  // REQUIRES: the GPU's context is the thread's current one.
  ~GpuWindows();

  // Collective. Makes a window of a buffer of this rank's and one of every other rank. Null, on all ranks, where a rank's
  // buffer can not be reached by all others: the log says why (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=REG). The GPU's context
  // must be the thread's current one, here and in the next two.
  Result<const transport::p2p::Window*> Register(const void* buffer, std::size_t bytes, Symmetry symmetry);
  // Of this rank alone. False where there is no such window. REQUIRES: operations on it have ended here.
  bool Deregister(const void* window);
  // The plan of which copy engines are to do what they can (plan::Forms::copies) in an operation, which is valid and moves
  // something; null: they have no part in it.
  const exec::gpu::PreparedPlan* FindCopies(const Operation& operation);
  // Where every rank's output begins, as this rank reaches it; until it is asked for again. REQUIRES: FindCopies found the plan.
  std::span<std::byte* const> OutputsOf(const exec::gpu::PreparedPlan& plan, const Operation& operation);

  // One-sided. kInvalidArgument for a rank, place or count that does not exist; kUnsupported
  // where no window has been registered, where copy engines can not be used, and in a capture.
  Status RunPut(const Put& put, sys::cuda::Stream stream, bool captured);
  Status AwaitSignals(std::span<const AwaitedSignals> awaited, sys::cuda::Stream stream, bool captured);

  bool empty() const { return windows_.empty(); }
  // The window of a handle; null where there is none.
  const transport::p2p::Window* Find(const void* handle) const;
  // This rank's buffer that it was made of; null where there is none.
  void* OwnBufferOf(const void* handle) const;

 private:
  Status Exchange(transport::p2p::Window& window);
  Status CanSignal(int peer, bool captured) const;
  bool Pays(const exec::gpu::PreparedPlan& plan, const Operation& operation);
  const transport::p2p::Window* Holding(const exec::gpu::PreparedPlan& plan, const Operation& operation) const;

  std::vector<std::unique_ptr<transport::p2p::Window>> windows_;
  std::vector<std::byte*> outputs_;  // OutputsOf
  GpuCore& core_;
  GpuExchange& exchange_;
  GpuPlanner& planner_;
  GpuCopies& copies_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_WINDOW_H_
