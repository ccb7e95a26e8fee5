// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_CHOOSER_H_
#define TUTTI_TUNE_CHOOSER_H_

// Chooses algorithm, protocol and copy mode for a collective and size from the cost model (model.h). The choice
// depends only on data that all ranks share, because it is not negotiated per call.

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algo/algorithm.h"
#include "proto/protocol.h"
#include "tune/filter.h"
#include "tune/model.h"
#include "tutti/status.h"

namespace tutti::tune {

struct Choice {
  algo::Algorithm algorithm = algo::Algorithm::kOneShot;
  proto::Protocol protocol = proto::Protocol::kSimple;
  bool by_reference = false;  // large blocks are read straight from the sender's memory
  int channels = 1;
  double predicted_us = 0;
};

// Settings::algo and Settings::proto: sets of algo::Algorithm and proto::Protocol. Fail where they name something that
// does not exist.
Result<Filters> ParseFilters(std::string_view algo_filter, std::string_view proto_filter);

// "two_shot Simple", "ring LL128, by reference".
std::string ToString(const Choice& choice);

struct ChooserOptions {
  int ranks = 1;
  int cpus = 1;  // usable by all ranks together
  Machine machine;
  std::string algo_filter;   // Settings::algo
  std::string proto_filter;  // Settings::proto
  bool can_refer = false;    // every rank can read every other's memory
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
  // How a single send or receive crosses.
  Choice ChooseTransfer(std::size_t bytes) const;

  // Every allowed (algorithm, protocol, copy mode) with its prediction, best first.
  std::vector<Choice> Candidates(Collective collective, std::size_t bytes);

  // The names of algorithms that NCCL has and this library has not, where the filter has some: they are ignored.
  const std::vector<std::string>& ignored_algorithms() const { return filters_.algorithms.ignored(); }

  // What a plan asks for, the same on all ranks. REQUIRES: the algorithm supports the collective.
  const PlanCost& CostOf(algo::Algorithm algorithm, Collective collective);

 private:
  void AddCandidates(const algo::Entry& entry, Collective collective, std::size_t bytes,
                     std::vector<Choice>& candidates);

  ChooserOptions options_;
  Filters filters_;
  std::array<std::array<std::optional<PlanCost>, kCollectives>, algo::kAlgorithms> costs_;
};

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_CHOOSER_H_
