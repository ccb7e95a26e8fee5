// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_EXECUTOR_H_
#define TUTTI_EXEC_GPU_LAUNCH_EXECUTOR_H_

// Takes a plan and buffers, gives a launch, and starts it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "proto/protocol.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::proto {
enum class Protocol : std::uint8_t;
}

namespace tutti::exec::gpu {

struct BatchCut;
class CopyRunner;
struct ExecutorSetup;
class Failures;
struct Group;
struct GroupData;
struct GroupLimits;
struct CallMark;
struct Launch;
class Launcher;
class OverlapLimit;
struct OwnCopies;
struct PreparedPlan;
struct Program;
struct Relay;
struct Shape;
class SideStreams;
struct TransferRequest;
struct Work;

// A communicator's launches on one GPU. A launch refers to arguments that the executor keeps: those of a form are its own until
// the next one of that form is compiled. Threads: one at a time. The GPU's context must be the thread's current one.
class Executor {
 public:
  explicit Executor(const sys::cuda::Driver* driver);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  // With the GPU's context as the current one, when nothing is pending.
  ~Executor();

  void SetUp(int rank, const ExecutorSetup& setup);
  // By whom launches of copies are started. It must stay until nothing is started any more.
  void UseCopies(CopyRunner* copies) { copies_ = copies; }

  // Compile a plan for some data, in one form each.
  Result<Launch> CompileSteps(const PreparedPlan& plan, const Work& work, const Shape& shape);
  // What plan::Forms::ForTeams allows: as a relay, or as sends and receives.
  Result<Launch> CompileTeams(const PreparedPlan& plan, const Work& work);
  // A group of sends and receives, by the plan that PrepareGroup made for it.
  Result<Launch> CompileGroup(const PreparedPlan& plan, const GroupData& data);
  // What copy engines do of a plan, all or its second shot. `outputs`: where every rank's output begins, as this rank reaches it.
  // REQUIRES: UseCopies; plan.forms.copies is not kNone; CanCopy (exec/gpu/lower/copies.h).
  Launch CompileCopies(const PreparedPlan& plan, const Work& work, std::span<std::byte* const> outputs);
  // Several that follow one plan: how they are cut, then all of it. REQUIRES: as CompileItems.
  BatchCut CutBatch(const PreparedPlan& plan, std::span<const Work> works, const Shape& shape);
  Result<Launch> CompileBatch(const PreparedPlan& plan, std::span<const Work> works, const Shape& shape,
                              const BatchCut& cut);

  // Give the last of CompileSteps, and the last of CompileGroup, other buffers. False where that needs more, as for rounds.
  bool ChangeBuffers(const void* in, void* out);
  bool ChangeBuffers(const GroupData& data);
  // Puts a launch into a stream: the one tail of all forms. `alone`: no other communicator is on the GPU. May be captured. After an
  // error a part of it may be in the stream, so that peers wait for the rest.
  Status Start(const Launch& launch, const CallMark& mark, sys::cuda::Stream stream, bool alone);

  // Whether a plan can be run step by step with this protocol; else why not.
  Status CanRunSteps(const PreparedPlan& plan, proto::Protocol protocol) const;

  Launcher& launcher() { return launcher_; }
  // Launcher::LoadAll.
  Status LoadKernels();
  Failures& failures() { return failures_; }

  std::uint64_t blocks_launched() const { return blocks_launched_; }
  std::uint64_t kernels_launched() const { return kernels_launched_; }
  // What LaunchCounts::ended will come to.
  std::uint64_t ends_to_count() const { return ends_to_count_; }

 private:
  // A segment's part, as launches there know it.
  struct Section;
  const Section& SectionOf(const PreparedPlan& plan) const;
  // Lets a program name the ranks that a plan meets.
  void Connect(const PreparedPlan& plan, Program& program) const;

  // A group among more ranks than there are seats: what takes place in each round.
  struct RoundOfGroup;
  void SetUpRounds(const ExecutorSetup& setup);
  Result<Launch> CompileRounds(const PreparedPlan& plan);
  // group: of the seat `self` in a section's layout.
  Result<Launch> CompileMovesIn(const Section& section, int self, const GroupLimits& limits, const PreparedPlan& plan,
                                const std::vector<int>& rank_of, std::span<const TransferRequest> sends,
                                std::span<const TransferRequest> receives, Group& group, OwnCopies& own_copies);
  Status StartKernel(const Launch& launch, const CallMark& mark, sys::cuda::Stream stream, bool alone);
  Status StartOne(const Launch& launch, const CallMark& mark, sys::cuda::Stream stream, bool alone);
  Status StartCopies(const Launch& launch, sys::cuda::Stream stream, bool captured);

  Result<Launch> CompileRelayOf(const PreparedPlan& plan, const Work& work);
  // Of sends_ and receives_, which are what a plan of moves has come to.
  Result<Launch> CompileMoves(const PreparedPlan& plan);

  // What launches, and what is being enqueued: segments stay, but for programs among more ranks than there are seats. All of it
  // lies in `inside_`, so that who uses an executor need not see the forms of arguments.
  struct Inside;
  const std::unique_ptr<Inside> inside_;
  // What every launch needs, in one line of the cache.
  Program& program_;
  Launcher& launcher_;
  OverlapLimit& overlap_limit_;  // of launches that are not captured
  SideStreams& sides_;           // streams beside the callers'
  std::uint64_t blocks_launched_ = 0, kernels_launched_ = 0, ends_to_count_ = 0;

  Failures& failures_;
  Group& group_;
  Relay& relay_;
  OwnCopies& own_copies_;  // of the last group
  GroupLimits& limits_;

  int rank_ = 0;
  std::vector<std::byte*> segments_;  // every rank's
  std::vector<Section> sections_;

  // What program_.host is for.
  struct Ways {
    const PreparedPlan* plan = nullptr;
    bool is_short = false;
    bool operator==(const Ways&) const = default;
  };
  Ways last_ways_;
  // What program_ has of CompileCommon is for.
  struct Common {
    const PreparedPlan* plan = nullptr;
    DataType type{};
    ReduceOp op{};
    proto::Protocol protocol{};
    int threads = 0;
    bool operator==(const Common&) const = default;
  };
  Common last_common_;
  const PreparedPlan* group_plan_ = nullptr;       // of what is in group_, where it is a group without rounds
  std::vector<TransferRequest> sends_, receives_;  // of the last plan of moves
  std::vector<RoundOfGroup> rounds_;               // of the last group, where there are rounds
  CopyRunner* copies_ = nullptr;
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_EXECUTOR_H_
