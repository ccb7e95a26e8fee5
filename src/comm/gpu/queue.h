// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_QUEUE_H_
#define TUTTI_COMM_GPU_QUEUE_H_

// The GPU beside a Queue: operations on device pointers, each in a stream of the caller's.
//
// Nothing here waits for the GPU, and a call that stays on one stream costs a launch and no more. Operations take place
// in the order of their calls, whatever their streams: where a call changes the stream, an event orders the two.
//
// What goes wrong while kernels run is found by a thread of the process (watch.h) that looks ten times a second, so it
// ends kernels that wait for a dead peer although the program's threads are all blocked on streams.
//
// Threads: any of these functions may be called by any thread, except Takes and OnDevice: one at a time, as the
// communicator. A lock, one atomic exchange where nobody else holds it, guards the calls that enqueue.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "comm/gpu/addresses.h"
#include "comm/gpu/one_sided.h"
#include "comm/host/engine_lock.h"
#include "sys/cuda/cuda.h"
#include "tutti/gpu.h"

namespace tutti::transport::p2p {
class Window;
}

namespace tutti::comm {

class GpuRunner;
class Queue;

class GpuQueue {
 public:
  struct Options {
    int device = 0;  // CUDA ordinal in this process
    // Of one operation. 0: as the cost model says, beside others no more than a third of a GPU
    // (docs/decisions/0012-part-of-a-gpu.md). The smallest of all ranks holds.
    int max_blocks = 0;
    bool zero_blocks = false;    // none where copy engines can do it; where all ranks ask for that
    int shared_blocks = 0;       // of the communicator that it is split off from
    bool beside_others = false;  // other communicators are on the GPU, as some rank sees it
  };

  struct Call {
    Operation operation;
    sys::cuda::Stream stream = nullptr;
  };

  // A communicator's side that works on device memory. No queue where some rank has no GPU, or has none for this: no driver, a
  // build without kernels, TUTTI_GPU=0, more ranks than kernels have room for; and then what a process says that has one.
  struct Side {
    std::unique_ptr<GpuQueue> queue;
    std::unique_ptr<HostOnly> host_only;
  };
  // Collective over the ranks of `host`, which must outlive it.
  static Result<Side> Create(const std::shared_ptr<Queue>& host, const Options& options);
  GpuQueue(const GpuQueue&) = delete;
  GpuQueue& operator=(const GpuQueue&) = delete;
  // REQUIRES: Close or Abandon was called.
  ~GpuQueue();

  // Whether an operation's buffers lie where the GPU is to work on them: device memory, or pinned pages of the host.
  bool Takes(const Operation& operation) { return addresses_.HasBuffersOf(operation, rank_); }
  // Whether what comes into a stream is captured in a graph.
  bool Captures(sys::cuda::Stream stream) const;
  // Whether a value lies in device memory.
  bool OnDevice(const void* address) { return addresses_.Has(address); }

  // What Post would say against an operation.
  Status Check(const Operation& operation);
  // Makes the plans and launches nothing. Before launches on several communicators of one thread: what can go wrong with one
  // is then known before others have begun.
  Status Prepare(std::span<const Call> calls);
  // Enqueues an operation.
  Status Post(const Operation& operation, sys::cuda::Stream stream);
  // The same for several as one. REQUIRES: Check found no fault with them. It takes place after what all their streams hold, and they go on after it.
  Status Submit(std::span<const Call> calls);

  // Collective: makes a window of a buffer (comm/gpu/window.h); null where that can not be had.
  Result<const transport::p2p::Window*> RegisterWindow(const void* buffer, std::size_t bytes, WindowSymmetry symmetry);
  // Waits for this rank's operations, then gives a window back; kInvalidArgument where there is none of that handle.
  Status DeregisterWindow(const void* window);
  // One-sided operations (comm/gpu/window.h), in the order of the other operations.
  Status Put(const WindowPut& put, sys::cuda::Stream stream);
  Status AwaitSignals(std::span<const AwaitedSignals> awaited, sys::cuda::Stream stream);
  // Whether the GPUs of all ranks reach each other's memory.
  bool reaches_peers() const { return reaches_peers_; }
  // The buffer of this rank's that a window was made of; null where there is none of that handle.
  void* OwnBufferOf(const void* window);

  // The cost model's estimate for operations that run as one, us.
  Result<double> PredictUs(std::span<const Call> calls);

  // What has gone wrong so far, if anything; ends the kernels then. Looks at the peers at most ten times a second, and
  // compares the ranks' calls once this rank has called nothing new between two looks.
  Status Look();

  // Waits for this communicator's kernels, or ends them where it is broken, and frees everything. Afterwards all calls
  // fail. Before the host queue's Close.
  void Close();
  // After a fork, in the child: forgets the communicator without a word to the driver.
  void Abandon();

  // Device memory that it holds, bytes.
  std::size_t device_bytes() const { return device_bytes_; }
  // Blocks that each rank may have at a time where ranks of this communicator, or of one that it comes from, share a GPU; 0: none
  // do. The parts of a split run at the same time, and so must fit the GPU together.
  int shared_blocks() const { return shared_blocks_; }

 private:
  GpuQueue(std::shared_ptr<Queue> host, GpuCommunicator gpu, int shared_blocks);
  Status Usable() const;
  Status Follow(sys::cuda::Stream stream);
  Status Link(sys::cuda::Stream before, sys::cuda::Stream after);

  const std::shared_ptr<Queue> host_;
  const int rank_;
  const sys::cuda::Driver& driver_;
  const std::size_t device_bytes_;
  const int shared_blocks_;
  const bool reaches_peers_;
  EngineLock lock_;
  struct Watch;  // lets the thread look
  const std::unique_ptr<Watch> watch_;
  std::mutex life_mutex_;               // keeps gpu_ alive during Look
  std::optional<GpuCommunicator> gpu_;  // none after Close; changes under both
  GpuRunner* runner_;                   // gpu_'s: found without a look into it

  // Guarded by lock_.
  sys::cuda::Event order_ = nullptr;  // made when it is first needed
  bool used_ = false;                 // last_ is the stream of an operation
  sys::cuda::Stream last_ = nullptr;
  std::vector<Operation> operations_;  // of the group that is being enqueued

  DeviceAddresses addresses_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_QUEUE_H_
