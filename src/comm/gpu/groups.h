// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_GROUPS_H_
#define TUTTI_COMM_GPU_GROUPS_H_

#include <span>
#include <vector>

#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti {
struct Operation;
namespace tune {
struct GpuChoice;
}
}  // namespace tutti

namespace tutti::comm {

struct GpuRecipe;
class GpuPlanner;
class GpuRunner;
class GpuSubmitter;
class GpuWindows;

// Groups of operations: all sends and receives are one launch, and so are collectives that are alike. Ranks' launches agree,
// because what is merged and how it is cut follows from the calls' collectives, types, operators, roots and counts.
//
// Threads: one at a time. The GPU's context must be the thread's current one for what enqueues.
class GpuGroups {
 public:
  GpuGroups(GpuPlanner& planner, GpuSubmitter& submitter, GpuWindows& windows, GpuRunner& runner)
      : planner_(planner), submitter_(submitter), windows_(windows), runner_(runner) {}

  Status Run(std::span<const Operation> operations, sys::cuda::Stream stream);
  // REQUIRES: GpuRunner::Validate found no fault with them.
  Status RunValid(std::span<const Operation> operations, sys::cuda::Stream stream);
  // GpuRunner::Prepare for a group.
  Status Prepare(std::span<const Operation> operations);
  // Runs operations that are alike in one launch in a given way, for tests and measurements (run_as.cc). Ranks must choose alike.
  Status RunAs(std::span<const Operation> operations, const tune::GpuChoice& choice, sys::cuda::Stream stream);
  // The cost model's estimate for the collectives of a group, us.
  Result<double> PredictCollectivesUs(std::span<const Operation> operations);
  // The same for all of it.
  Result<double> PredictUs(std::span<const Operation> operations);

 private:
  bool CanBeMerged(const Operation& operation);
  template <typename F>
  Status ForEachKind(std::span<const Operation> operations, F run);
  Status RunAlike(std::span<const Operation* const> alike, sys::cuda::Stream stream);
  Status PrepareAlike(std::span<const Operation* const> alike);

  GpuPlanner& planner_;
  GpuSubmitter& submitter_;
  GpuWindows& windows_;
  GpuRunner& runner_;
  // Which operations of a group have been looked at, and those that are alike.
  std::vector<char> seen_;
  std::vector<const Operation*> alike_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_GROUPS_H_
