// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_SEVERAL_HOSTS_H_
#define TUTTI_COMM_GPU_SEVERAL_HOSTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/gpu/host_stages.h"
#include "comm/gpu/hosts.h"
#include "comm/gpu/runner_communicator.h"

namespace tutti::comm {

class GpuWithinHost;

// What connects a rank's GPU with those of other hosts, and, where hosts have several ranks each, with those of its own.
struct HostsOptions {
  const sys::cuda::Driver* driver = nullptr;
  sys::cuda::Device device = 0;
  sys::cuda::Context context = nullptr;
  std::string who;  // for the log
  // How long a thread polls before it gives the core away; none: as long as it is awake.
  std::optional<std::int64_t> spin_ns;
  std::function<void(const Status&)> broken;      // called by that thread when an operation has failed
  std::vector<RunnerCommunicator> communicators;  // for all ranks and, where there is `within`, for this rank's rail
  std::unique_ptr<GpuWithinHost> within;          // none: all goes through host memory
  HostShape shape;                                // where there is one
};
Result<std::unique_ptr<GpuHosts>> MakeGpuHosts(HostsOptions options);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_SEVERAL_HOSTS_H_
