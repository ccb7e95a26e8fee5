// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/algorithms_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "plan/cost.h"

namespace tutti::tools {
namespace {

constexpr int kRanks[] = {4, 8, 64};

// "1.75" as people would write it: no zeros at the end.
std::string Short(double value) {
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// "always", "never", "n ≤ 3": for how many ranks a claim holds.
std::string Where(bool (*claim)(Collective, int), Collective collective) {
  int holds = 0;
  while (holds < 64 && claim(collective, holds + 1)) ++holds;
  if (holds == 64) return "yes";
  return holds <= 1 ? "no" : fmt::format("n ≤ {}", holds);
}

std::string Row(const algo::Entry& entry, Collective collective) {
  std::vector<std::string> hops, steps, sent, slots;
  for (int ranks : kRanks) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(entry.algorithm, collective, ranks);
    const plan::Cost cost = plan::Evaluate(plans);
    hops.push_back(std::to_string(cost.hops));
    steps.push_back(std::to_string(cost.steps_max));
    sent.push_back(Short(cost.sent_max));
    slots.push_back(std::to_string(plans[0].link_slots));
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", entry.name, Name(collective), fmt::join(hops, ", "),
                     fmt::join(steps, ", "), fmt::join(sent, ", "), fmt::join(slots, ", "),
                     Reduces(collective) ? Where(entry.rank_ordered, collective) : "–",
                     Where(entry.in_place_by_reference, collective));
}

}  // namespace

std::string AlgorithmsPage() {
  std::string page =
      "| algorithm | collective | hops | steps | bytes sent / S | slots | rank order | by reference |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const algo::Entry& entry : algo::Registry()) {
    for (int i = 0; i < kCollectives; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (entry.supports(collective, kRanks[0])) page += Row(entry, collective);
    }
  }
  return page;
}

}  // namespace tutti::tools
