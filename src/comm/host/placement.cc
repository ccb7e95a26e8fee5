// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/placement.h"

#include <fmt/format.h>

#include "comm/meet/rank_list.h"

namespace tutti::comm {

std::string Placement::Describe() const {
  std::string list;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
      if (host_of[rank] == static_cast<std::int32_t>(host)) ranks.push_back(static_cast<int>(rank));
    }
    list += fmt::format("{}{} ({})", host == 0 ? "" : ", ", hosts[host], NamedRanks(ranks));
  }
  return fmt::format("{} hosts: {}", hosts.size(), list);
}

}  // namespace tutti::comm
