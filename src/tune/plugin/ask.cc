// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/plugin/ask.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "tune/plugin/tuner.h"

namespace tutti::tune::plugin {
namespace {

// Which way stands for each cost; none: there is no such way.
using Stands = std::array<std::array<std::optional<std::size_t>, abi::kProtocols>, abi::kAlgorithms>;

// A prediction is no request, however small.
float CostOf(const Way& way) { return std::max(static_cast<float>(way.us), std::numeric_limits<float>::min()); }

Stands FillIn(std::span<const Way> ways, CostTable& table) {
  Stands stands;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const std::optional<int> row = RowOf(ways[i].nccl_name);
    if (!row) continue;
    const int column = static_cast<int>(ways[i].protocol);
    std::optional<std::size_t>& best = stands[*row][column];
    if (best && CostOf(ways[*best]) <= CostOf(ways[i])) continue;
    best = i;
    table.us[*row][column] = CostOf(ways[i]);
  }
  return stands;
}

// The same way with another number of channels: the best of those with so many, else the way itself.
std::size_t WithChannels(std::span<const Way> ways, std::size_t found, int channels) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const Way& way = ways[i];
    if (way.algorithm != ways[found].algorithm || way.protocol != ways[found].protocol || way.channels != channels)
      continue;
    if (!best || way.us < ways[*best].us) best = i;
  }
  return best.value_or(found);
}

}  // namespace

Answer Ask(std::span<const Way> ways, ChannelLimits limits, const Asked& asked) {
  CostTable table;
  const Stands stands = FillIn(ways, table);
  const CostTable before = table;
  int channels = 0;
  if (!asked(table, channels)) return {};
  Answer answer;
  double least = std::numeric_limits<float>::max();  // as NCCL begins
  const auto consider = [&](std::size_t way, double us) {
    if (us < 0 || !(us < least)) return;
    least = us;
    answer.way = way;
  };
  const auto is_changed = [&](int row, int column) { return table.us[row][column] != before.us[row][column]; };
  for (int row = 0; row < abi::kAlgorithms; ++row) {
    for (int column = 0; column < abi::kProtocols; ++column) {
      if (!stands[row][column] || !is_changed(row, column)) continue;
      answer.had_a_say = true;
      consider(*stands[row][column], static_cast<double>(table.us[row][column]));
    }
  }
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const std::optional<int> row = RowOf(ways[i].nccl_name);
    const bool as_predicted = !row || !is_changed(*row, static_cast<int>(ways[i].protocol));
    if (as_predicted && ways[i].taken == Way::Taken::kUnasked) consider(i, ways[i].us);
  }
  if (channels > 0) {
    answer.had_a_say = true;
    answer.channels = std::clamp(channels, limits.least, limits.most);
    answer.way = WithChannels(ways, answer.way, answer.channels);
  }
  return answer;
}

}  // namespace tutti::tune::plugin
