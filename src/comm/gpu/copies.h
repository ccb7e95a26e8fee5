// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_COPIES_H_
#define TUTTI_COMM_GPU_COPIES_H_

// What copy engines do for a communicator: operations in windows, and one-sided ones.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti {
namespace exec::gpu {
class CopyRunner;
class Executor;
struct FailedWait;
class Failures;
}  // namespace exec::gpu
namespace sys {
class Fd;
namespace cuda {
class SharedHostMemory;
}
}  // namespace sys
}  // namespace tutti

namespace tutti::comm {

struct AwaitedSignals;
struct Core;
struct GpuCore;
class GpuExchange;

class GpuCopies {
 public:
  // `executor`: which starts operations in windows. `failures`: its.
  GpuCopies(GpuCore& core, GpuExchange& exchange, exec::gpu::Executor& executor, exec::gpu::Failures& failures);
  GpuCopies(const GpuCopies&) = delete;
  GpuCopies& operator=(const GpuCopies&) = delete;
  // REQUIRES: the GPU's context is the thread's current one, and nothing of this is pending.
  ~GpuCopies();

  // Collective, with the first window: whether copy engines are to be used at all. Ok where they are not.
  Status Decide();
  // Whether they are.
  bool can() const { return owner_ != nullptr; }
  // Whether all ranks want them wherever they can be.
  bool zero_ctas() const { return zero_ctas_; }

  // One-sided: see exec::gpu::CopyRunner. They break the communicator where they fail: peers wait for what is missing.
  // REQUIRES, of both: can().
  Status Put(int peer, const void* from, std::byte* to, std::size_t bytes, sys::cuda::Stream stream);
  Status AwaitSignals(std::span<const AwaitedSignals> awaited, sys::cuda::Stream stream);

  // The rest: any thread.
  // What has broken the communicator, if anything.
  Status FindBreak() const;
  bool Pending() const;
  // Ends what waits for peers; REQUIRES: the communicator is broken.
  void Release();
  // Waits, but not for ever, until no peer writes to this rank's memory any more. REQUIRES: as above.
  void AwaitPeers() const;
  // What an operation has waited for too long, if one has.
  std::optional<exec::gpu::FailedWait> Overdue();

 private:
  Status MakeRunner();
  Status SharePages(const sys::Fd& own);
  Status TryRunner();

  GpuCore& core_;
  Core& host_;
  GpuExchange& exchange_;
  exec::gpu::Executor& executor_;
  exec::gpu::Failures& failures_;
  std::vector<sys::cuda::SharedHostMemory> pages_;  // of all ranks: transport::p2p::CopyWords
  std::unique_ptr<exec::gpu::CopyRunner> owner_;
  std::atomic<exec::gpu::CopyRunner*> runner_{nullptr};  // owner_'s, once it is complete
  bool tried_ = false;                                   // whether there is to be a runner has been decided
  bool zero_ctas_ = false;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_COPIES_H_
