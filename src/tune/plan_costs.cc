// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/plan_costs.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tutti::tune {
namespace {

// Roots whose plans together speak for all, as far as times go.
std::vector<int> TypicalRoots(Collective collective, const algo::Hosts& hosts) {
  if (RootsAreAlike(collective, hosts)) return {0};
  std::vector<int> roots;
  for (const int size : {hosts.most(), hosts.fewest()}) {
    int host = 0;
    while (hosts.SizeOf(host) != size) ++host;
    roots.push_back(hosts.RanksOf(host).front());
  }
  return roots;
}

PlanCost FindOut(algo::Algorithm algorithm, Collective collective, const algo::Hosts& hosts) {
  PlanCost cost;
  cost.footprint.collective = collective;
  cost.cost.one_way = true;
  for (const int root : TypicalRoots(collective, hosts)) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(algorithm, collective, hosts, root);
    TakeMost(plan::Evaluate(plans), cost.cost);
    TakeMost(plan::MeasureFootprint(plans), cost.footprint);
    if (hosts.count() > 1) TakeMost(plan::EvaluateNetwork(plans, hosts.host_of()), cost.network);
  }
  return cost;
}

}  // namespace

bool RootsAreAlike(Collective collective, const algo::Hosts& hosts) {
  return !HasRoot(collective) || hosts.most() == hosts.fewest();
}

const PlanCost& PlanCosts::Of(algo::Algorithm algorithm, Collective collective) {
  Slot& slot = slots_[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(collective)];
  std::call_once(slot.once,
                 [&] { slot.cost = std::make_unique<const PlanCost>(FindOut(algorithm, collective, hosts_)); });
  return *slot.cost;
}

int PlanCosts::EndsOfRankZero(algo::Algorithm algorithm, Collective collective) {
  Slot& slot = slots_[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(collective)];
  std::call_once(slot.counted, [&] {
    const plan::RankPlan plan =
        algo::Get(algorithm).build({.collective = collective, .rank = 0, .ranks = hosts_.ranks(), .hosts = hosts_});
    for (int i = 0; i < plan.step_count(); ++i) {
      const plan::Step step = plan.step(i);
      slot.ends += static_cast<int>(step.to.size());
      slot.ends +=
          static_cast<int>(std::ranges::count(step.operands, plan::Operand::Kind::kRecv, &plan::Operand::kind));
    }
  });
  return slot.ends;
}

}  // namespace tutti::tune
