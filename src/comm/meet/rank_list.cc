// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rank_list.h"

#include <fmt/format.h>

#include <cstddef>

namespace tutti::comm {

std::string RankList(const std::vector<int>& ranks) {
  constexpr std::size_t kMostRanges = 12;
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (ranges.size() == kMostRanges) {
      ranges.push_back(fmt::format("{} more", ranks.size() - i));
      break;
    }
    if (end - i <= 2) end = i + 1;
    ranges.push_back(end - i == 1 ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    i = end;
  }
  std::string text;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == ranges.size() ? " and " : ", ") + ranges[i];
  }
  return text;
}

std::string NamedRanks(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + RankList(ranks);
}

}  // namespace tutti::comm
