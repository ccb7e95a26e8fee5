// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_NCCL_MODEL_H_
#define TUTTI_TUNE_NCCL_MODEL_H_

// How long NCCL takes. What it does is its own choice (tune/nccl_choice.h); how long that takes follows from what its kernels and its
// network threads do:
//
//   ring, one host         start + steps * hop + (steps + last) * block / link + a first slice that nothing overlaps
//   ring, several hosts    start + steps * (wait + move - overlap * wait * move / (wait + move)): a step waits for a message and
//                          moves a block of bytes / ranks, partly at the same time
//   tree                   start + 2 * inside + 2 * log2(hosts) * (crossing + chunk / rate) + chunks * chunk time
//   NVLS, NVLSTree         start + 2 * log2(hosts) * crossing + a loop that fills the pipeline + bytes / bandwidth; a loop is a chunk
//                          for every head and channel, and NCCL takes smaller chunks for fewer bytes
//   sends and receives     start + message / (channels * rate), or what leaves a GPU or a host at the rate of its link
//
// The constants were fitted to public measurements and to those of this project on H200 by bench/planning/fit.cc, which says how well
// they do on clusters that were left out of the fit; docs/planning.md has the table.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tune/nccl_choice.h"
#include "tune/nccl_machine.h"
#include "tune/table.h"
#include "tutti/status.h"

namespace tutti::tune {

inline constexpr std::string_view kNcclTable = "nccl";

// What follows: times in us, rates in GB/s, shares of a rated bandwidth or of another time. By protocol: LL, LL128, Simple.

// Launches, and the rings and chains inside a host.
struct NcclHostConstants {
  // Launches: a replayed graph, a stream; one thread that calls for several GPUs, per GPU.
  double graph_start_us = 4.451, stream_start_us = 5.171, thread_call_us = 5.328;

  double hop_us[3] = {0.7083, 1.843, 1.8};  // from a GPU's store to the next one's
  double hop_threads_us = 0.2307;           // more for LL with all of its 512 threads than with three warps
  double ll_round_us = 0.55;                // 4 KiB of a channel with LL, which all threads store once
  double link_share = 0.9827;               // of NVLink as NCCL counts it, that kernels reach
  double ll_last_share = 0.72;              // of a step's time: the last one, which only reads what has arrived
  double ll128_start_us = 6;                // LL128 in a ring: until data flows
  double simple_start_us = 12.87;           // Simple: until the first slices move
  // As ll_last_share, with Simple: of folds, of moves, and of moves between buffers that NCCL knows from a graph.
  double fold_last_share = 0.2, move_last_share = 0.35, known_last_share = 0.1;
  double slice_share = 0.3;       // of the time of a first slice, half a block or 1 MiB per channel, that is not hidden
  double chain_start_us = 9.896;  // broadcast and reduce with Simple
  double chain_ll_share = 1.259;  // of a link's time: broadcast and reduce with LL
  double known_chain_us = 9;      // a broadcast between known buffers, per rank but two
};

// Sends and receives: gather, scatter and all_to_all too.
struct NcclTransferConstants {
  double transfer_start_us = 1.658;        // sends and receives: above a launch
  double transfer_ll_gb_per_s = 5.347;     // of one channel
  double transfer_simple_us = 6.445;       // more with Simple
  double transfer_gb_per_s = 19.13;        // of one channel, with staging
  double transfer_known_gb_per_s = 40.23;  // the same between known buffers
  double transfer_peer_us = 1.309;         // per peer, where some are on other hosts: the network threads take turns
  double exchange_share = 0.88;            // of NVLink, where a GPU sends to several at once
  double one_way_factor = 1.991;           // of the rates, where a rank sends or receives, not both
};

// NVLS, NVLSTree and CollNet.
struct NcclMulticastConstants {
  double nvls_start_us = 18.07;
  // Of NVLink, as bytes of the operation: on one host, of what NCCL takes the generation to reach; on several.
  double nvls_share = 0.7721, nvls_tree_share = 0.6798;
  double nvls_fill = 2.556;          // loops at NVLink's speed until the pipeline is full
  double nvls_early_share = 0.7798;  // of that: not while an operation has a single loop
  double switch_share = 0.4887;      // of the cards where switches reduce
};

// Rings and trees between hosts.
struct NcclNetworkConstants {
  double crossing_us = 7.64;                       // a message of LL or LL128 from GPU to GPU of another host
  double simple_crossing_us = 23.52;               // the same with Simple, and by multicast
  double fabric_us[kFabricKinds] = {0, 3, 19.35};  // more than InfiniBand, one way
  double simple_fabric_factor = 3.644;             // of that: Simple asks for room and says when it is done
  double slowest_share[2] = {0.1988, 0.0866};  // of fabric_us, per doubling of channels: the slowest counts; LL, LL128
  double ring_step_us[3] = {2.798, 5.041, 9.286};  // a ring's step on several hosts: the network threads take turns
  double ring_fabric_share = 0.5289;   // of fabric_us, more per step with LL128 and Simple: room is asked for first
  double ring_overlap = 0.7824;        // of waiting and moving, as above
  double chunk_us = 1.77;              // a tree's chunk on its way through a GPU
  double credit_share = 0.08608;       // of a crossing, per chunk: eight may be on their way
  double tree_ll_gb_per_s = 0.8007;    // of one channel
  double tree_share = 0.9274;          // of NcclMostOfTree: LL128 and Simple
  double wire_share = 0.97;            // of the cards
  double connection_gb_per_s = 20.36;  // of a channel's connection by one queue pair
  double tree_wire_share = 0.8274;     // of wire_share: four hosts or more, where a card serves two trees
  double efa_ll128_share = 0.592;      // of wire_share: LL128 by EFA, whose packets take several ways
  double staged_gb_per_s = 5.915;      // of a card without GPUDirect
};

struct NcclConstants : NcclHostConstants, NcclTransferConstants, NcclMulticastConstants, NcclNetworkConstants {
  // Relative errors that were seen: of what is latency and of what is bandwidth, on one host and on several; without points of the
  // cluster itself.
  double host_latency_error = 0.1355, host_rate_error = 0.09334, latency_error = 0.5343, rate_error = 0.1806;

  // One line per constant, behind "[nccl]"; tune/table.h.
  std::string ToText() const;
  // Of one such table. Fails for any other text.
  static Result<NcclConstants> Parse(std::string_view text);
};

// The constants by name, which must outlive them. Those that the fit changes are marked.
std::vector<Constant> ConstantsOf(NcclConstants& constants);

// What a step of an operation waits for most.
enum class NcclBound : std::uint8_t { kLatency, kNvlink, kMulticast, kCards, kConnections, kChannels, kSwitches };
std::string_view Name(NcclBound bound);  // "NVLink", "network cards", ...

struct NcclPrediction {
  double us = 0;
  NcclWay way;
  int channels = 1;
  double bus_gb_per_s = 0;
  double wire_gb_per_s = 0;  // out of one card; 0 on one host
  double latency_us = 0;     // of us: what does not grow with the bytes
  NcclBound bound = NcclBound::kLatency;
  double error = 0;  // relative, that a prediction of this kind was seen to have
};

// REQUIRES: as GraphOf; `bytes` above 0.
NcclPrediction PredictNccl(const NcclConstants& constants, const NcclMachine& machine, Collective collective,
                           double bytes);

// A measured time.
struct NcclPoint {
  NcclMachine machine;
  Collective collective = Collective::kAllReduce;
  double bytes = 0;
  double us = 0;
};

// The constants for a cluster of which some times are known: the shortest one says what its fabric adds to a message, the longest
// one what the link that binds it really gives. Both stay within a factor that hardware can explain; so a point that something
// else disturbs does not bend the constants out of shape.
NcclConstants Calibrate(const NcclConstants& constants, std::span<const NcclPoint> points);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_NCCL_MODEL_H_
