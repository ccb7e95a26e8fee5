// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_SUBMITTER_H_
#define TUTTI_COMM_GPU_SUBMITTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti {
struct Operation;
namespace exec::gpu {
class Executor;
struct ExecutorSetup;
class Failures;
struct PreparedPlan;
struct Shape;
}  // namespace exec::gpu
}  // namespace tutti

namespace tutti::comm {

struct GpuCore;
class GpuPlanner;
struct GpuRecipe;
class Ledger;

// From calls to launches in streams: compiles them, writes them into the black box, and starts them. A call that differs from
// the one before it in its buffers at most costs no more than those. Nothing waits for the GPU.
//
// Threads: one at a time. The GPU's context must be the thread's current one.
class GpuSubmitter {
 public:
  GpuSubmitter(GpuCore& core, Ledger& ledger, GpuPlanner& planner);
  GpuSubmitter(const GpuSubmitter&) = delete;
  GpuSubmitter& operator=(const GpuSubmitter&) = delete;
  // REQUIRES: the GPU's context is the thread's current one, and nothing of the executor's is pending.
  ~GpuSubmitter();
  // `barrier_bytes`: two on the GPU that kernels of barriers may use. Before the first call of those that launch.
  void SetUp(const exec::gpu::ExecutorSetup& setup, std::byte* barrier_bytes);

  // Launches a collective that moves something, as the planner says.
  Status Run(const Operation& operation, sys::cuda::Stream stream);
  // One that moves nothing: it is only written down.
  Status RunEmpty(const Operation& operation, sys::cuda::Stream stream);
  // One of which copy engines do what they can of a plan. `first`: what a kernel does before, if anything (exec::gpu::FirstShot).
  // `outputs`: where every rank's output begins, as this rank reaches it. Breaks the communicator where it fails on the way: peers
  // wait for what is missing.
  Status RunCopies(const Operation& operation, const exec::gpu::PreparedPlan& plan, const Operation* first,
                   std::span<std::byte* const> outputs, sys::cuda::Stream stream);
  // The same in a given way.
  Status RunAs(const Operation& operation, const GpuRecipe& recipe, sys::cuda::Stream stream);
  // Launches the sends and receives among operations as one.
  Status RunTransfers(std::span<const Operation> operations, sys::cuda::Stream stream);
  // Launches operations that follow a recipe's plan as one, cut as `shape` says. Threads follow from the planner.
  Status RunBatch(std::span<const Operation* const> operations, const GpuRecipe& recipe, const exec::gpu::Shape& shape,
                  sys::cuda::Stream stream);

  exec::gpu::Executor& executor();
  // What kernels say of waits that they have given up.
  exec::gpu::Failures& failures();
  // Loads all kernels.
  Status LoadKernels();
  // transport::p2p::LaunchCounts::ended when all has ended that was launched so far.
  std::uint64_t ends_to_count() const;

 private:
  struct Inside;
  const std::unique_ptr<Inside> inside_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_SUBMITTER_H_
