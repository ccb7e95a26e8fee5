// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_IMPL_H_
#define TUTTI_COMM_GPU_IMPL_H_

// The inside of a GpuCommunicator. Its life is in create.cc, its operations in run.cc, groups of them in batch.cc.

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "comm/gpu/presence.h"
#include "comm/gpu/window.h"
#include "comm/host/impl.h"
#include "comm/host/size_class.h"
#include "exec/gpu/launch/executor.h"
#include "sys/cuda/cuda.h"
#include "sys/cuda/cuda_memory.h"
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

// What a choice goes by; a barrier moves one byte.
inline std::size_t BytesOf(const Operation& o) { return o.kind == Collective::kBarrier ? 1 : o.count * SizeOf(o.type); }
inline bool IsEmpty(const Operation& o) { return BytesOf(o) == 0; }
exec::gpu::Work WorkOf(const Operation& operation);

}  // namespace comm

struct GpuCommunicator::Impl {
  Impl(Communicator& communicator, const GpuOptions& options, const sys::cuda::Driver* driver)
      : host(*communicator.impl()), communicator(communicator), options(options), driver(driver), executor(driver) {}
  ~Impl();

  // create.cc
  Status Connect();
  Status MeetPeers();
  // Hands bytes, as many on every rank, and a descriptor, if it is valid, to all ranks, under an id of its own. `take` gets
  // those of every rank; its first error is returned once all have met, since others wait for what this rank passes on.
  using OnOffer = std::function<Status(int rank, const std::byte* offer, const sys::Fd& shared)>;
  Status HandAround(std::span<const std::byte> offer, const sys::Fd& shared, const OnOffer& take);
  Status TryPeers();
  Status TryPeersIn(int section, const std::vector<int>& rank_of);
  Status ConnectSegments(transport::p2p::Memory memory);
  Status SetLimits();
  void SetUpExecutor(const exec::gpu::GroupLimits& limits);
  Status AgreeOnAll(const Status& own, const char* what);
  // Waits for this rank's kernels; ends them first where the communicator is broken, and where they have not ended within
  // TUTTI_TIMEOUT_MS. False where even that did not help.
  bool Drain();
  bool AwaitKernels(std::int64_t timeout_ns);

  // run.cc
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
  // What a recipe, or a choice, makes of a collective.
  Result<exec::gpu::Launch> Compile(const Operation& operation, const exec::gpu::PreparedPlan& plan, bool direct,
                                    const exec::gpu::Shape& shape);
  // Writes calls into the black box, and puts what they were compiled to into a stream.
  Status Enqueue(const exec::gpu::Launch& launch, std::span<const Operation* const> calls, sys::cuda::Stream stream);
  Status Validate(const Operation& operation);
  // Makes the plan of an operation, or says why there is none, and enqueues nothing: of several operations that belong
  // together all are prepared before the first one is launched.
  Status Prepare(const Operation& operation);
  // For an operation that is launched by itself.
  Result<const comm::GpuRecipe*> FindRecipe(Collective collective, std::size_t bytes, int root);
  Result<const comm::GpuRecipe*> FindIn(comm::GpuRecipes& recipes, tune::GpuChooser& chooser, Collective collective,
                                        std::size_t bytes, int root);
  Result<const exec::gpu::PreparedPlan*> FindPlan(algo::Algorithm algorithm, Collective collective, int root);
  // Where the kernels of an algorithm's plans find ranks, among more than they can name; null: they do not.
  const exec::gpu::Seating* FindSeating(algo::Algorithm algorithm);
  // Of the links that a plan's program uses.
  const transport::p2p::Geometry& GeometryOf(const exec::gpu::PreparedPlan& plan) const;
  // The plan of moves of whole pieces by which copy engines can do a collective; null: there is none.
  Result<const exec::gpu::PreparedPlan*> FindMoves(Collective collective, int root);
  // Whether what was compiled last is this operation, but for its buffers.
  bool IsCompiled(const Operation& operation) const;
  bool IsCaptured(sys::cuda::Stream stream) const;
  std::string Explain(const Operation& operation);
  Status KernelFailure();
  // What has broken the communicator, if anything; its kernels end then. Any thread.
  Status EndIfBroken();

  // batch.cc: groups. Collectives that are alike become one launch. Ranks' launches agree, because what is merged and
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
  exec::gpu::Executor executor;
  tune::GpuMachine machine{};               // the constants that choices go by
  tune::GpuChooser chooser, batch_chooser;  // of operations that are launched by themselves, and as one
  comm::GpuPresence presence;
  std::byte* barrier_bytes = nullptr;  // two that kernels of barriers may use
  int most_blocks = 1;                 // of any kernel
  // Of this rank at a time, where some ranks share a GPU; 0: none do. The same on all ranks.
  int blocks_where_shared = 0;
  sys::cuda::Stream inner = nullptr;                        // for copies of the communicator's own
  std::vector<exec::gpu::TransferRequest> sends, receives;  // of the last group
  exec::gpu::Launch transfers;                              // of that
  // The last collective that can be repeated, and its launch; a call that differs in its buffers at most costs no more than those.
  struct {
    std::optional<Operation> operation;
    exec::gpu::Launch launch;
  } compiled;
  const Operation* whole = nullptr;  // of which what is being enqueued is a part
  // Of a group: which operations have been looked at, those that are alike, and what those are about.
  std::vector<char> seen;
  std::vector<const Operation*> alike;
  std::vector<exec::gpu::Work> works;
  std::unique_ptr<comm::GpuWindows> windows = std::make_unique<comm::GpuWindows>(*this);

  std::map<std::tuple<algo::Algorithm, Collective, int>, std::unique_ptr<exec::gpu::PreparedPlan>> plans;
  std::map<algo::Algorithm, exec::gpu::Seating> seatings;
  comm::GpuRecipes recipes, batch_recipes;
};

}  // namespace tutti

#endif  // TUTTI_COMM_GPU_IMPL_H_
