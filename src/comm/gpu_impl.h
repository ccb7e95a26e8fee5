// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_IMPL_H_
#define TUTTI_COMM_GPU_IMPL_H_

// The inside of a GpuCommunicator. Its life is in gpu.cc, its operations in gpu_run.cc, groups of them in gpu_batch.cc.

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "comm/gpu_presence.h"
#include "comm/gpu_window.h"
#include "comm/impl.h"
#include "exec/gpu/batch.h"
#include "exec/gpu/compile.h"
#include "exec/gpu/launcher.h"
#include "exec/gpu/overlap_limit.h"
#include "exec/gpu/relay.h"
#include "exec/gpu/side_streams.h"
#include "exec/gpu/transfer.h"
#include "sys/cuda.h"
#include "sys/cuda_memory.h"
#include "transport/p2p/fabric.h"
#include "tune/gpu_model.h"
#include "tutti/gpu.h"

namespace tutti {

namespace comm {

// What to do for a collective in a size class.
struct GpuRecipe {
  const exec::gpu::PreparedPlan* plan = nullptr;  // null: not decided yet
  exec::gpu::Shape shape;
  bool direct = false;  // by teams, not by an interpreter: RunDirect
  double predicted_us = 0;
};
using GpuRecipeTable = std::array<GpuRecipe, kSizeClasses>;
// All that have been decided, by collective and root.
using GpuRecipes = std::array<std::vector<std::unique_ptr<GpuRecipeTable>>, kCollectives>;

inline Collective CollectiveOf(Operation::Kind kind) {
  return kind == Operation::Kind::kBarrier ? Collective::kBarrier : static_cast<Collective>(kind);
}
inline bool IsTransfer(Operation::Kind kind) {
  return kind == Operation::Kind::kSend || kind == Operation::Kind::kRecv;
}
// What a choice goes by; a barrier moves one byte.
inline std::size_t BytesOf(const Operation& o) {
  return o.kind == Operation::Kind::kBarrier ? 1 : o.count * SizeOf(o.type);
}
inline bool IsEmpty(const Operation& o) { return BytesOf(o) == 0; }
exec::gpu::Work WorkOf(const Operation& operation);
// Whether the kernel of moves does this rank's part. A rank that only sends to a reduction moves bytes, unless it scales
// them.
bool MovesOnly(const Operation& operation, const exec::gpu::PreparedPlan& plan, proto::Protocol protocol);

}  // namespace comm

struct GpuCommunicator::Impl {
  Impl(Communicator& communicator, const GpuOptions& options, const sys::cuda::Driver* driver)
      : host(*communicator.impl()), communicator(communicator), options(options), driver(driver), launcher(driver) {}
  ~Impl();

  // gpu.cc
  Status Connect();
  Status MeetPeers();
  // Hands bytes, as many on every rank, and a descriptor, if it is valid, to all ranks, under an id of its own. `take` gets
  // those of every rank; its first error is returned once all have met, since others wait for what this rank passes on.
  using OnOffer = std::function<Status(int rank, const std::byte* offer, const sys::Fd& shared)>;
  Status HandAround(std::span<const std::byte> offer, const sys::Fd& shared, const OnOffer& take);
  Status TryPeers();
  Status ConnectSegments(transport::p2p::Memory memory);
  Status SetLimits();
  tune::GpuMachine Machine() const;
  Status AgreeOnAll(const Status& own, const char* what);
  // Waits for this rank's kernels; ends them first where the communicator is broken, and where they have not ended within
  // TUTTI_TIMEOUT_MS. False where even that did not help.
  bool Drain();
  bool AwaitKernels(std::int64_t timeout_ns);

  // gpu_run.cc
  Status Run(const Operation& operation, sys::cuda::Stream stream);
  // Runs an operation in a given way, for tests and measurements. Ranks must choose alike.
  Status RunAs(const Operation& operation, const tune::GpuChoice& choice, sys::cuda::Stream stream);
  // REQUIRES, of both: valid operations.
  Status RunTransfers(std::span<const Operation> operations, sys::cuda::Stream stream);
  Status RunValid(const Operation& operation, sys::cuda::Stream stream);
  Status RunCollective(const Operation& operation, sys::cuda::Stream stream);
  Status RunCopies(const Operation& operation, sys::cuda::Stream stream);
  // An all_reduce of which copy engines do the second shot.
  Status RunShots(const Operation& operation, sys::cuda::Stream stream);
  // Writes a call into the black box, and no call that is a part of one.
  void Record(const Operation& operation, bool captured);
  // What tune::IsDirect: as a relay, or as sends and receives.
  Status RunDirect(const Operation& operation, const exec::gpu::PreparedPlan& plan, sys::cuda::Stream stream);
  Status RunRelay(const Operation& operation, const exec::gpu::PreparedPlan& plan, sys::cuda::Stream stream);
  Result<sys::cuda::Kernel> FindRelayKernel(const Operation& operation, const exec::gpu::PreparedPlan& plan);
  // Makes `group` of what is in `sends` and `receives`. lanes: see exec::gpu::GroupLimits.
  Status CompileTransfers(int lanes);
  Status LaunchTransfers(sys::cuda::Stream stream, bool captured);
  Status Validate(const Operation& operation);
  // Makes the plan of an operation, or says why there is none, and enqueues nothing: of several operations that belong
  // together all are prepared before the first one is launched.
  Status Prepare(const Operation& operation);
  // For an operation that is launched by itself.
  Result<const comm::GpuRecipe*> FindRecipe(Collective collective, std::size_t bytes, int root);
  Result<const comm::GpuRecipe*> FindIn(comm::GpuRecipes& recipes, tune::GpuChooser& chooser, Collective collective,
                                        std::size_t bytes, int root);
  Result<const exec::gpu::PreparedPlan*> FindPlan(algo::Algorithm algorithm, Collective collective, int root);
  Status Enqueue(const Operation& operation, const exec::gpu::PreparedPlan& plan, const exec::gpu::Shape& shape,
                 sys::cuda::Stream stream);
  // Whether `program` is that of this operation, but for its buffers.
  bool IsCompiled(const Operation& operation) const;
  // Starts the kernel of `program`.
  Status LaunchProgram(const Operation& operation, sys::cuda::Stream stream);
  bool IsCaptured(sys::cuda::Stream stream) const;
  exec::gpu::Launcher::Overlap OverlapFor(int blocks, int threads, bool captured);
  Result<sys::cuda::Kernel> FindKernel(const Operation& operation, const exec::gpu::PreparedPlan& plan,
                                       proto::Protocol protocol);
  std::string Explain(const Operation& operation);
  Status KernelFailure();
  // What has broken the communicator, if anything; its kernels end then. Any thread.
  Status EndIfBroken();

  // gpu_batch.cc: groups. Collectives that are alike become one launch. Ranks' launches agree, because what is merged and
  // how it is cut follows from the calls' collectives, types, operators, roots and counts.
  Status RunGroup(std::span<const Operation> operations, sys::cuda::Stream stream);
  // REQUIRES: Validate found no fault with them.
  Status RunValidGroup(std::span<const Operation> operations, sys::cuda::Stream stream);
  // Prepare for a group.
  Status PrepareGroup(std::span<const Operation> operations);
  // The cost model's estimate for the collectives of a group, us.
  Result<double> PredictCollectivesUs(std::span<const Operation> operations);
  // Runs operations that are alike in one launch in a given way, for tests and measurements. Ranks must choose alike.
  Status RunBatchAs(std::span<const Operation> operations, const tune::GpuChoice& choice, sys::cuda::Stream stream);
  bool CanBeMerged(const Operation& operation);
  template <typename F>
  Status ForEachKind(std::span<const Operation> operations, F run);
  // How to launch operations that are alike as one; null: one by one.
  Result<const comm::GpuRecipe*> FindBatchRecipe(std::span<const Operation* const> alike);
  Status RunAlike(std::span<const Operation* const> alike, sys::cuda::Stream stream);
  Status PrepareAlike(std::span<const Operation* const> alike);
  Status EnqueueBatch(std::span<const Operation* const> alike, const exec::gpu::PreparedPlan& plan,
                      exec::gpu::Shape shape, sys::cuda::Stream stream);
  Result<sys::cuda::Kernel> FindBatchKernel(std::span<const Operation* const> operations,
                                            const exec::gpu::PreparedPlan& plan, proto::Protocol protocol);

  // log_operation.cc: what NCCL_DEBUG=INFO shows of a call under COLL and TUNING.
  void LogOperation(const Operation& operation);
  void LogBatch(const Operation& first, int operations, const exec::gpu::Shape& shape, int channels);

  Communicator::Impl& host;
  Communicator& communicator;
  const GpuOptions options;
  const sys::cuda::Driver* driver;
  sys::cuda::PrimaryContext context;
  std::unique_ptr<transport::p2p::Fabric> fabric;
  sys::cuda::MappedHostMemory words;  // exec::gpu::HostWords
  exec::gpu::Launcher launcher;
  tune::GpuChooser chooser, batch_chooser;  // of operations that are launched by themselves, and as one
  comm::GpuPresence presence;
  exec::gpu::OverlapLimit overlap_limit;  // of launches that are not captured
  exec::gpu::Program program{};           // of the operation that is being enqueued; segments stay
  exec::gpu::Group group{};               // likewise
  exec::gpu::Relay relay{};               // likewise
  exec::gpu::Batch batch{};               // likewise
  bool whole_lines = true;                // lines of LL128 arrive whole on all links
  int most_blocks = 1;                    // of any kernel
  int team_blocks = 1;                    // of kernels of teams
  // Of this rank at a time, where some ranks share a GPU; 0: none do. The same on all ranks.
  int blocks_where_shared = 0;
  std::size_t own_beside_bytes = SIZE_MAX, sent_beside_bytes = SIZE_MAX;  // see exec::gpu::GroupLimits
  sys::cuda::Stream inner = nullptr;                                      // for copies of the communicator's own
  std::uint64_t blocks_launched = 0;                                      // of all kernels so far
  std::uint64_t kernels_launched = 0;
  std::uint64_t ends_to_count = 0;                          // what LaunchCounts::ended will come to
  std::vector<exec::gpu::TransferRequest> sends, receives;  // of the last group
  exec::gpu::OwnCopies own_copies;                          // of that
  bool group_is_compiled = false;                           // `group` is that of sends and receives called for
  // What `program` was compiled for, and how; a call that differs in its buffers at most costs no more than those.
  struct {
    std::optional<Operation> operation;
    sys::cuda::Kernel kernel = nullptr;
    int channels = 0, threads = 0;
  } compiled;
  const Operation* whole = nullptr;  // of which what is being enqueued is a part
  // Of a group: which operations have been looked at, those that are alike, and what those are about.
  std::vector<char> seen;
  std::vector<const Operation*> alike;
  std::vector<exec::gpu::Work> works;
  std::unique_ptr<exec::gpu::SideStreams> sides = std::make_unique<exec::gpu::SideStreams>(driver);
  std::unique_ptr<comm::GpuWindows> windows = std::make_unique<comm::GpuWindows>(*this);

  std::map<std::tuple<algo::Algorithm, Collective, int>, std::unique_ptr<exec::gpu::PreparedPlan>> plans;
  comm::GpuRecipes recipes, batch_recipes;
};

}  // namespace tutti

#endif  // TUTTI_COMM_GPU_IMPL_H_
