// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_EXECUTOR_H_
#define TUTTI_EXEC_GPU_LAUNCH_EXECUTOR_H_

// Takes a plan and buffers, gives a launch, and starts it.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exec/gpu/format/relay.h"
#include "exec/gpu/format/transfer.h"
#include "exec/gpu/launch/batch.h"
#include "exec/gpu/launch/failures.h"
#include "exec/gpu/launch/launcher.h"
#include "exec/gpu/launch/overlap_limit.h"
#include "exec/gpu/launch/side_streams.h"
#include "exec/gpu/lower/compile.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti::exec::gpu {

// A communicator's launches on one GPU. A launch refers to arguments that the executor keeps: those of a form are its own until
// the next one of that form is compiled. Threads: one at a time. The GPU's context must be the thread's current one.
class Executor {
 public:
  explicit Executor(const sys::cuda::Driver* driver)
      : launcher_(driver), sides_(std::make_unique<SideStreams>(driver)) {}

  struct Setup {
    transport::p2p::Layout layout;
    std::span<std::byte* const> segments;  // every rank's, as this rank reaches it
    // How far the positions of collectives, and those of sends and receives, lie from where the layout has them.
    std::uint64_t state_shift = 0, transfer_state_shift = 0;
    HostWords* host_words = nullptr;  // Failures::kSlots, as the host and as the GPU see them
    HostWords* device_words = nullptr;
    std::uint64_t timeout_ns = 0;
    GroupLimits limits;
  };
  void SetUp(int rank, const Setup& setup);

  // Compile a plan for some data, in one form each.
  Result<Launch> CompileSteps(const PreparedPlan& plan, const Work& work, const Shape& shape);
  // What plan::Forms::ForTeams allows: as a relay, or as sends and receives.
  Result<Launch> CompileTeams(const PreparedPlan& plan, const Work& work);
  // A group of sends and receives of the program's own.
  Result<Launch> CompileTransfers(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives);
  // Several that follow one plan: how they are cut, then all of it. REQUIRES: as CompileItems.
  BatchCut CutBatch(const PreparedPlan& plan, std::span<const Work> works, const Shape& shape);
  Result<Launch> CompileBatch(const PreparedPlan& plan, std::span<const Work> works, const Shape& shape,
                              const BatchCut& cut);

  // Give the last of CompileSteps, and the last of CompileTransfers, other buffers. False where that needs more.
  bool ChangeBuffers(const void* in, void* out) { return gpu::ChangeBuffers(in, out, program_); }
  bool ChangeBuffers(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives) {
    return group_is_transfers_ && gpu::ChangeBuffers(sends, receives, group_);
  }
  // Puts a launch into a stream. `alone`: no other communicator is on the GPU. May be captured.
  Status Start(const Launch& launch, sys::cuda::Stream stream, bool captured, bool alone);

  Launcher& launcher() { return launcher_; }
  OverlapLimit& overlap_limit() { return overlap_limit_; }
  Failures& failures() { return failures_; }
  // Streams beside the callers'. To be destroyed with the GPU's context as the current one, when nothing is pending.
  std::unique_ptr<SideStreams>& sides() { return sides_; }

  std::uint64_t blocks_launched() const { return blocks_launched_; }
  std::uint64_t kernels_launched() const { return kernels_launched_; }
  // What LaunchCounts::ended will come to.
  std::uint64_t ends_to_count() const { return ends_to_count_; }

 private:
  Result<Launch> CompileRelayOf(const PreparedPlan& plan, const Work& work);
  // plan: null for a group of the program's own.
  Result<Launch> CompileGroupOf(const PreparedPlan* plan, int lanes, std::span<const TransferRequest> sends,
                                std::span<const TransferRequest> receives);

  Launcher launcher_;
  OverlapLimit overlap_limit_;  // of launches that are not captured
  Failures failures_;
  std::unique_ptr<SideStreams> sides_;
  int rank_ = 0;
  transport::p2p::Layout layout_;
  GroupLimits limits_;
  std::uint64_t state_shift_ = 0, transfer_state_shift_ = 0, counts_ = 0;

  // What is being enqueued; segments stay.
  Program program_{};
  Batch batch_{};
  Group group_{};
  Relay relay_{};
  // What program_.host is for.
  struct Ways {
    const PreparedPlan* plan = nullptr;
    bool is_short = false, one_round = false;
    bool operator==(const Ways&) const = default;
  };
  Ways last_ways_;
  bool group_is_transfers_ = false;                // the last group was the program's own
  OwnCopies own_copies_;                           // of the last group
  std::vector<TransferRequest> sends_, receives_;  // of the last plan of moves

  std::uint64_t blocks_launched_ = 0, kernels_launched_ = 0, ends_to_count_ = 0;
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_EXECUTOR_H_
