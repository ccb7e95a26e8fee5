// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_LAUNCHER_H_
#define TUTTI_EXEC_GPU_LAUNCH_LAUNCHER_H_

#include <array>
#include <cstdint>
#include <span>

#include "exec/gpu/format/across.h"
#include "exec/gpu/format/program.h"
#include "exec/gpu/format/relay.h"
#include "exec/gpu/format/transfer.h"
#include "exec/gpu/launch/launch.h"
#include "proto/protocol.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::exec::gpu {

constexpr int ThreadsPerBlock(const Group& group) {
  const bool heralds = group.kernel == GroupKernel::kLarge;
  return group.teams_per_block * ((1 << group.log2_team_threads) + (heralds ? 32 : 0));
}

constexpr int ThreadsPerBlock(const Relay& relay) {
  return (relay.first_warp[relay.teams_per_block] + relay.teams_per_block) * 32;
}

// A thread for each unit of the largest copy, kMostAcrossThreads at most.
int ThreadsPerBlock(const Across& across);

inline Launch LaunchOf(sys::cuda::Kernel kernel, Program& program, int blocks, int threads) {
  return {
      .kernel = kernel, .argument = &program, .mark = &program, .blocks = blocks, .threads = threads, .ends = blocks};
}
inline Launch LaunchOf(sys::cuda::Kernel kernel, Batch& batch, int blocks, int threads) {
  Launch launch = LaunchOf(kernel, batch.program, blocks, threads);
  launch.argument = &batch;
  return launch;
}
inline Launch LaunchOf(sys::cuda::Kernel kernel, Group& group) {
  return {.kernel = kernel,
          .argument = &group,
          .mark = &group,
          .blocks = group.blocks,
          .threads = ThreadsPerBlock(group),
          .ends = group.teams,
          .in_clusters = group.kernel == GroupKernel::kLarge};
}
inline Launch LaunchOf(sys::cuda::Kernel kernel, Relay& relay) {
  return {.kernel = kernel,
          .argument = &relay,
          .mark = &relay,
          .blocks = relay.blocks,
          .threads = ThreadsPerBlock(relay),
          .ends = relay.teams,
          .in_clusters = true};
}

// The kernels of this build, and how they are started. Their code is handed to the driver once per process and stays
// there; a kernel is loaded into a context when a launcher first finds it, never by a launch. Loading waits for running
// kernels of the context, also for those of other communicators that wait for a peer: ranks that call two communicators
// in different orders would wait for each other for ever. So a communicator of several ranks loads all kernels before
// its first. Loading may be done while the thread captures a stream. Threads: one at a time.
class Launcher {
 public:
  explicit Launcher(const sys::cuda::Driver* driver) : driver_(driver) {}
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // The kernel for an operator on a type, loaded into the thread's current context. kUnsupported in a build without CUDA,
  // and where the GPU is of a kind that the kernels were not compiled for.
  Result<sys::cuda::Kernel> Find(DataType type, ReduceOp op, proto::Protocol protocol);
  // The kernel for what only moves bytes.
  Result<sys::cuda::Kernel> FindMove(proto::Protocol protocol);
  // The same for relays.
  Result<sys::cuda::Kernel> FindRelay(DataType type, ReduceOp op);
  Result<sys::cuda::Kernel> FindMoveRelay();
  // The same for batches of that many items, of sums and averages.
  Result<sys::cuda::Kernel> FindBatch(DataType type, proto::Protocol protocol, std::size_t items);
  Result<sys::cuda::Kernel> FindMoveBatch(proto::Protocol protocol, std::size_t items);
  Result<sys::cuda::Kernel> FindSendRecv(GroupKernel kernel);
  Result<sys::cuda::Kernel> FindHandshake();
  // Not among those that LoadAll loads: ranks of several hosts need no others.
  Result<sys::cuda::Kernel> FindAcross();

  // Loads every other kernel. On an H200 about 65 ms for the first context of a process, 13 for each further one and nothing
  // where all are there; 18 MiB of device memory for each context.
  Status LoadAll();

  // From now on, large sends and receives and relays of at most so many blocks start in clusters, which the GPU spreads over its
  // multiprocessors in another way: few blocks move more then. Where the driver refuses that, without.
  // REQUIRES: compute capability 9.0.
  void UseClustersUpTo(int blocks) { most_clustered_ = blocks; }

  enum class Overlap { kNo, kWithPrevious };

  // Puts a launch's kernel into a stream of the thread's current context. May be captured. Under kWithPrevious blocks may
  // already be put on multiprocessors while the stream's kernel before this one runs, where they wait for its end.
  Status Start(const Launch& launch, Overlap overlap, sys::cuda::Stream stream);
  Status StartHandshake(sys::cuda::Kernel kernel, const Handshake& handshake, sys::cuda::Stream stream);
  Status StartAcross(sys::cuda::Kernel kernel, const Across& across, sys::cuda::Stream stream);

 private:
  static constexpr int kMove = kNcclDataTypes;  // index of the images and kernels of moves
  static constexpr int kAcross = kMove + 1;     // likewise, of an image
  static constexpr int kOps = 4;

  Result<sys::cuda::Kernel> Load(int index, const char* name);
  Result<sys::cuda::Kernel> FindRelayOf(int type, int op);
  Result<sys::cuda::Kernel> FindBatchOf(int type, proto::Protocol protocol, std::size_t items);
  Status StartKernel(sys::cuda::Kernel kernel, const void* argument, sys::cuda::LaunchConfig config, Overlap overlap,
                     unsigned cluster = 1);
  // Blocks of a cluster.
  unsigned ClusterOf(unsigned blocks) const;

  const sys::cuda::Driver* driver_;
  int most_clustered_ = 0;
  std::array<std::array<std::array<sys::cuda::Kernel, proto::kProtocols>, kOps>, kNcclDataTypes + 1> kernels_{};
  std::array<std::array<std::array<sys::cuda::Kernel, proto::kProtocols>, 2>, kNcclDataTypes + 1> batch_kernels_{};
  std::array<std::array<sys::cuda::Kernel, kOps>, kNcclDataTypes + 1> relays_{};
  std::array<sys::cuda::Kernel, kGroupKernels> send_recv_{};
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_LAUNCHER_H_
