// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/algorithms_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "plan/cost.h"
#include "plan/network.h"

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
std::string Where(bool (*claim)(Collective, const algo::Hosts&), Collective collective) {
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

std::vector<algo::Hosts> HostShapes() {
  const std::vector<std::vector<int>> sizes = {{4, 4}, {4, 4, 4, 4}, {8, 8, 5}};
  std::vector<algo::Hosts> shapes;
  for (const std::vector<int>& of_host : sizes) shapes.push_back(algo::Hosts::OfSizes(of_host));
  return shapes;
}

// "yes", "no", "h ≤ 2": for how many hosts of 4 ranks the order of folding is that of hosts.
std::string WhereByHosts(const algo::Entry& entry, Collective collective) {
  int holds = 1;
  while (holds < 16) {
    const std::vector<int> sizes(static_cast<std::size_t>(holds + 1), 4);
    if (!entry.rank_ordered(collective, algo::Hosts::OfSizes(sizes))) break;
    ++holds;
  }
  if (holds == 16) return "yes";
  return holds == 1 ? "no" : fmt::format("h ≤ {}", holds);
}

std::string HostsRow(const algo::Entry& entry, Collective collective) {
  std::vector<std::string> hops, rank, host, links, slots;
  for (const algo::Hosts& hosts : HostShapes()) {
    const std::vector<plan::RankPlan> plans = algo::BuildAll(entry.algorithm, collective, hosts);
    const plan::NetworkCost cost = plan::EvaluateNetwork(plans, hosts.host_of());
    hops.push_back(std::to_string(cost.hops));
    rank.push_back(Short(std::max(cost.sent_max, cost.received_max)));
    host.push_back(Short(std::max(cost.host_sent_max, cost.host_received_max)));
    links.push_back(std::to_string(cost.links_max));
    slots.push_back(std::to_string(plans[0].link_slots));
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", entry.name, Name(collective), fmt::join(hops, ", "),
                     fmt::join(rank, ", "), fmt::join(host, ", "), fmt::join(links, ", "), fmt::join(slots, ", "),
                     Reduces(collective) ? WhereByHosts(entry, collective) : "–");
}

}  // namespace

std::string HierarchyPage() {
  std::string page =
      "| algorithm | collective | hops | bytes of a rank / S | of a host / S | links | slots | order of hosts |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const algo::Entry& entry : algo::WholeRegistry()) {
    for (int i = 0; i < kCollectives; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (!entry.supports(collective, kRanks[0]) && entry.supports(collective, HostShapes()[0])) {
        page += HostsRow(entry, collective);
      }
    }
  }
  return page;
}

std::string AlgorithmsPage() {
  std::string page =
      "| algorithm | collective | hops | steps | bytes sent / S | slots | rank order | by reference |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const algo::Entry& entry : algo::WholeRegistry()) {
    for (int i = 0; i < kCollectives; ++i) {
      const auto collective = static_cast<Collective>(i);
      if (entry.supports(collective, kRanks[0])) page += Row(entry, collective);
    }
  }
  return page;
}

}  // namespace tutti::tools
