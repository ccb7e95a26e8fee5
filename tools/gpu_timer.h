// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_GPU_TIMER_H_
#define TUTTI_TOOLS_GPU_TIMER_H_

#include <cstddef>
#include <functional>

#include "sys/cuda/cuda.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::tools {

// One GPU's side of a measurement: batches of operations back to back, in one CUDA graph or in stream launches, between two
// events. REQUIRES: the GPU's context is the thread's current one; communicator and driver outlive the timer.
class GpuTimer {
 public:
  using Enqueue = std::function<Status(sys::cuda::Stream)>;

  GpuTimer(Communicator& communicator, const sys::cuda::Driver& driver);
  ~GpuTimer();
  GpuTimer(const GpuTimer&) = delete;
  GpuTimer& operator=(const GpuTimer&) = delete;

  sys::cuda::Stream stream() const { return stream_; }

  struct Batch {
    Enqueue enqueue;
    int operations = 1;
    sys::cuda::GraphExec graph = nullptr;
  };
  // Prepares a batch, in graph mode by a capture, and runs its operation twice to warm up.
  Result<Batch> Prepare(Enqueue enqueue, int operations, bool graph);
  void Forget(Batch& batch);

  // Microseconds per operation, of the slowest rank.
  struct Timing {
    double us = 0;
    double call_us = 0;  // the CPU's time in stream mode
  };
  // Collective.
  Result<Timing> Time(const Batch& batch);

 private:
  Communicator& communicator_;
  const sys::cuda::Driver& d_;
  sys::cuda::Stream stream_ = nullptr;
  sys::cuda::Event begin_ = nullptr, end_ = nullptr;
};

// How many operations of a size a batch has.
int OperationsFor(std::size_t bytes);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_GPU_TIMER_H_
