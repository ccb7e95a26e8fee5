// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_WITHIN_HOST_H_
#define TUTTI_COMM_GPU_WITHIN_HOST_H_

// The ranks of one host, of a communicator whose ranks are on several: they exchange from GPU to GPU.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sys/cuda/cuda.h"
#include "tutti/gpu.h"

namespace tutti::trace {
class View;
}
namespace tutti::comm {

class EnqueuedCalls;
struct ProgramCalls;

// Threads: one at a time, except where it says otherwise. The GPU's context must be the thread's current one.
class GpuWithinHost {
 public:
  ~GpuWithinHost();

  // Collective over the ranks of this host. `communicator`: its own; `in_parent`: its ranks in the one of several hosts, which is
  // how statuses count.
  static Result<std::unique_ptr<GpuWithinHost>> Create(Communicator communicator, std::vector<int> in_parent,
                                                       const GpuOptions& options);

  // Enqueues operations as one, for `calls` of the program. Roots and peers are ranks of this communicator.
  Status Run(std::span<const Operation> operations, const ProgramCalls& calls, sys::cuda::Stream stream);
  // The cost model's estimate for operations as one, us.
  Result<double> PredictUs(std::span<const Operation> operations);
  // What has gone wrong, after a look at the peers, at most ten times a second.
  Status Check();
  // What has gone wrong; kernels end then. Any thread.
  Status EndIfBroken();
  // GpuFaults::NoteEvidence and CloseEvidence. `whole`: the program's black box. Any thread, one at a time.
  void NoteEvidence(const trace::View& whole);
  void CloseEvidence();
  // Ends the kernels, and breaks it for all. Any thread.
  void Abort(const std::string& why);
  // Waits for this rank's kernels; false where they do not end.
  bool Drain();
  std::size_t device_bytes() const;

 private:
  GpuWithinHost(Communicator communicator, std::vector<int> in_parent);
  Status InParent(const Status& status) const;

  Communicator communicator_;
  const std::vector<int> in_parent_;
  std::optional<GpuCommunicator> gpu_;  // over communicator_
  const std::unique_ptr<EnqueuedCalls> enqueued_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_WITHIN_HOST_H_
