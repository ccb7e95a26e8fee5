// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/ring_choice.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "topo/paths.h"
#include "topo/placement.h"
#include "topo/prediction.h"
#include "topo/rank_orders.h"
#include "topo/search.h"

namespace tutti::topo {
namespace {

constexpr std::size_t kFewestRanks = 4;  // that can stand in a ring in different orders
constexpr double kWorthIt = 1.05;

// Whether all pairs of different GPUs are joined in the same way.
bool AreAlike(const Graph& graph, std::span<const int> gpus) {
  std::optional<std::pair<PathType, double>> first;
  for (const int from : gpus) {
    const Paths paths(graph, from);
    for (const int to : gpus) {
      if (from == to) continue;
      const std::pair own(paths.type(to), paths.gb_per_s(to));
      if (first.value_or(own) != own) return false;
      first = own;
    }
  }
  // What lies on the way may be shared, unless it is a switch of NVLinks.
  return !first || first->first <= PathType::kNvl;
}

SearchOptions OptionsOf(const ChannelBounds& bounds) {
  return {.min_channels = bounds.min_channels,
          .max_channels = bounds.max_channels,
          .cross_nic = static_cast<CrossNic>(bounds.cross_nic),
          .budget = bounds.budget};
}

double RateOf(const Placement& placement, const RankRing& ring) {
  return PredictRings(placement, std::span(&ring, 1)).gb_per_s;
}

}  // namespace

Result<std::vector<int>> ChooseRing(const Graph& graph, std::span<const int> gpus, const PolicyOptions& policy,
                                    const ChannelBounds& bounds) {
  if (gpus.size() < kFewestRanks || AreAlike(graph, gpus)) return std::vector<int>();
  const Result<Placement> placement = Placement::Make(graph, gpus, policy);
  if (!placement.ok()) return placement.status();
  const Result<SearchResult> found = SearchRings(*placement, OptionsOf(bounds));
  if (!found.ok()) return found.status();
  const Result<std::vector<RankRing>> rings = MakeRings(*placement, found->boxes);
  if (!rings.ok()) return rings.status();
  RankRing own{.ranks = std::vector<int>(gpus.size()), .crossings = std::vector<Crossing>(gpus.size())};
  std::iota(own.ranks.begin(), own.ranks.end(), 0);
  const RankRing* best = &own;
  double most = RateOf(*placement, own) * kWorthIt;
  for (const RankRing& ring : *rings) {
    const double rate = RateOf(*placement, ring);
    if (rate <= most) continue;
    best = &ring;
    most = rate;
  }
  return best == &own ? std::vector<int>() : best->ranks;
}

Result<std::vector<Channels>> SearchChannels(const Graph& graph, std::span<const int> gpus, const PolicyOptions& policy,
                                             const ChannelBounds& bounds) {
  const Result<Placement> placement = Placement::Make(graph, gpus, policy);
  if (!placement.ok()) return placement.status();
  std::vector<Channels> all;
  const Result<SearchResult> rings = SearchRings(*placement, OptionsOf(bounds)),
                             trees = SearchTrees(*placement, OptionsOf(bounds));
  for (const Result<SearchResult>* found : {&rings, &trees}) {
    if (!found->ok()) return found->status();
    all.push_back((*found)->boxes.front().channels);
  }
  return all;
}

std::vector<int> RanksAlong(const ChannelOrder& channel, std::span<const int> gpus) {
  std::vector<int> ranks;
  if (channel.gpus.size() != gpus.size()) return ranks;
  for (const int gpu : channel.gpus) {
    const auto own = std::ranges::find(gpus, gpu);
    if (own == gpus.end() || std::ranges::count(gpus, gpu) > 1) return {};
    ranks.push_back(static_cast<int>(own - gpus.begin()));
  }
  std::vector<int> sorted = ranks;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end() ? ranks : std::vector<int>();
}

}  // namespace tutti::topo
