// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_CHOOSER_H_
#define TUTTI_TUNE_CHOOSER_H_

// Chooses algorithm, protocol and copy mode for a collective and size from the cost model (model.h). The choice
// depends only on data that all ranks share, because it is not negotiated per call.
//
// Left alone, reductions are folded in the one order that algo::Entry::rank_ordered speaks of, whatever the constants
// (docs/decisions/0002-rank-order.md). Only where that sends far more than there has to be, another order is taken, and which is
// a rule of shape and size: OrderOf.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algo/algorithm.h"
#include "proto/protocol.h"
#include "tune/choice.h"
#include "tune/filter.h"
#include "tune/machine.h"
#include "tutti/status.h"

namespace tutti::plan {
struct Footprint;
}

namespace tutti::tune {

struct PlanCost;
class PlanCosts;
struct Ranks;

// Settings::algo and Settings::proto: sets of algo::Algorithm and proto::Protocol. Fail where they name something that
// does not exist.
Result<Filters> ParseFilters(std::string_view algo_filter, std::string_view proto_filter);

// The only algorithm that reductions of so many bytes may take unasked; nothing: all with the one order of folding may.
std::optional<algo::Algorithm> OrderOf(Collective collective, const algo::Hosts& hosts, std::size_t bytes);

struct ChooserOptions {
  int ranks = 1;
  algo::Hosts hosts = {};  // which rank is on which; Hosts(): all are on one
  // What other choosers have found out for the same ranks and hosts, and will; null: nothing.
  std::shared_ptr<PlanCosts> costs = nullptr;
  int cpus = 1;  // usable by all ranks of a host together
  Machine machine;
  std::string algo_filter;   // Settings::algo
  std::string proto_filter;  // Settings::proto
  bool can_refer = false;    // every rank can read the memory of every other one of its host
  bool force_reference = false;
  int min_channels = 1;
  int max_channels = 1;
  // Largest message that the executor makes, 0: it can not run that (exec::cpu::ChunkRules).
  std::function<std::size_t(const plan::Footprint&, proto::Protocol, bool by_reference, int channels)> chunk_bytes;
  std::function<std::size_t(proto::Protocol, bool by_reference)> transfer_chunk_bytes;
};

class Chooser {
 public:
  Chooser() = default;
  // Fails where a filter names something that does not exist.
  static Result<Chooser> Create(const ChooserOptions& options);

  // The best choice for `bytes` = count * element size (per rank: see Operation). Fails where the filters leave
  // nothing that can do it.
  Result<Choice> Choose(Collective collective, std::size_t bytes);
  // How a single send or receive crosses, and every allowed way with its prediction, best first.
  Choice ChooseTransfer(std::size_t bytes) const;
  std::vector<Choice> TransferCandidates(std::size_t bytes) const;

  // Every allowed (algorithm, protocol, copy mode) with its prediction, best first.
  std::vector<Choice> Candidates(Collective collective, std::size_t bytes);

  // What a way of the candidates takes for so many bytes, us. kSendRecv: a send and a receive of every rank, by a way of
  // TransferCandidates; among several hosts to another host, which does not count in choosing, since all ranks choose one way whoever
  // the peer is. REQUIRES: the algorithm supports the collective, and MessageBytes is not 0.
  double PredictUs(const Choice& way, Collective collective, std::size_t bytes);
  // The largest message that the executor makes; 0: it cannot run this.
  std::size_t MessageBytes(const Choice& way, Collective collective);
  // The constants of a way across links.
  Way ConstantsOf(const Choice& way, Collective collective) const;
  // From now on by other constants.
  void GoBy(const Machine& machine) { options_.machine = machine; }

  // The names of algorithms that NCCL has and this library has not, where the filter has some: they are ignored.
  const std::vector<std::string>& ignored_algorithms() const { return filters_.algorithms.ignored(); }

  // What a plan asks for, the same on all ranks. REQUIRES: the algorithm supports the collective.
  //
  // Roots: where hosts have equally many ranks, plans of different roots are each other's with ranks renumbered, so root 0 speaks
  // for all. Elsewhere this is the most of two roots, one in a host with most ranks and one in a host with fewest. That is good
  // enough to predict a time, not to run a plan: FootprintOf is.
  const PlanCost& CostOf(algo::Algorithm algorithm, Collective collective);
  // What the plans of this root ask for, over all ranks. All ranks know the root of an operation, so they agree on this. Of uneven
  // hosts it takes time to build every rank's plan: keep it. REQUIRES: as of CostOf.
  plan::Footprint FootprintOf(algo::Algorithm algorithm, Collective collective, int root);

  const ChooserOptions& options() const { return options_; }
  // Which rank is on which host.
  const algo::Hosts& hosts() const { return options_.hosts; }

 private:
  Ranks WhoRuns() const;
  // kBest: candidates that cannot be the best one may be missing, so that nobody finds out what their plans cost.
  enum class Wanted : std::uint8_t { kBest, kAll };
  std::vector<Choice> Candidates(Collective collective, std::size_t bytes, Wanted wanted);
  // Of the algorithms that `filtered` (by the user's filter) and `order` leave.
  std::vector<Choice> Collect(Collective collective, std::size_t bytes, std::optional<algo::Algorithm> order,
                              bool filtered, Wanted wanted);
  double LeastUs(const algo::Entry& entry, Collective collective) const;
  double TransferUs(const Choice& way, std::size_t bytes, const PlanCost& cost) const;
  void AddCandidates(const algo::Entry& entry, Collective collective, std::size_t bytes, int max_channels,
                     std::vector<Choice>& candidates);

  ChooserOptions options_;
  Filters filters_;
  std::shared_ptr<PlanCosts> costs_;
};

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_CHOOSER_H_
