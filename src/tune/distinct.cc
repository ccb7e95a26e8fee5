// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/distinct.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "plan/plan.h"

namespace tutti::tune {
namespace {

constexpr int kMostRanks = 8;

// The plans of all ranks, by channel.
using Plans = std::vector<std::vector<plan::RankPlan>>;

// Numbers of plans: equal ones have the same.
class Numbers {
 public:
  Numbers(Collective collective, const algo::Hosts& hosts, int root)
      : collective_(collective), hosts_(hosts), root_(root) {}

  std::size_t Of(algo::Algorithm algorithm, int channels) {
    const auto [known, fresh] = numbers_.try_emplace({algorithm, channels}, 0);
    if (!fresh) return known->second;
    Plans plans;
    for (int channel = 0; channel < channels; ++channel)
      plans.push_back(algo::BuildAll(algorithm, collective_, hosts_, root_, channel));
    const auto same = std::ranges::find(plans_, plans);
    known->second = static_cast<std::size_t>(same - plans_.begin());
    if (same == plans_.end()) plans_.push_back(std::move(plans));
    return known->second;
  }

 private:
  const Collective collective_;
  const algo::Hosts& hosts_;
  const int root_;
  std::map<std::pair<algo::Algorithm, int>, std::size_t> numbers_;  // by algorithm and channels
  std::vector<Plans> plans_;
};

}  // namespace

std::vector<Choice> Distinct(std::vector<Choice> ways, Collective collective, const algo::Hosts& hosts, int root) {
  if (hosts.ranks() > kMostRanks) return ways;
  Numbers numbers(collective, hosts, root);
  std::set<std::tuple<std::size_t, proto::Protocol, bool, bool>> known;
  std::erase_if(ways, [&](const Choice& way) {
    const bool in_place = way.by_reference && algo::Get(way.algorithm).in_place_by_reference(collective, hosts);
    return !known.emplace(numbers.Of(way.algorithm, way.channels), way.protocol, way.by_reference, in_place).second;
  });
  return ways;
}

}  // namespace tutti::tune
