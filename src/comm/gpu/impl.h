// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_IMPL_H_
#define TUTTI_COMM_GPU_IMPL_H_

// The inside of a GpuCommunicator: what its parts share, and the parts, each in a file of its own. Its life is in open.cc,
// connect.cc, set_up.cc and end.cc.

#include <cstdint>
#include <memory>
#include <string>

#include "comm/gpu/core.h"
#include "comm/gpu/limits.h"
#include "comm/gpu/words.h"
#include "tutti/gpu.h"

namespace tutti {
namespace exec::gpu {
class Executor;
}
namespace transport::p2p {
enum class Memory;
}
namespace tune {
struct GpuMachine;
}

namespace comm {
class GpuCopies;
class GpuExchange;
class GpuFaults;
class GpuGroups;
struct GpuParts;
class GpuPlanner;
class GpuRunner;
class GpuSubmitter;
class GpuWindows;
class GpuWithinHost;
struct HostShape;
}  // namespace comm

struct GpuCommunicator::Impl : comm::GpuCore {
  Impl(Communicator& communicator, const GpuOptions& options, const sys::cuda::Driver* driver);
  ~Impl();

  // Collective: everything up to the first call.
  Status Connect();  // connect.cc
  Status Open();     // open.cc
  Status Load();
  Status ConnectSegments(transport::p2p::Memory memory);
  Status ConnectAcrossHosts();  // connect_across.cc, instead of the following
  Status ConnectWithinHost(const comm::HostShape& shape, const std::string& what, int ranks_per_gpu,
                           std::unique_ptr<comm::GpuWithinHost>& within);
  // What every operation needs to know of this GPU and of its neighbours.
  Status SetUp();  // set_up.cc

  // end.cc
  // Waits for this rank's kernels; ends them first where the communicator is broken, and where they have not ended within
  // TUTTI_TIMEOUT_MS. False where even that did not help.
  bool Drain();
  bool AwaitKernels(std::int64_t timeout_ns);
  bool DrainAcrossHosts();

  std::unique_ptr<comm::GpuParts> parts;
  // Of the parts, those that others need.
  comm::GpuExchange& exchange;
  comm::GpuPlanner& planner;
  comm::GpuSubmitter& submitter;
  comm::GpuCopies& copies;
  comm::GpuWindows& windows;
  comm::GpuRunner& runner;
  comm::GpuGroups& groups;
  comm::GpuFaults& faults;
  exec::gpu::Executor& executor;

  Communicator& communicator;
  const GpuOptions options;
  comm::GpuWords words;
  std::shared_ptr<const tune::GpuMachine> machine;  // the constants that choices go by
  comm::GpuLimits limits;
};

}  // namespace tutti

#endif  // TUTTI_COMM_GPU_IMPL_H_
