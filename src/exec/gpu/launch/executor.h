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
#include "exec/gpu/lower/rounds.h"
#include "sys/cuda/cuda.h"
#include "transport/p2p/sections.h"
#include "tutti/status.h"

namespace tutti::exec::gpu {

// A communicator's launches on one GPU. A launch refers to arguments that the executor keeps: those of a form are its own until
// the next one of that form is compiled. Threads: one at a time. The GPU's context must be the thread's current one.
class Executor {
 public:
  explicit Executor(const sys::cuda::Driver* driver)
      : launcher_(driver), sides_(std::make_unique<SideStreams>(driver)) {}

  struct Setup {
    transport::p2p::Sections sections;
    std::span<std::byte* const> segments;                      // every rank's, as this rank reaches it
    std::span<const transport::p2p::StateShift> state_shifts;  // by section
    HostWords* host_words = nullptr;                           // Failures::kSlots, as the host and as the GPU see them
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

  // Give the last of CompileSteps, and the last of CompileTransfers, other buffers. False where that needs more, as for rounds.
  bool ChangeBuffers(const void* in, void* out) {
    return gpu::ChangeBuffers(in, out, static_cast<int>(segments_.size()), program_);
  }
  bool ChangeBuffers(std::span<const TransferRequest> sends, std::span<const TransferRequest> receives) {
    return group_is_transfers_ && gpu::ChangeBuffers(sends, receives, group_);
  }
  // Puts a launch into a stream. `alone`: no other communicator is on the GPU. May be captured.
  Status Start(const Launch& launch, sys::cuda::Stream stream, bool captured, bool alone);

  // Whether a plan can be run step by step with this protocol; else why not.
  Status CanRunSteps(const PreparedPlan& plan, proto::Protocol protocol) const;

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
  // A segment's part, as launches there know it.
  struct Section {
    transport::p2p::Layout layout;
    std::size_t begin = 0;
    transport::p2p::StateShift shift;
    std::uint64_t counts = 0;  // from where it begins
  };
  const Section& SectionOf(const PreparedPlan& plan) const { return sections_[static_cast<std::size_t>(plan.section)]; }
  // Lets a program name the ranks that a plan meets.
  void Connect(const PreparedPlan& plan, Program& program) const;

  // A group among more ranks than there are seats: what takes place in each round.
  struct RoundOfGroup {
    transport::p2p::Round round;
    std::vector<int> rank_of;  // by seat
    std::vector<TransferRequest> sends, receives;
    Group group{};
    OwnCopies own_copies;
    Launch launch;
  };
  void SetUpRounds(const Setup& setup);
  Result<Launch> CompileRounds(const PreparedPlan* plan, int directions, std::span<const TransferRequest> sends,
                               std::span<const TransferRequest> receives);
  // group: of the seat `self` in a section's layout.
  Result<Launch> CompileGroupIn(const Section& section, int self, const GroupLimits& limits, const PreparedPlan* plan,
                                const std::vector<int>& rank_of, std::span<const TransferRequest> sends,
                                std::span<const TransferRequest> receives, Group& group, OwnCopies& own_copies);
  Status StartOne(const Launch& launch, sys::cuda::Stream stream, bool captured, bool alone);

  Result<Launch> CompileRelayOf(const PreparedPlan& plan, const Work& work);
  // plan: null for a group of the program's own. directions: that any rank's links with a peer are used in; 0: any.
  Result<Launch> CompileGroupOf(const PreparedPlan* plan, int directions, std::span<const TransferRequest> sends,
                                std::span<const TransferRequest> receives);

  Launcher launcher_;
  OverlapLimit overlap_limit_;  // of launches that are not captured
  Failures failures_;
  std::unique_ptr<SideStreams> sides_;
  int rank_ = 0;
  std::vector<std::byte*> segments_;  // every rank's
  std::vector<Section> sections_;
  GroupLimits limits_;

  // What is being enqueued; segments stay, but for programs among more ranks than there are seats.
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
  bool group_is_transfers_ = false;                // group_ is the last one, and was the program's own
  OwnCopies own_copies_;                           // of the last group
  std::vector<TransferRequest> sends_, receives_;  // of the last plan of moves
  std::vector<RoundOfGroup> rounds_;               // of the last group, where there are rounds

  std::uint64_t blocks_launched_ = 0, kernels_launched_ = 0, ends_to_count_ = 0;
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_EXECUTOR_H_
