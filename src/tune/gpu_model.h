// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_GPU_MODEL_H_
#define TUTTI_TUNE_GPU_MODEL_H_

// The cost model of GPUs that write to each other's memory, and the choice it leads to. In microseconds, for an
// operation of S bytes,
//
//   T = start + hops * hop + S * moved / min(channels * channel_rate, link_rate) + S * folded / fold_rate
//
// with hops, moved (bytes written to peers, or by peers, of the busiest rank) and folded, in units of S, from plan::Cost, the others
// from GpuMachine, per protocol. Ranks' choices agree because they depend on nothing but what all ranks share.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "plan/cost.h"
#include "proto/protocol.h"
#include "tune/filter.h"
#include "tutti/status.h"

namespace tutti::tune {

// Constants of one protocol.
struct GpuWay {
  double hop_us;              // from a store until a peer's thread goes on
  double link_gb_per_s;       // data out of one GPU, all channels together
  double channel_gb_per_s;    // data out of one channel
  std::size_t channel_bytes;  // data per channel and message below which more channels do not pay
  int threads;                // of a block
};

// What was measured on 2 and 4 H200 with NVLink (docs/performance.md).
struct GpuMachine {
  double start_us = 2.1;  // a launch in a graph, the first load, the last store
  double short_us = 0.9;  // less where a plan has a short form (exec/gpu/program.h)
  double fold_gb_per_s = 700;
  // Of a chain from or to a root, every hop but the first: in a row of operations its ranks are at work on different ones.
  double chain_hop_us = 0.8;
  // What is passed on from or to a root, with LL128; folds included. A chain that folds, of at least so many ranks and bytes,
  // does best with few_channels and so many threads.
  double passed_on_gb_per_s = 290;
  int long_chain_ranks = 4;
  std::size_t long_chain_bytes = std::size_t{16} << 20;
  int long_chain_threads = 384;
  // Rounds that keep a link busy while the pipeline fills and drains, and the least chunk that pays, bytes. Simple only.
  double pipeline_rounds = 4;
  std::size_t least_chunk_bytes = 131072;
  // More channels than few_channels pay only for messages beyond this.
  int few_channels = 64;
  std::size_t many_channels_bytes = std::size_t{768} << 10;
  GpuWay ways[proto::kProtocols] = {{1.2, 97, 6, 512, 256}, {1.7, 330, 7.2, 3840, 512}, {2.7, 290, 4.5, 32768, 512}};
  // Collectives that only move bytes, as sends and receives (exec/gpu/transfer.h), which are of LL128 up to so many bytes.
  GpuWay direct = {1.0, 362, 22, 16384, 512};
  std::size_t direct_lines_bytes = std::size_t{1} << 20;
  // What relays do (exec/gpu/relay.h). Their first steps fill a pipeline, with folds in it a longer one; all others fold while
  // they transfer.
  GpuWay relay = {1.5, 350, 14, 16384, 512};
  // Chains of relays, which have longer rings. A later hop is that of a pipeline that fills.
  GpuWay chain = {4, 360, 22, 16384, 512};
  // A reduce's root among several ranks owns no part: a step longer to fill and to drain, of all that the root sends.
  double relay_us = 4, relay_fold_us = 25, relay_root_us = 30;
  // Where a kernel may have no more blocks than this, a copy engine copies a rank's own block beside it, from this size on:
  // it takes about 5 us to begin, and memory from the kernel. Fewer blocks where that could be stored while it is sent, by a rank
  // that receives nothing.
  int own_beside_blocks = 20, sent_beside_blocks = 10;
  std::size_t own_beside_bytes = std::size_t{4} << 20;
  // The most blocks of kernels of teams (relays, large sends and receives), each of which has a multiprocessor to itself, and the
  // most of a GPU's multiprocessors, as a part of them: so that several communicators, which the ranks may call in different
  // orders, are there at once (docs/decisions/0012-part-of-a-gpu.md).
  int team_blocks = 32, team_parts = 4;
  // A communicator that is made beside others on its GPU has blocks as if so many shared it; likewise what waits there.
  int beside_parts = 3;
  // Multiprocessors that every kernel leaves free. With none, the kernels of two communicators that are called in different orders
  // could fill a GPU each; with some, each has a few channels in common with its peer, which end and make room.
  int free_multiprocessors = 4;
  // Copy engines that write into peers' windows: what the ranks' agreement costs, and the rate out of one GPU.
  double copies_us = 26, copies_gb_per_s = 390;
};

// The most blocks, each with a multiprocessor to itself, of a rank's kernel on a GPU that `ranks` ranks share.
constexpr int MostBlocks(const GpuMachine& machine, int multiprocessors, int ranks) {
  const int free = std::min(machine.free_multiprocessors, multiprocessors / 2);
  return std::max((multiprocessors - free) / ranks, 1);
}

// An operation in which every rank writes at most `sent` bytes into peers' windows by copy engine, us.
constexpr double PredictCopiesUs(const GpuMachine& machine, std::size_t sent) {
  return machine.copies_us + static_cast<double>(sent) / (machine.copies_gb_per_s * 1e3);
}

// Where GPUs exchange data through host memory: what all_reduces of 2 H200 over PCIe 5 took.
GpuMachine StagedGpuMachine();

struct GpuChoice {
  algo::Algorithm algorithm = algo::Algorithm::kOneShot;
  proto::Protocol protocol = proto::Protocol::kSimple;
  int channels = 1;
  int threads = 256;
  std::size_t chunk_bytes = 0;  // of operations of several rounds; 0: as much as a ring takes
  bool direct = false;          // by teams instead of an interpreter of the plan's steps
  double predicted_us = 0;
};

// Whether this way is done by teams of threads that have one direction each: a relay (exec/gpu/relay.h), or sends and
// receives (exec/gpu/transfer.h).
bool IsDirect(algo::Algorithm algorithm, Collective collective, proto::Protocol protocol, int ranks);

// "two_shot LL128, 16 channels of 512 threads".
std::string ToString(const GpuChoice& choice);

struct GpuChooserOptions {
  int ranks = 1;
  int max_channels = 1;
  int max_simple_channels = 128;  // of Simple
  int min_channels = 1;
  bool direct = false;      // what IsDirect may be done so
  bool whole_lines = true;  // lines of 128 bytes arrive whole on all links: LL128 may be used
  GpuMachine machine;
  std::string algo_filter;   // Settings::algo
  std::string proto_filter;  // Settings::proto
};

class GpuChooser {
 public:
  GpuChooser() = default;
  // Fails where a filter names something that does not exist.
  static Result<GpuChooser> Create(const GpuChooserOptions& options);

  // Every allowed way, with its prediction, best first. `bytes`: count * element size. Empty: the filters leave none.
  std::vector<GpuChoice> Candidates(Collective collective, std::size_t bytes);
  // An all_reduce of `bytes` bytes by two shots, the first one in a kernel, the second one by copy engines that write into
  // windows; infinite where the filters leave no kernel.
  double PredictShotsUs(std::size_t bytes);
  // Threads of a block for a channel's messages of that many bytes.
  int Threads(proto::Protocol protocol, double message_bytes) const;

 private:
  struct Known {
    bool known = false;
    plan::Cost cost;
    double message = 0;                     // the largest message, in units of the collective's bytes
    bool is_short[proto::kProtocols] = {};  // has a short form; with LL where it is one round
  };
  const Known& CostOf(const algo::Entry& entry, Collective collective);
  GpuChoice Predict(const algo::Entry& entry, Collective collective, proto::Protocol protocol, std::size_t bytes);

  GpuChooserOptions options_;
  Filters filters_;
  Known known_[algo::kAlgorithms][kCollectives];
};

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_GPU_MODEL_H_
