// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_ALGO_SWITCHES_H_
#define TUTTI_ALGO_SWITCHES_H_

// What the algorithms have in common whose values switches copy and fold (plan.h, "Switches").

#include <span>
#include <string_view>
#include <vector>

#include "algo/algorithm.h"
#include "plan/plan.h"

namespace tutti::algo {

// The operands of a reducing read of what these ranks offer.
std::vector<plan::Operand> Offers(std::span<const std::int32_t> ranks);
// The same of ranks 0, 1, ..., ranks - 1.
std::vector<plan::Operand> OffersOfAll(int ranks);

// Every rank, the nearest ones behind `rank` first and itself last.
std::vector<std::int32_t> AllAfter(int rank, int ranks);

// One way through a switch: a reduce_scatter or reduce is a reducing read, an all_gather or broadcast a multicast.
plan::RankPlan PassSwitchOnce(const Request& request);
// Whether PassSwitchOnce has a plan.
bool PassesSwitchOnce(Collective collective);
// Whether hosts do this by a switch of the network for each rail.
bool RailsPassSwitches(Collective collective, const Hosts& hosts);

// What all entries have in common whose plans need switches: these fold in an order of their own.
Entry InSwitches(Algorithm algorithm, std::string_view name, std::string_view nccl_name,
                 bool (*supports)(Collective collective, const Hosts& hosts),
                 plan::RankPlan (*build)(const Request& request));

}  // namespace tutti::algo

#endif  // TUTTI_ALGO_SWITCHES_H_
