// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/shared_costs.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "sys/os/fork.h"
#include "tune/plan_costs.h"

namespace tutti::comm {
namespace {

struct Table {
  std::mutex mutex;
  std::uint32_t generation = 0;  // of forks: a child's threads cannot go on with what the parent's were finding out
  std::map<std::pair<int, std::vector<std::int32_t>>, std::weak_ptr<tune::PlanCosts>> entries;
};

Table& CostsOfProcess() {
  static auto* const table = [] {
    auto* made = new Table;  // never destroyed: threads may outlive static objects
    sys::FreeInForkedChildren(made->mutex);
    sys::WatchForks();
    return made;
  }();
  return *table;
}

}  // namespace

std::shared_ptr<tune::PlanCosts> SharedCosts(int ranks, std::span<const std::int32_t> host_of) {
  Table& table = CostsOfProcess();
  std::lock_guard lock(table.mutex);
  if (const std::uint32_t now = sys::ForkGeneration(); std::exchange(table.generation, now) != now) {
    table.entries.clear();
  }
  std::weak_ptr<tune::PlanCosts>& entry = table.entries[{ranks, {host_of.begin(), host_of.end()}}];
  if (std::shared_ptr<tune::PlanCosts> known = entry.lock()) return known;
  auto made = std::make_shared<tune::PlanCosts>(host_of.empty() ? algo::Hosts(ranks) : algo::Hosts::ByRank(host_of));
  entry = made;
  std::erase_if(table.entries, [](const auto& item) { return item.second.expired(); });
  return made;
}

}  // namespace tutti::comm
