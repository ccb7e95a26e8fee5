// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_RUNNER_H_
#define TUTTI_COMM_GPU_RUNNER_H_

#include <span>
#include <string>

#include "comm/gpu/core.h"
#include "comm/gpu/submitter.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti {
struct Operation;
namespace exec::gpu {
struct PreparedPlan;
}
namespace tune {
struct GpuChoice;
}
}  // namespace tutti

namespace tutti::comm {

struct Core;
class GpuPlanner;
class Ledger;
class GpuWindows;
struct ProgramCalls;

// Leads each call to kernels or to copy engines.
//
// Threads: one at a time. The GPU's context must be the thread's current one for what enqueues.
class GpuRunner {
 public:
  GpuRunner(GpuCore& core, Ledger& ledger, GpuPlanner& planner, GpuWindows& windows)
      : submitter_(core, ledger, planner),
        core_(core),
        host_(core.host),
        ledger_(ledger),
        planner_(planner),
        windows_(windows) {}

  Status Run(const Operation& operation, sys::cuda::Stream stream);
  // REQUIRES, of both: Validate found no fault with it; of the second: a collective.
  Status RunValid(const Operation& operation, sys::cuda::Stream stream);
  Status RunCollective(const Operation& operation, sys::cuda::Stream stream);
  // Whether operations go through host memory, since the ranks are on several hosts; then, several that were called as one.
  bool across_hosts() const;
  // REQUIRES: across_hosts(); Validate found no fault with them.
  Status RunAcrossHosts(std::span<const Operation> operations, sys::cuda::Stream stream);
  Status Validate(const Operation& operation);
  // What has broken the communicator, if anything. Any thread.
  Status FindBreak() const;
  // Makes the plan of an operation, or says why there is none, and enqueues nothing: of several operations that belong
  // together all are prepared before the first one is launched.
  Status Prepare(const Operation& operation);
  // Runs an operation in a given way, for tests and measurements (run_as.cc). Ranks must choose alike.
  Status RunAs(const Operation& operation, const tune::GpuChoice& choice, sys::cuda::Stream stream);
  // What would be chosen for an operation. REQUIRES: a valid one.
  std::string Explain(const Operation& operation);

  GpuSubmitter& submitter() { return submitter_; }
  int rank() const { return core_.rank; }
  int ranks() const { return core_.ranks; }

 private:
  // Of several hosts, where somebody is told of calls.
  Status RunObserved(std::span<const Operation> operations, const ProgramCalls& calls, sys::cuda::Stream stream);
  [[gnu::noinline]] Status ValidateOntoItself(const Operation& operation) const;
  Status RunCopies(const Operation& operation, const exec::gpu::PreparedPlan& plan, sys::cuda::Stream stream);

  GpuSubmitter submitter_;
  GpuCore& core_;
  Core& host_;
  Ledger& ledger_;
  GpuPlanner& planner_;
  GpuWindows& windows_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_RUNNER_H_
