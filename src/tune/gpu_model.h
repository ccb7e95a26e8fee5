// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_GPU_MODEL_H_
#define TUTTI_TUNE_GPU_MODEL_H_

// The cost model of GPUs that write to each other's memory, and the choice it leads to. In microseconds, for an
// operation of S bytes in a row of such operations,
//
//   T = start + ends * message_end + filling + hops + data                          where ranks wait for each other
//   T = start + ends * message_end + filling + max(hops, share * hops + data)       where what is moved goes one way
//
//   hops = hop + (hops - 1) * later hop
//   data = S * moved / min(channels * channel_rate, link_rate) + S * folded / fold_rate
//
// with hops, ends (messages that the busiest rank sends or takes one after the other), moved (bytes written to peers, or by peers, of the
// busiest rank) and folded, in units of S, from plan::Cost, the others from GpuMachine (tune/gpu_machine.h), per protocol. One way:
// no rank waits for an answer (plan::Cost::one_way), so a rank is at work on the next operation while messages are under way, and of
// hops and data the longer decides. docs/planning.md says how near that comes to measured times. Ranks' choices agree because they
// depend on nothing but what all ranks share.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "plan/cost.h"
#include "plan/forms.h"
#include "proto/protocol.h"
#include "tune/filter.h"
#include "tune/gpu_machine.h"
#include "tutti/status.h"

namespace tutti::tune {

// An operation in which every rank writes at most `sent` bytes into peers' windows by copy engine, us.
constexpr double PredictCopiesUs(const GpuMachine& machine, std::size_t sent) {
  return machine.copies_us + static_cast<double>(sent) / (machine.copies_gb_per_s * 1e3);
}

// A send and the receive of its peer, both ways at once, us: a launch, two ends, a store that arrives, and the data at the link's rate.
double PredictTransferUs(const GpuMachine& machine, std::size_t bytes);

struct GpuChoice {
  algo::Algorithm algorithm = algo::Algorithm::kOneShot;
  proto::Protocol protocol = proto::Protocol::kSimple;
  int channels = 1;
  int threads = 256;
  std::size_t chunk_bytes = 0;  // of operations of several rounds; 0: as much as a ring takes
  bool direct = false;          // by teams instead of an interpreter of the plan's steps
  bool copies = false;  // by copy engines, as far as plan::Forms::copies says; the rest as the best reduce_scatter
  double predicted_us = 0;
};

// Where the outputs of all ranks lie: only into windows can copy engines write.
enum class Outputs : std::uint8_t { kAnywhere, kInWindows };

// "two_shot LL128, 16 channels of 512 threads".
std::string ToString(const GpuChoice& choice);

struct GpuChooserOptions {
  int ranks = 1;
  int max_channels = 1;
  int max_simple_channels = 128;  // of Simple
  int min_channels = 1;
  bool direct = false;  // with Simple, what plan::Forms has for teams is done by them
  // That a kernel can name. Among more, plans go over fixed links (algo::Entry::few_links), folds follow those links instead
  // of the order of ranks, and teams do nothing but moves, by as many launches as there are rounds.
  int most_peers = 1 << 20;
  int rounds = 1;
  bool whole_lines = true;  // lines of 128 bytes arrive whole on all links: LL128 may be used
  GpuMachine machine{};
  std::string algo_filter;   // Settings::algo
  std::string proto_filter;  // Settings::proto
};

class GpuChooser {
 public:
  GpuChooser() = default;
  // Fails where a filter names something that does not exist.
  static Result<GpuChooser> Create(const GpuChooserOptions& options);

  // Every allowed way, with its prediction, best first; behind all others what GpuMachine::transfer_least_bytes says. `bytes`: count *
  // element size. Empty: the filters leave none. Copy engines are among them in windows, unless a filter asks for kernels or ranks do
  // not know alike where the outputs lie (plan::Forms::outputs_alike).
  std::vector<GpuChoice> Candidates(Collective collective, std::size_t bytes, Outputs outputs = Outputs::kAnywhere);
  // The algorithm of whose plan copy engines can do something; nothing: there is none.
  std::optional<algo::Algorithm> AlgorithmOfCopies(Collective collective);
  // From now on by other constants.
  void GoBy(const GpuMachine& machine) { options_.machine = machine; }
  const GpuChooserOptions& options() const { return options_; }
  // The same way with so many channels, as far as there are.
  GpuChoice WithChannels(const GpuChoice& way, Collective collective, std::size_t bytes, int channels) {
    return Predict(algo::Get(way.algorithm), collective, way.protocol, bytes, channels);
  }
  // Threads of a block for a channel's messages of that many bytes.
  int Threads(proto::Protocol protocol, double message_bytes) const;

 private:
  struct Known {
    bool known = false;
    plan::Cost cost;
    plan::Forms forms;
    bool for_teams = false;
    double message = 0;                     // the largest message, in units of the collective's bytes
    double moved = 0;                       // by the busiest rank, likewise
    bool is_short[proto::kProtocols] = {};  // has a short form that saves something
  };
  bool many() const { return options_.ranks - 1 > options_.most_peers; }
  bool GoesOverFixedLinks(const algo::Entry& entry, Collective collective) const {
    return many() && entry.few_links(collective);
  }
  std::vector<plan::RankPlan> PlansOf(const algo::Entry& entry, Collective collective) const;
  // Whether there is a way to do a collective by an algorithm with a protocol.
  bool Has(const algo::Entry& entry, Collective collective, proto::Protocol protocol);
  bool IsPlanOfEarlier(const algo::Entry& entry, Collective collective, const std::vector<plan::RankPlan>& plans) const;
  const Known& CostOf(const algo::Entry& entry, Collective collective);
  // A plan on its way: what its time depends on but channels.
  struct Run {
    const Known& known;
    const GpuWay& way;
    Collective collective;
    proto::Protocol protocol;
    double bytes, message;  // of the collective, and of the largest message
    bool direct, relay;     // by teams; which fold or pass on
    bool lines;             // teams that store lines of LL128
    bool is_short;          // in a short form
    bool chain() const { return known.forms.chain; }
  };
  Run RunOf(const Known& known, Collective collective, proto::Protocol protocol, std::size_t bytes) const;
  // A chain that folds and does best with few channels.
  bool IsLongChain(const Run& run) const;
  // How many pay for messages of so many bytes. `asked`: how many there are to be; 0: as many as pay.
  int ChannelsFor(const Run& run, double message_bytes, int asked) const;
  int EndsOf(const Run& run) const;
  double FillingUs(const Run& run) const;
  double HopsUs(const Run& run) const;
  double DataUs(const Run& run, int channels) const;
  double PredictUs(const Run& run, int channels) const;
  // `channels`: how many there are to be; 0: as many as pay.
  GpuChoice Predict(const algo::Entry& entry, Collective collective, proto::Protocol protocol, std::size_t bytes,
                    int channels = 0);
  // Sends and receives that are too small to have been measured, where there are other ways.
  bool IsLast(const GpuChoice& choice, Collective collective, std::size_t bytes);
  // Nothing where the filters leave no kernel for what copy engines can not do.
  std::optional<GpuChoice> PredictCopies(Collective collective, std::size_t bytes);

  GpuChooserOptions options_;
  Filters filters_;
  Known known_[algo::kAlgorithms][kCollectives];
};

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_GPU_MODEL_H_
