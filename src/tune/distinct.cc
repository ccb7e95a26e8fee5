// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/distinct.h"

#include <algorithm>
#include <utility>

#include "plan/plan.h"

namespace tutti::tune {
namespace {

constexpr int kMostRanks = 8;

// What an executor runs of a way.
struct Doing {
  Choice way;
  std::vector<std::vector<plan::RankPlan>> plans;  // by channel, of every rank
  bool refers_in_place = false;

  bool IsAs(const Doing& other) const {
    return way.protocol == other.way.protocol && way.by_reference == other.way.by_reference &&
           refers_in_place == other.refers_in_place && plans == other.plans;
  }
};

Doing Find(const Choice& way, Collective collective, const algo::Hosts& hosts, int root) {
  Doing doing{.way = way};
  for (int channel = 0; channel < way.channels; ++channel)
    doing.plans.push_back(algo::BuildAll(way.algorithm, collective, hosts, root, channel));
  doing.refers_in_place = way.by_reference && algo::Get(way.algorithm).in_place_by_reference(collective, hosts);
  return doing;
}

}  // namespace

std::vector<Choice> Distinct(std::vector<Choice> ways, Collective collective, const algo::Hosts& hosts, int root) {
  if (hosts.ranks() > kMostRanks) return ways;
  std::vector<Doing> known;
  for (const Choice& way : ways) {
    Doing doing = Find(way, collective, hosts, root);
    if (std::ranges::none_of(known, [&](const Doing& other) { return doing.IsAs(other); }))
      known.push_back(std::move(doing));
  }
  ways.clear();
  for (const Doing& doing : known) ways.push_back(doing.way);
  return ways;
}

}  // namespace tutti::tune
