// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_BY_HOSTS_H_
#define TUTTI_COMM_GPU_BY_HOSTS_H_

// Operations on device memory among hosts of several GPUs each. What ranks of one host exchange goes from GPU to GPU, the rest
// through host memory (comm/gpu/across_hosts.h): collectives in stages (comm/gpu/host_stages.h), sends and receives by who the peer
// is, both kinds at the same time. What is too small for that goes through host memory as it is.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "comm/gpu/host_stages.h"
#include "comm/gpu/program_calls.h"
#include "exec/gpu/launch/side_streams.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti::comm {

class GpuAcrossHosts;

// Threads: one at a time. The GPU's context must be the thread's current one.
class GpuByHosts {
 public:
  // Enqueues a group among the ranks of this host, which count by their places.
  using RunWithin = std::function<Status(std::span<const Operation>, const ProgramCalls&, sys::cuda::Stream)>;

  GpuByHosts(const sys::cuda::Driver* driver, const HostShape& shape, GpuAcrossHosts& across, RunWithin within);
  ~GpuByHosts();
  GpuByHosts(const GpuByHosts&) = delete;
  GpuByHosts& operator=(const GpuByHosts&) = delete;

  // Enqueues operations that were called as one, which are `calls` of the program: sends and receives, then collectives in their order.
  // REQUIRES: they are valid.
  Status Run(std::span<const Operation> operations, const ProgramCalls& calls, sys::cuda::Stream stream);
  // How it goes: "2 hosts: GPUs of a host, then through host memory".
  std::string Explain(const Operation& operation) const;
  std::size_t device_bytes() const;

 private:
  Status RunTransfers(const ProgramCalls& calls, sys::cuda::Stream stream);
  Status RunStages(const Operation& operation, const ProgramCalls& call, sys::cuda::Stream stream);
  Result<std::byte*> Scratch(std::size_t bytes);

  const sys::cuda::Driver& driver_;
  const HostShape shape_;
  GpuAcrossHosts& across_;
  const RunWithin within_;
  exec::gpu::SideStreams sides_;
  // Of the group that is being enqueued: transfers within the host, and what goes through host memory as it is.
  std::vector<Operation> near_, far_;
  // Device memory; streams may still use what was outgrown.
  struct Memory {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Memory> scratch_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_BY_HOSTS_H_
