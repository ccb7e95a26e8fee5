// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/gpu/impl.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/submitter.h"
#include "exec/gpu/launch/setup.h"
#include "transport/p2p/fabric.h"
#include "tutti/settings.h"

namespace tutti {

Status GpuCommunicator::Impl::SetUp() {
  const Result<comm::GpuLimits> found = comm::FindLimits(*this, *machine, options, exchange);
  if (!found.ok()) return found.status();
  limits = *found;
  std::vector<std::byte*> segments;
  for (int peer = 0; peer < ranks; ++peer) segments.push_back(fabric->segment(peer));
  submitter.SetUp({.sections = fabric->sections(),
                   .segments = segments,
                   .state_shifts = fabric->state_shifts(),
                   .host_words = words.host(),
                   .device_words = words.device(),
                   .timeout_ms = settings.timeout_ms,
                   .limits = {.cuts = limits.cuts,
                              .most_blocks = limits.most_blocks,
                              .team_blocks = limits.team_blocks,
                              .least_team_blocks = std::min(limits.least_blocks, limits.team_blocks),
                              .whole_lines = limits.whole_lines,
                              .own_beside_bytes = limits.own_beside_bytes,
                              .sent_beside_bytes = limits.sent_beside_bytes},
                   .overlapping_alone = limits.overlapping_alone,
                   .overlapping_beside_others = limits.overlapping_beside_others,
                   .overlap_kernels = limits.overlap_kernels,
                   .multiprocessor_threads = limits.multiprocessor_threads,
                   .multiprocessor_shares = limits.multiprocessor_shares,
                   .clustered_blocks = limits.clustered_blocks},
                  words.barrier_bytes());
  if (ranks > 1) presence.Begin(device);
  return planner.Start(*machine, limits, fabric->sections(), settings, tuner);
}

}  // namespace tutti
