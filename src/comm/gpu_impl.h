// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_IMPL_H_
#define TUTTI_COMM_GPU_IMPL_H_

// The inside of a GpuCommunicator. Its life is in gpu.cc, its operations in gpu_run.cc.

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "comm/impl.h"
#include "exec/gpu/compile.h"
#include "exec/gpu/launcher.h"
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
};
using GpuRecipeTable = std::array<GpuRecipe, kSizeClasses>;

}  // namespace comm

struct GpuCommunicator::Impl {
  Impl(Communicator& communicator, const GpuOptions& options, const sys::cuda::Driver* driver)
      : host(*communicator.impl()), communicator(communicator), options(options), driver(driver), launcher(driver) {}
  ~Impl();

  // gpu.cc
  Status Connect();
  Status MeetPeers();
  Status TryPeers();
  Status SetLimits();
  Status AgreeOnAll(const Status& own, const char* what);
  // Waits for this rank's kernels; ends them first where the communicator is broken.
  void Drain();

  // gpu_run.cc
  Status Run(const Operation& operation, sys::cuda::Stream stream);
  // Runs an operation in a given way, for tests and measurements. Ranks must choose alike.
  Status RunAs(const Operation& operation, const tune::GpuChoice& choice, sys::cuda::Stream stream);
  Status RunGroup(std::span<const Operation> operations, sys::cuda::Stream stream);
  Status RunTransfers(std::span<const Operation> operations, sys::cuda::Stream stream);
  Status Validate(const Operation& operation);
  Result<const comm::GpuRecipe*> FindRecipe(Collective collective, std::size_t bytes, int root);
  Result<const exec::gpu::PreparedPlan*> FindPlan(algo::Algorithm algorithm, Collective collective, int root);
  Status Enqueue(const Operation& operation, const exec::gpu::PreparedPlan& plan, const exec::gpu::Shape& shape,
                 sys::cuda::Stream stream);
  exec::gpu::Launcher::Overlap OverlapFor(int blocks, sys::cuda::Stream stream) const;
  // Does what an operation's first use needs, and enqueues nothing.
  Status Prepare(const Operation& operation);
  Result<sys::cuda::Kernel> FindKernel(const Operation& operation, proto::Protocol protocol);
  std::string Explain(const Operation& operation);
  Status KernelFailure();
  // What has broken the communicator, if anything; its kernels end then. Any thread.
  Status EndIfBroken();

  // log_operation.cc: what NCCL_DEBUG=INFO shows of a call under COLL and TUNING.
  void LogOperation(const Operation& operation);

  Communicator::Impl& host;
  Communicator& communicator;
  const GpuOptions options;
  const sys::cuda::Driver* driver;
  sys::cuda::PrimaryContext context;
  std::unique_ptr<transport::p2p::Fabric> fabric;
  sys::cuda::MappedHostMemory words;  // exec::gpu::HostWords
  exec::gpu::Launcher launcher;
  tune::GpuChooser chooser;
  int overlapping_channels =
      0;  // most channels of an operation that may be launched before the one before it has ended
  exec::gpu::Program program{};  // of the operation that is being enqueued; segments stay
  exec::gpu::Group group{};      // likewise
  int most_transfer_blocks = 1;  // that one group may have
  std::vector<exec::gpu::TransferRequest> sends, receives;

  std::map<std::tuple<algo::Algorithm, Collective, int>, std::unique_ptr<exec::gpu::PreparedPlan>> plans;
  std::array<std::vector<std::unique_ptr<comm::GpuRecipeTable>>, kCollectives> recipes;  // by root
};

}  // namespace tutti

#endif  // TUTTI_COMM_GPU_IMPL_H_
