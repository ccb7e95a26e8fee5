// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_CHANNELS_H_
#define TUTTI_TOPO_CHANNELS_H_

// What a search finds on a graph, and what NCCL's graph files hold: for one pattern, in which order each channel visits a host's GPUs,
// and by which ports it comes in and goes out.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "topo/paths.h"

namespace tutti::topo {

// By NCCL's numbers. What NCCL calls a graph's id says which algorithm it is for.
enum class Pattern : std::uint8_t {
  kBalancedTree = 1,  // the NIC's traffic is split between the first and the second GPU
  kSplitTree = 2,     // one GPU sends to the NIC, another one receives from it
  kTree = 3,
  kRing = 4,
  kNvls = 5,
  kCollNetDirect = 6,
};
enum class GraphId : std::uint8_t { kRing = 0, kTree = 1, kCollNetChain = 2, kNvls = 3, kCollNetDirect = 4 };

// Nodes are those of a Graph. In a chain of several hosts each host has a part of its own.
struct ChannelOrder {
  std::optional<int> port_in, port_out;  // nothing: the channel stays on the host
  std::vector<int> gpus;                 // nodes, in order
  // Of a tree that is no chain: by position in `gpus` that of the parent, -1 at the first one. Empty: each has the one before it.
  std::vector<int> parents;
};

struct Channels {
  GraphId id = GraphId::kRing;
  Pattern pattern = Pattern::kRing;
  bool cross_nic = false;       // in by one port, out by another
  double gb_per_s_inside = 0;   // that each channel has between GPUs
  double gb_per_s_between = 0;  // that each channel has between hosts
  double latency_between_us = 0;
  PathType type_inside = PathType::kDis;   // the longest kind of path that is used between GPUs
  PathType type_between = PathType::kDis;  // and between GPUs and ports
  bool same = true;                        // all channels have the same order
  std::vector<ChannelOrder> channels;
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_CHANNELS_H_
