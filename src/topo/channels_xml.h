// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_CHANNELS_XML_H_
#define TUTTI_TOPO_CHANNELS_XML_H_

// NCCL's graph files (NCCL_GRAPH_FILE, NCCL_GRAPH_DUMP_FILE): which channels it has found for each pattern.
//
//   <graphs version="1" name>
//     <graph id pattern crossnic nchannels speedintra speedinter latencyinter typeintra typeinter samechannels>
//       <channel>
//         <net dev/> <gpu dev rank/> <gpu .../> ... <net dev/>       hexadecimal; the upper 8 of 64 bits are the host
//
// Speeds are GB/s of a channel, types are names of path types.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topo/channels.h"
#include "topo/graph.h"
#include "tutti/status.h"

namespace tutti::topo {

// The graphs in the order of the file. A GPU is the one with its rank, where the graph knows ranks and the file names
// one, else the one with its number on its host; hosts count in the graph's order. The first net of a channel is where
// it comes in, the second where it goes out; a single one after the GPUs is where it goes out. Elements and attributes
// that are not known are passed over. `where` names the file. Fails, with line, column and reason, for what is no such
// file, for a GPU or port that the graph does not have, a GPU twice in a channel, a number of channels that is not that
// of the elements, and the same id twice.
Result<std::vector<Channels>> ReadChannelsXml(std::string_view text, const std::string& where, const Graph& graph);

// As NCCL 2.28 and later read it, except for the types C2C, NET and DIS, for which NCCL has no name: it takes them for
// LOC. REQUIRES: the nodes of `channels` are GPUs and ports of the graph, and hosts are at most 256.
// Channels of a search carry what links carry. One of NCCL's file is a block of threads on each GPU, which moves some 20 GB/s however fast
// its links are. The same channels, each as often as that takes, and at most 32 together.
Channels ForBlocks(const Channels& channels);

std::string WriteChannelsXml(std::span<const Channels> channels, const Graph& graph);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_CHANNELS_XML_H_
