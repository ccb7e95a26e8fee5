// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_HOSTS_H_
#define TUTTI_COMM_GPU_HOSTS_H_

// What works on device memory where ranks are on several hosts, as the other parts of a GpuCommunicator see it
// (comm/gpu/several_hosts.h).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti {
struct Operation;
namespace trace {
class View;
}
}  // namespace tutti

namespace tutti::comm {

struct ProgramCalls;

// Threads: one at a time, except where it says otherwise. The GPU's context must be the thread's current one.
class GpuHosts {
 public:
  GpuHosts() = default;
  GpuHosts(const GpuHosts&) = delete;
  GpuHosts& operator=(const GpuHosts&) = delete;
  virtual ~GpuHosts() = default;

  // Enqueues operations that were called as one, which are `calls` of the program. After an error a part of them may be in the stream, so that
  // peers wait for the rest. REQUIRES: they are valid.
  virtual Status Run(std::span<const Operation> operations, const ProgramCalls& calls, sys::cuda::Stream stream) = 0;
  // The cost model's estimate for operations that are called as one, us. REQUIRES: they are valid.
  virtual Result<double> PredictUs(std::span<const Operation> operations) = 0;
  // How an operation goes.
  virtual std::string Explain(const Operation& operation) const = 0;
  // What has gone wrong, after a look at the peers.
  virtual Status Check() = 0;
  // What has gone wrong; kernels end then. Any thread.
  virtual Status EndIfBroken() = 0;
  // GpuFaults::NoteEvidence and CloseEvidence, of the communicators that operations run in. `whole`: the program's black box.
  virtual void NoteEvidence(const trace::View& whole) = 0;
  virtual void CloseEvidence() = 0;
  // The communicator is broken: lets streams go. Any thread.
  virtual void Release(const std::string& why) = 0;
  // Waits until all has ended that was enqueued; false where it has not after `timeout_ns`.
  virtual bool Drain(std::int64_t timeout_ns) = 0;
  // What it holds of device memory, and of pinned memory.
  virtual std::size_t device_bytes() const = 0;
  virtual std::size_t host_bytes() const = 0;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_HOSTS_H_
