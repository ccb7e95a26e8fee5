// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_FAULTS_H_
#define TUTTI_COMM_GPU_FAULTS_H_

#include <cstdint>
#include <memory>

#include "tutti/status.h"

namespace tutti {
namespace exec::gpu {
class Failures;
}
}  // namespace tutti

namespace tutti::comm {

class Comparer;
struct Core;
class GpuCopies;
struct GpuCore;
class GpuEvidence;
class GpuWords;
class Waiter;

// Finds out what has gone wrong, and ends kernels that can not come to an end by themselves.
class GpuFaults {
 public:
  GpuFaults(GpuCore& core, exec::gpu::Failures& failures, GpuCopies& copies, Waiter& waiter, Comparer& comparer);
  ~GpuFaults();

  // What a kernel says of itself that has given up, once, or what is seen of copy engines that wait too long. Any thread.
  Status FindGivenUp();
  // What has broken the communicator, if anything; its kernels end then. Any thread.
  Status EndIfBroken();
  // The same after a look at the peers, at most ten times a second. One thread at a time, as the communicator.
  Status Check();
  // Ends this rank's kernels. Any thread.
  void EndKernels();
  // Whether that was done.
  bool ending() const;
  // Whether the communicator is broken. Any thread.
  bool broken() const;
  // Compares the calls of all ranks that the black box holds, once none was called between two looks. One at a time; not while
  // another thread uses the communicator.
  Status CompareWhenQuiet();
  // GpuEvidence::Note and Close.
  void NoteEvidence(const GpuWords& words);
  void CloseEvidence();

 private:
  GpuCore& core_;
  Core& host_;
  exec::gpu::Failures& failures_;
  GpuCopies& copies_;
  Waiter& waiter_;
  Comparer& comparer_;
  const std::unique_ptr<GpuEvidence> evidence_;
  std::uint64_t seen_calls_ = 0;  // of all ranks, by CompareWhenQuiet
  bool compared_ = true;          // those calls
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_FAULTS_H_
