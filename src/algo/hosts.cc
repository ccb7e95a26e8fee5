// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "algo/algorithm.h"

namespace tutti::algo {

Hosts Hosts::ByRank(std::span<const int> host_of) {
  Table table;
  std::unordered_map<int, std::int32_t> number_of;
  for (const int host : host_of) {
    const auto [known, fresh] = number_of.try_emplace(host, static_cast<std::int32_t>(number_of.size()));
    if (fresh) table.ranks_of.emplace_back();
    std::vector<std::int32_t>& ranks = table.ranks_of[static_cast<std::size_t>(known->second)];
    table.index_of.push_back(static_cast<std::int32_t>(ranks.size()));
    ranks.push_back(static_cast<std::int32_t>(table.host_of.size()));
    table.host_of.push_back(known->second);
  }
  Hosts hosts(static_cast<int>(host_of.size()));
  if (table.ranks_of.size() < 2) return hosts;
  const auto [fewest, most] = std::ranges::minmax(table.ranks_of, {}, [](const auto& ranks) { return ranks.size(); });
  table.fewest = static_cast<int>(fewest.size());
  table.most = static_cast<int>(most.size());
  hosts.table_ = std::make_shared<const Table>(std::move(table));
  return hosts;
}

Hosts Hosts::OfSizes(std::span<const int> sizes) {
  std::vector<int> host_of;
  for (std::size_t host = 0; host < sizes.size(); ++host) {
    host_of.insert(host_of.end(), static_cast<std::size_t>(sizes[host]), static_cast<int>(host));
  }
  return ByRank(host_of);
}

}  // namespace tutti::algo
