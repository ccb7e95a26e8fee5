// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/gpu/core.h"
#include "comm/gpu/submitter.h"
#include "comm/gpu/words.h"
#include "exec/gpu/launch/executor.h"
#include "exec/gpu/launch/launcher.h"
#include "sys/os/clock.h"
#include "transport/p2p/fabric.h"

namespace tutti::comm {
namespace {

using transport::p2p::kSeats;
using transport::p2p::Place;
using transport::p2p::Round;

// How long the trial of all pairs may take: the last rank's kernel must have started by then.
constexpr std::int64_t kTrialNs = 5 * sys::kNsPerSecond;

// The same of the ranks that have seats in a section; -1: nobody.
Status TryPeersIn(int section, const std::vector<int>& rank_of, const GpuCore& core, const GpuWords& words,
                  exec::gpu::Launcher& launcher) {
  const transport::p2p::Fabric& fabric = *core.fabric;
  const transport::p2p::Geometry& g = fabric.sections().At(section).collectives;
  const std::size_t begin = fabric.sections().Begin(section);
  const auto seats = static_cast<int>(rank_of.size());
  const auto self = static_cast<int>(std::ranges::find(rank_of, core.rank) - rank_of.begin());
  exec::gpu::Handshake handshake{};
  for (int seat = 0; seat < seats; ++seat) {
    const int rank = rank_of[static_cast<std::size_t>(seat)];
    handshake.segments[seat] = fabric.segment(rank < 0 ? core.rank : rank) + begin;
    // Where nobody sits, this rank stores the word that it waits for itself.
    if (seat != self) handshake.peer_word[seat] = g.Handshake(rank < 0 ? Place(self, seat) : Place(seat, self));
  }
  handshake.own_words = g.Handshake(0);
  handshake.rank = self;
  handshake.ranks = seats;
  handshake.token = 0x7475747469;  // all segments are fresh and hold zeros
  handshake.timeout_ns = kTrialNs;
  volatile std::uint32_t* seen_here = words.seen_here();
  handshake.seen = words.seen_on_gpu();
  for (int seat = 0; seat < seats; ++seat) seen_here[seat] = 0;  // of a trial before this one
  const Result<sys::cuda::Kernel> kernel = launcher.FindHandshake();
  if (!kernel.ok()) return kernel.status();
  TUTTI_RETURN_IF_ERROR(launcher.StartHandshake(*kernel, handshake, core.inner));
  TUTTI_RETURN_IF_ERROR(
      sys::cuda::Check(*core.driver, core.driver->StreamSynchronize(core.inner), "the trial of GPU peer access"));
  for (int seat = 0; seat < seats; ++seat) {
    const int peer = rank_of[static_cast<std::size_t>(seat)];
    if (peer < 0 || peer == core.rank || seen_here[seat] != 0) continue;
    if (fabric.staged()) {
      return Status(
          Code::kSystem,
          fmt::format("the GPU of rank {} did not see a store from the GPU of rank {} into host memory within "
                      "{} s; look for errors of the GPUs in the kernel's log (dmesg, Xid)",
                      core.rank, peer, kTrialNs / sys::kNsPerSecond),
          peer);
    }
    return Status(
        Code::kUnsupported,
        fmt::format("the GPU of rank {} did not see a store from the GPU of rank {} within {} s, although the "
                    "driver calls them peers; check `nvidia-smi topo -m`, IOMMU and ACS settings",
                    core.rank, peer, kTrialNs / sys::kNsPerSecond),
        peer);
  }
  return Status::Ok();
}

}  // namespace

Status TryPeers(const GpuCore& core, const GpuWords& words, GpuSubmitter& submitter) {
  const transport::p2p::Sections& sections = core.fabric->sections();
  for (int r = 0; r < sections.rounds(); ++r) {
    std::vector<int> rank_of;
    for (int seat = 0; seat < std::min(core.ranks, kSeats); ++seat) {
      rank_of.push_back(sections.many() ? Round(core.ranks, r, core.rank).RankAt(seat) : seat);
    }
    TUTTI_RETURN_IF_ERROR(TryPeersIn(r, rank_of, core, words, submitter.executor().launcher()));
  }
  return Status::Ok();
}

}  // namespace tutti::comm
