// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_GPU_MACHINE_H_
#define TUTTI_TUNE_GPU_MACHINE_H_

// What choices on GPUs go by, as data: the constants of a class of machines, and which class applies to a communicator. The
// formula that reads them is in tune/gpu_model.h. Tables of classes are shipped (tune/machines/*.txt, compiled into the
// library); `tutti tune --gpu` fits one on the machine.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/cuts.h"
#include "proto/protocol.h"
#include "tune/table.h"
#include "tutti/status.h"

namespace tutti::tune {

// Constants of one way across links.
struct GpuWay {
  double hop_us;              // from a store until a peer's thread goes on
  double link_gb_per_s;       // data out of one GPU, all channels together, where nothing comes in
  double channel_gb_per_s;    // data out of one channel
  std::size_t channel_bytes;  // data per channel and message below which more channels do not pay
  int threads;                // of a block
};

// The part of a GPU and of its memory that kernels take.
struct GpuShares {
  // Where a kernel may have no more blocks than this, a copy engine copies a rank's own block beside it, from this size on:
  // it takes about 5 us to begin, and memory from the kernel. Fewer blocks where that could be stored while it is sent, by a rank
  // that receives nothing.
  int own_beside_blocks, sent_beside_blocks;
  std::size_t own_beside_bytes;
  // The most blocks of kernels of teams (relays, large sends and receives), each of which has a multiprocessor to itself, and the
  // most of a GPU's multiprocessors, as a part of them: so that several communicators, which the ranks may call in different
  // orders, are there at once (docs/decisions/0012-part-of-a-gpu.md).
  int team_blocks, team_parts;
  // A communicator that is made beside others on its GPU has blocks as if so many shared it; likewise what waits there.
  int beside_parts;
  // Of a stream's kernels of few blocks, one that runs and those behind it that wait beside it: as many as that together were seen
  // there, no more. What waits so has one of so many parts of the GPU where a communicator is alone there.
  int overlap_kernels, overlap_alone_parts;
  // A multiprocessor has registers for a block of so many threads, or for two of half as many; its room is counted in shares.
  int multiprocessor_threads, multiprocessor_shares;
  // Multiprocessors that every kernel leaves free. With none, the kernels of two communicators that are called in different orders
  // could fill a GPU each; with some, each has a few channels in common with its peer, which end and make room.
  int free_multiprocessors;
  // The most channels and bytes of the memory by which a rank's peers reach it, whatever GpuOptions allow.
  int most_channels;
  std::size_t most_scratch_bytes;
};

// What operations take. The formulas that read this are in tune/gpu_model.h.
struct GpuTimes {
  double start_us;  // a launch in a graph, the first load, the last store
  // Less where a plan has a short form (plan::HasFlatForm).
  double short_us;
  double end_us;     // at each end of a message, of the rank that has most of them one after the other
  double blocks_us;  // more where a kernel has several blocks
  // Where no rank waits for an answer, operations in a row overlap: what moves hides all but this part of the hops, or is hidden by them.
  double one_way_share;
  double both_ways_share;  // of a link's rate, in each direction, where data go both ways at once
  double fold_gb_per_s;
  // Of a chain from or to a root, every hop but the first: in a row of operations its ranks are at work on different ones. And of a
  // short form in which all ranks pass on, at work on different parts.
  double chain_hop_us, short_later_hop_us;
  double passed_on_gb_per_s;  // what is passed on from or to a root, with LL128; folds included
  GpuWay ways[proto::kProtocols];
  // Collectives that only move bytes, as sends and receives (exec/gpu/format/transfer.h); up to Cuts::lines_bytes by lines of LL128, at
  // another rate.
  GpuWay direct;
  double lines_hop_us, lines_link_gb_per_s;
  // What relays do (exec/gpu/format/relay.h). Their first steps fill a pipeline, with folds in it a longer one; all others fold while
  // they transfer.
  GpuWay relay;
  // Chains of relays, which have longer rings. A later hop is that of a pipeline that fills.
  GpuWay chain;
  // A reduce's root among several ranks owns no part: a step longer to fill and to drain, of all that the root sends. So does a
  // chain that reduces.
  double relay_us, relay_fold_us, relay_root_us, relay_chain_us;
  // Copy engines that write into peers' windows: what the ranks' agreement costs, and the rate out of one GPU.
  double copies_us, copies_gb_per_s;
};

struct GpuMachine : GpuShares, GpuTimes {
  // Among so many ranks at most short forms save something: of more, and of what is passed on more than once, it has not been seen.
  int short_ranks;
  // A chain that folds with LL128, of at least so many ranks and bytes, does best with few_channels and so many threads.
  int long_chain_ranks;
  std::size_t long_chain_bytes;
  int long_chain_threads;
  // Rounds that keep a link busy while the pipeline fills and drains, and the least chunk that pays. Simple only.
  double pipeline_rounds;
  std::size_t least_chunk_bytes;
  // More channels than few_channels pay only for messages beyond this.
  int few_channels;
  std::size_t many_channels_bytes;
  // An operation of a group that takes longer by itself saves less than a twentieth by sharing its launch, and by itself it may be
  // made of sends and receives. (8 all_reduces of 16 MiB, 59 us each, take a tenth longer one by one than one of 128 MiB.)
  double long_call_us;
  // Messages of less go as sends and receives of a collective only where nothing else is allowed: that has not been measured.
  std::size_t transfer_least_bytes;
  plan::Cuts cuts;
};

// The most blocks, each with a multiprocessor to itself, of a rank's kernel on a GPU that `ranks` ranks share.
constexpr int MostBlocks(const GpuMachine& machine, int multiprocessors, int ranks) {
  const int free = std::min(machine.free_multiprocessors, multiprocessors / 2);
  return std::max((multiprocessors - free) / ranks, 1);
}

// What choices depend on, of all ranks' GPUs together. The same on all ranks.
struct GpuSituation {
  std::string gpu;             // the driver's name; "" where ranks have different GPUs
  int compute_capability = 0;  // major * 10 + minor; 0 where they differ
  int multiprocessors = 0;     // of the GPU that has the fewest
  int ranks = 1;
  int ranks_per_gpu = 1;  // of the GPU that has the most
  bool staged = false;    // the ranks exchange data through host memory
};

// A class of machines and its constants.
struct GpuTable {
  std::string name;            // of the class, one word: "h200_2_ranks"
  std::string gpu = "*";       // *: any
  std::string memory;          // where the ranks exchange data: "gpu" or "host"
  int compute_capability = 0;  // 0: any, also below
  int multiprocessors = 0;
  int ranks_least = 1, ranks_most = 1;
  int ranks_per_gpu = 0;
  GpuMachine machine{};

  bool Covers(const GpuSituation& situation) const;
  // One line per constant, behind "[gpu]"; tune/table.h.
  std::string ToText() const;
  static Result<GpuTable> Parse(const TableText& text);
};

// The constants of a machine by name, which must outlive them; of a table those of its class too. What the fit of `tutti tune --gpu`
// changes is marked; nothing else is.
std::vector<Constant> ConstantsOf(GpuMachine& machine);
std::vector<Constant> ConstantsOf(GpuTable& table);

// The tables that are compiled in. The first one that covers a situation applies; the last two cover everything.
std::span<const GpuTable> ShippedGpuTables();
// Of those, by name. REQUIRES: there is one.
const GpuTable& ShippedGpuTable(std::string_view name);

// The first of `stored` that covers the situation, else of the shipped ones.
const GpuTable& FindGpuTable(std::span<const GpuTable> stored, const GpuSituation& situation);

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_GPU_MACHINE_H_
