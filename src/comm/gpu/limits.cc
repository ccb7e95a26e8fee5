// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/limits.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string_view>

#include "comm/agree/gpu_machine.h"
#include "comm/gpu/core.h"
#include "comm/gpu/exchange.h"
#include "transport/p2p/fabric.h"
#include "tune/gpu_machine.h"
#include "tutti/gpu.h"

namespace tutti::comm {
namespace {

// The first compute capability whose launches overlap (WaitForPreviousKernel), and that has clusters.
constexpr int kHopper = 9;

// Whether any variable whose name begins so was set.
bool IsSet(const Settings& settings, std::string_view prefix) {
  return std::ranges::any_of(settings.origins, [&](const auto& origin) { return origin.first.starts_with(prefix); });
}

}  // namespace

int MostChannels(const tune::GpuMachine& machine, const GpuOptions& options, const Settings& settings) {
  const bool set = IsSet(settings, "NCCL_MAX_");
  const int most = set ? std::min(options.max_channels, settings.max_channels) : options.max_channels;
  return std::clamp(most, 1, machine.most_channels);
}

int LeastChannels(const GpuOptions& options, const Settings& settings) {
  const bool set = IsSet(settings, "NCCL_MIN_");
  return std::max(set ? std::max(options.min_channels, settings.min_channels) : options.min_channels, 1);
}

Result<std::shared_ptr<const tune::GpuMachine>> AgreeOnMachine(Communicator& communicator, const GpuCore& core,
                                                               bool staged) {
  const Result<tune::GpuMachine> agreed =
      AgreeOnGpuMachine(communicator, core.settings, ProfileOf(*core.driver, core.device), staged, core.who);
  if (!agreed.ok()) return agreed.status();
  return std::shared_ptr<const tune::GpuMachine>(std::make_shared<tune::GpuMachine>(*agreed));
}

transport::p2p::Sections SectionsFor(int ranks, const tune::GpuMachine& machine, const GpuOptions& options,
                                     const Settings& settings) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(options.scratch_bytes, 0));
  return transport::p2p::Sections::Fit(ranks, MostChannels(machine, options, settings),
                                       std::min(bytes, machine.most_scratch_bytes));
}

Result<GpuLimits> FindLimits(const GpuCore& core, const tune::GpuMachine& machine, const GpuOptions& options,
                             GpuExchange& exchange) {
  const Settings& settings = core.settings;
  const transport::p2p::Fabric& fabric = *core.fabric;
  const int rank = core.rank, ranks = core.ranks;
  GpuLimits limits{.overlap_kernels = machine.overlap_kernels,
                   .multiprocessor_threads = machine.multiprocessor_threads,
                   .multiprocessor_shares = machine.multiprocessor_shares};
  const auto sharing_with = [&](int peer) { return std::max(fabric.RanksOnGpuOf(peer), options.ranks_per_gpu); };
  const bool alone = sharing_with(rank) <= 1;
  int capability = 0;
  core.driver->DeviceGetAttribute(&capability, sys::cuda::kComputeCapabilityMajor, core.context.device());
  if (alone && capability >= kHopper && options.overlap_launches) {
    const int most = tune::MostBlocks(machine, fabric.multiprocessors(rank), 1);
    limits.overlapping_alone = most / machine.overlap_alone_parts;
    limits.overlapping_beside_others = most / machine.beside_parts;
  }
  int multiprocessors = INT_MAX;  // for every rank: blocks of ranks that share a GPU must all be there at once
  bool shared = false;
  for (int peer = 0; peer < ranks; ++peer) {
    const int sharing = sharing_with(peer);
    shared |= sharing > 1;
    multiprocessors = std::min(multiprocessors, tune::MostBlocks(machine, fabric.multiprocessors(peer), sharing));
  }
  limits.blocks_where_shared = shared ? multiprocessors : 0;
  limits.most_blocks = std::min(MostChannels(machine, options, settings), multiprocessors);
  limits.least_blocks = LeastChannels(options, settings);
  limits.ring = core.ring;
  if (core.most_graph_channels > 0) {
    const int given = std::max(core.most_graph_channels, limits.least_blocks);
    limits.most_blocks = std::min(limits.most_blocks, given);
  }
  const int part =
      std::clamp(std::max(std::min(machine.team_blocks, multiprocessors / machine.team_parts), limits.least_blocks), 1,
                 limits.most_blocks);
  // What decides about the way of an operation must be the same on all ranks.
  const int own[2] = {fabric.LinesArriveWhole() ? 1 : 0, part};
  int all[2];
  TUTTI_RETURN_IF_ERROR(exchange.FindLeast(own, all));
  limits.whole_lines = all[0] != 0;
  limits.team_blocks = all[1];
  // Clusters of ranks that share a GPU could keep each other out.
  if (alone && capability >= kHopper) limits.clustered_blocks = machine.team_blocks;
  limits.cuts = machine.cuts;
  if (limits.team_blocks <= machine.own_beside_blocks) limits.own_beside_bytes = machine.own_beside_bytes;
  if (limits.team_blocks <= machine.sent_beside_blocks) limits.sent_beside_bytes = machine.own_beside_bytes;
  return limits;
}

}  // namespace tutti::comm
