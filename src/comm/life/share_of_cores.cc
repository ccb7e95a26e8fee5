// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/share_of_cores.h"

#include <algorithm>
#include <cstddef>

#include "comm/host/placement.h"
#include "tutti/settings.h"

namespace tutti::comm {
namespace {

// A mover for each so many cores of a rank, beside the one on which the rank waits.
constexpr int kCpusPerMover = 4, kMostMovers = 3;
// One thread carries no more over several connections than over one, and asks the system more often.
constexpr int kFewFlows = 1, kManyFlows = 4, kMostFlowsPerCard = 16;

bool IsSet(const Settings& s) { return s.socket_threads >= 0 || s.socks_per_thread >= 0; }

}  // namespace

int CpusPerRank(const Placement& placement, int rank, int cpus) {
  const auto ranks = std::ranges::count(placement.host_of, placement.host_of[static_cast<std::size_t>(rank)]);
  return std::max(cpus / std::max(static_cast<int>(ranks), 1), 1);
}

int FlowsPerCard(const Settings& settings, int cpus_per_rank) {
  if (!IsSet(settings)) return MoversOf(settings, cpus_per_rank) > 0 ? kManyFlows : kFewFlows;
  const int flows = std::max(settings.socket_threads, 1) * std::max(settings.socks_per_thread, 1);
  return std::min(flows, kMostFlowsPerCard);
}

int MoversOf(const Settings& settings, int cpus_per_rank) {
  if (IsSet(settings)) return std::max(settings.socket_threads, 1) - 1;
  return std::clamp(cpus_per_rank / kCpusPerMover, 0, kMostMovers);
}

}  // namespace tutti::comm
