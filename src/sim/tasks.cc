// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/tasks.h"

#include <unordered_map>
#include <utility>

namespace tutti::sim {

TaskOrder::TaskOrder(std::span<const Task> tasks) : waits_for_(tasks.size()), first_(tasks.size() + 1) {
  std::unordered_map<std::uint64_t, int> last;  // by rank and stream
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
    const Task& task = tasks[static_cast<std::size_t>(i)];
    const std::uint64_t stream = static_cast<std::uint64_t>(task.rank) << 32 | static_cast<std::uint32_t>(task.stream);
    const auto [before, fresh] = last.try_emplace(stream, i);
    if (!fresh) edges.emplace_back(std::exchange(before->second, i), i);
    for (const int other : task.after) edges.emplace_back(other, i);
  }
  for (const auto& [before, then] : edges) {
    ++first_[static_cast<std::size_t>(before) + 1];
    ++waits_for_[static_cast<std::size_t>(then)];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  then_.resize(edges.size());
  std::vector<std::uint32_t> place(first_.begin(), first_.end() - 1);
  for (const auto& [before, then] : edges) then_[place[static_cast<std::size_t>(before)]++] = then;
}

std::vector<int> TaskOrder::First() const {
  std::vector<int> first;
  for (std::size_t i = 0; i < waits_for_.size(); ++i) {
    if (waits_for_[i] == 0) first.push_back(static_cast<int>(i));
  }
  return first;
}

}  // namespace tutti::sim
