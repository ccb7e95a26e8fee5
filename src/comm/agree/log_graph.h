// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_LOG_GRAPH_H_
#define TUTTI_COMM_AGREE_LOG_GRAPH_H_

// The host's graph as lines of the log, each once in a process.

#include <span>
#include <string>
#include <string_view>

namespace tutti {
struct Settings;
namespace topo {
class Graph;
struct Channels;
}  // namespace topo
}  // namespace tutti

namespace tutti::comm {

struct HostGraph;

// At INFO under GRAPH: what the host has, where that is known from, and for each GPU how far the others and the cards are.
//
//   === System : 8 GPUs, 8 ports, 2 NUMA nodes; from sysfs and NVML in 23.1 ms ===
//   GPU 0 0000:1b:00.0 : NVL to 7 GPUs; PIX to mlx5_0 and mlx5_1 (GDR), PHB to 2 ports, SYS to 4 ports
//
// And what is bad (topo/findings.h): NVLinks that do not work as warnings, all else at INFO.
void LogGraph(const Settings& settings, const HostGraph& host);

// "Pattern 4, crossNic 0, nChannels 2, bw 24/0, type PHB/DIS, sameChannels 0, from a search", and the order of each channel: NCCL's words.
void LogChannelsOfGraph(const topo::Graph& graph, std::span<const topo::Channels> channels, std::string_view from);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_LOG_GRAPH_H_
