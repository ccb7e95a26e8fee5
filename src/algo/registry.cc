// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "algo/algorithm.h"
#include "algo/build.h"
#include "base/words.h"

namespace tutti::algo {
namespace {

const std::array<Entry, kAlgorithms + kSwitchAlgorithms>& Entries() {
  static const std::array<Entry, kAlgorithms + kSwitchAlgorithms> kEntries = {
      OneShotEntry(),
      TwoShotEntry(),
      RingEntry(),
      TreeEntry(),
      DoubleTreeEntry(),
      HalvingDoublingEntry(),
      RecursiveDoublingEntry(),
      PatEntry(),
      PairwiseEntry(),
      HierLeaderEntry(),
      HierOneShotEntry(),
      HierTwoShotEntry(),
      HierRingEntry(),
      HierTreeEntry(),
      HierHalvingDoublingEntry(),
      HierRecursiveDoublingEntry(),
      NvlsEntry(),
      NvlsTreeEntry(),
      NvlsSharpEntry(),
      SharpEntry(),
      CollnetDirectEntry(),
      CollnetChainEntry(),
  };
  return kEntries;
}

std::vector<plan::RankPlan> BuildEach(Algorithm algorithm, Request request) {
  std::vector<plan::RankPlan> plans;
  plans.reserve(request.ranks);
  for (request.rank = 0; request.rank < request.ranks; ++request.rank) {
    plans.push_back(Get(algorithm).build(request));
  }
  return plans;
}

}  // namespace

bool MayRefer(const Entry& entry, Collective collective, const Hosts& hosts) {
  return collective == Collective::kAllToAll || entry.in_place_by_reference(collective, hosts) ||
         (entry.apart_by_reference != nullptr && entry.apart_by_reference(collective, hosts));
}

std::span<const Entry> Registry() { return std::span(Entries()).first(kAlgorithms); }

std::span<const Entry> WholeRegistry() { return Entries(); }

const Entry& Get(Algorithm algorithm) { return Entries()[static_cast<std::size_t>(algorithm)]; }

std::optional<Algorithm> ParseAlgorithm(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const Entry& entry : WholeRegistry()) {
    if (EqualIgnoringCase(name, entry.name) || EqualIgnoringCase(name, entry.nccl_name)) return entry.algorithm;
  }
  return std::nullopt;
}

std::vector<plan::RankPlan> BuildAll(Algorithm algorithm, Collective collective, const Hosts& hosts, int root,
                                     int channel) {
  return BuildEach(
      algorithm,
      {.collective = collective, .rank = 0, .ranks = hosts.ranks(), .root = root, .channel = channel, .hosts = hosts});
}

std::vector<plan::RankPlan> BuildAllOverFixedLinks(Algorithm algorithm, Collective collective, int ranks, int root) {
  return BuildEach(algorithm, {.collective = collective, .rank = 0, .ranks = ranks, .root = root, .fixed_links = true});
}

}  // namespace tutti::algo
