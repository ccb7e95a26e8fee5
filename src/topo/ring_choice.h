// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_RING_CHOICE_H_
#define TUTTI_TOPO_RING_CHOICE_H_

// What a communicator takes from the search on one host (search.h): the order in which its rings visit the GPUs, and channels for
// NCCL's graph file.

#include <cstdint>
#include <span>
#include <vector>

#include "topo/channels.h"
#include "topo/graph.h"
#include "topo/policy.h"
#include "tutti/status.h"

namespace tutti::topo {

// Of SearchOptions (search.h).
struct ChannelBounds {
  int min_channels = 1, max_channels = 32;
  int cross_nic = 2;  // CrossNic
  std::int64_t budget = 1 << 24;
};

// One order for all channels of a ring: of those that the search finds the one that carries most by itself. Empty where the order of the
// ranks comes to within a twentieth of it, as where all pairs of GPUs are alike; then nothing is searched. `gpus`: by rank, nodes of one
// host; several ranks may have the same. Errors: as SearchRings and Placement::Make.
Result<std::vector<int>> ChooseRing(const Graph& graph, std::span<const int> gpus, const PolicyOptions& policy,
                                    const ChannelBounds& bounds);

// The channels that the search finds for rings and for trees of these GPUs. Errors as above.
Result<std::vector<Channels>> SearchChannels(const Graph& graph, std::span<const int> gpus, const PolicyOptions& policy,
                                             const ChannelBounds& bounds);

// The ranks in the order of a given channel; empty where that has not each of their GPUs once, and nothing else.
std::vector<int> RanksAlong(const ChannelOrder& channel, std::span<const int> gpus);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_RING_CHOICE_H_
