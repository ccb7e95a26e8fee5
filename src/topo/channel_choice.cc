// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/channel_choice.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace tutti::topo {
namespace {

constexpr double kAsWell = 1 - 1e-3;  // not worth another search
constexpr double kEnough = 0.99;      // not worth more channels

}  // namespace

ChannelChoice::ChannelChoice(const Placement& placement, std::span<const OrderUse> uses) {
  std::map<std::pair<int, double>, std::size_t> kinds;
  for (std::size_t box = 0; box < placement.boxes().size(); ++box) {
    const int first = placement.boxes()[box].first_alike;
    const auto [found, is_new] = kinds.emplace(std::pair(first, uses[box].at_port), kinds_.size());
    kind_of_.push_back(found->second);
    if (!is_new) continue;
    first_of_.push_back(static_cast<int>(box));
    kinds_.emplace_back(placement.RoutesOf(first), uses[box]);
  }
}

int ChannelChoice::Run(std::int64_t budget) {
  budget_ = budget / static_cast<std::int64_t>(kinds_.size());
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    if (!kinds_[kind].Run(budget_)) return first_of_[kind];
  }
  return -1;
}

double ChannelChoice::bound() const {
  double least = std::numeric_limits<double>::infinity();
  for (const BoxSearch& kind : kinds_) least = std::min(least, kind.bound());
  return least;
}

double ChannelChoice::BoundOf(int channels) const {
  double least = std::numeric_limits<double>::infinity();
  for (const BoxSearch& kind : kinds_) least = std::min(least, kind.BoundOf(channels));
  return least;
}

bool ChannelChoice::finished() const {
  return std::ranges::all_of(kinds_, [](const BoxSearch& kind) { return kind.finished(); });
}

std::int64_t ChannelChoice::visited() const {
  std::int64_t sum = 0;
  for (const BoxSearch& kind : kinds_) sum += kind.visited();
  return sum;
}

double ChannelChoice::RateOf(const std::vector<std::vector<BoxOrder>>& channels) const {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) least = std::min(least, kinds_[kind].RateOf(channels[kind]));
  return least;
}

std::vector<std::vector<BoxOrder>> ChannelChoice::Divide(std::vector<std::vector<BoxOrder>> channels, int count) {
  const double rate = BoundOf(count) / count;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    if (kinds_[kind].RateOf(channels[kind]) >= rate * kAsWell) continue;
    std::vector<BoxOrder> better = kinds_[kind].Divide(count, budget_);
    if (!better.empty()) channels[kind] = std::move(better);
  }
  return channels;
}

void ChannelChoice::Choose(int min_channels, int max_channels) {
  struct Candidate {
    int count;
    double bound;
    double total;
    std::vector<std::vector<BoxOrder>> channels;
  };
  std::vector<Candidate> candidates;
  double best = 0;
  for (int count = min_channels; count <= max_channels; ++count) {
    Candidate candidate{.count = count, .bound = BoundOf(count), .total = 0, .channels = {}};
    for (const BoxSearch& kind : kinds_) candidate.channels.push_back(kind.Round(count));
    candidate.total = count * RateOf(candidate.channels);
    best = std::max(best, candidate.total);
    candidates.push_back(std::move(candidate));
  }
  std::vector<Candidate*> hopeful;
  for (Candidate& candidate : candidates) hopeful.push_back(&candidate);
  std::ranges::stable_sort(hopeful, [](const Candidate* a, const Candidate* b) { return a->bound > b->bound; });
  const auto find_chosen = [&] {
    return std::ranges::find_if(candidates, [&](const Candidate& c) { return c.total >= best * kEnough; });
  };
  for (Candidate* candidate : hopeful) {
    const bool can_be_better = candidate->bound * kAsWell > best;
    const bool can_be_enough = candidate->bound >= best * kEnough && candidate->count < find_chosen()->count;
    if (candidate->total >= candidate->bound * kAsWell || (!can_be_better && !can_be_enough)) continue;
    candidate->channels = Divide(std::move(candidate->channels), candidate->count);
    candidate->total = candidate->count * RateOf(candidate->channels);
    best = std::max(best, candidate->total);
  }
  const auto chosen = find_chosen();
  channels_ = std::move(chosen->channels);
}

}  // namespace tutti::topo
