// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_LIMITS_H_
#define TUTTI_COMM_GPU_LIMITS_H_

// How much of its GPU a communicator may use.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plan/cuts.h"
#include "tutti/status.h"

namespace tutti {
class Communicator;
struct GpuOptions;
struct Settings;
namespace transport::p2p {
struct Sections;
}
namespace tune {
struct GpuMachine;
}
}  // namespace tutti

namespace tutti::comm {

struct Core;
class GpuExchange;
struct GpuCore;

struct GpuLimits {
  // The same on all ranks.
  int most_blocks = 1;          // of any kernel
  int least_blocks = 1;         // where an operation can be cut so far
  int team_blocks = 1;          // of kernels of teams that are large
  bool whole_lines = false;     // lines of 128 bytes arrive whole on all links
  int blocks_where_shared = 0;  // of a rank at a time, where some ranks share a GPU; 0: none do
  // This rank's: see OverlapLimit::SetTo and Launcher::UseClustersUpTo (exec/gpu/launch).
  int overlapping_alone = 0, overlapping_beside_others = 0;
  int overlap_kernels = 2, multiprocessor_threads = 1, multiprocessor_shares = 1;
  int clustered_blocks = 0;
  // exec::gpu::GroupLimits.
  plan::Cuts cuts{};
  std::size_t own_beside_bytes = SIZE_MAX, sent_beside_bytes = SIZE_MAX;
  std::vector<int> ring;  // GpuCore::ring
};

// The constants that choices go by. Collective. `staged`: the GPUs do not reach each other's memory.
Result<std::shared_ptr<const tune::GpuMachine>> AgreeOnMachine(Communicator& communicator, const GpuCore& core,
                                                               bool staged);
// The most and the fewest blocks of a kernel, by the narrowest of all limits but those of the GPU.
int MostChannels(const tune::GpuMachine& machine, const GpuOptions& options, const Settings& settings);
int LeastChannels(const GpuOptions& options, const Settings& settings);
// The segment of each rank.
transport::p2p::Sections SectionsFor(int ranks, const tune::GpuMachine& machine, const GpuOptions& options,
                                     const Settings& settings);
// The most blocks of a rank where its GPU is shared out in so many parts; nothing: as where the process has other communicators
// there (docs/decisions/0012-part-of-a-gpu.md). Before anything is agreed: a rank's own view.
int BlocksOfPart(const Core& host, int device, std::optional<int> parts = {});
// Collective, once segments are connected.
Result<GpuLimits> FindLimits(const GpuCore& core, const tune::GpuMachine& machine, const GpuOptions& options,
                             GpuExchange& exchange);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_LIMITS_H_
