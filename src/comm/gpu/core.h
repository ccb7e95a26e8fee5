// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_CORE_H_
#define TUTTI_COMM_GPU_CORE_H_

// What all parts of a communicator's GPU side share: its GPU, what it reaches of the peers', and the host's side.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/gpu/presence.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti {
struct Operation;
struct Settings;
namespace transport::p2p {
class Fabric;
}
namespace tune::plugin {
class Tuner;
}
}  // namespace tutti

namespace tutti::comm {

struct Core;
class GpuHosts;
class ObservedLaunches;

struct GpuCore {
  GpuCore(Core& host, const sys::cuda::Driver* driver, int device);
  ~GpuCore();
  GpuCore(const GpuCore&) = delete;
  GpuCore& operator=(const GpuCore&) = delete;

  bool IsCaptured(sys::cuda::Stream stream) const {
    int capturing = 0;
    return driver->StreamIsCapturing(stream, &capturing) == 0 && capturing != 0;
  }

  // The communicator is broken: peers wait for what is missing.
  void Break(const Status& why);

  // How a launch does its operations, for who observes calls. algorithm, protocol: numbers of their enums; below 0: not known.
  struct LaunchedHow {
    int algorithm = -1, protocol = 0, channels = 1, threads = 0;
  };
  // Tells of operations and of `launch`, which puts them into the stream. REQUIRES: observed != nullptr.
  Status LaunchObserved(std::span<const Operation* const> operations, const LaunchedHow& how, sys::cuda::Stream stream,
                        bool captured, const std::function<Status()>& launch);
  // Tells of what has ended so far; and, the second, that the rest ends without a time. Nothing where nobody observes.
  void TellWhatHasEnded();
  void EndObserved();

  // What every call needs, side by side.
  const sys::cuda::Driver* const driver;
  sys::cuda::PrimaryContext context;
  GpuPresence presence;
  Core& host;
  // The host's.
  const int rank, ranks;
  const bool several_hosts;

  const std::string& who;
  const Settings& settings;
  const std::shared_ptr<tune::plugin::Tuner> tuner;
  const int device;                                // CUDA ordinal in this process
  bool zero_ctas = false;                          // this rank wants copy engines to do what they can
  std::shared_ptr<transport::p2p::Fabric> fabric;  // none where ranks are on several hosts
  std::unique_ptr<GpuHosts> hosts;                 // what works there instead
  std::unique_ptr<ObservedLaunches> observed;      // null where nobody is told of calls
  sys::cuda::Stream inner = nullptr;               // for copies of the communicator's own
  // What the host's graph says (graph.h): the ranks in the order of a ring, empty where that is their own order; and the most channels
  // of an operation, 0 where there is no such limit.
  std::vector<int> ring;
  int most_graph_channels = 0;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_CORE_H_
