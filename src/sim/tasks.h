// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_TASKS_H_
#define TUTTI_SIM_TASKS_H_

// Which task can begin when: a stream's tasks follow each other, and a task may wait for others of its rank.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/job.h"

namespace tutti::sim {

class TaskOrder {
 public:
  // REQUIRES: Task::after names tasks that are there. `tasks` must outlive it.
  explicit TaskOrder(std::span<const Task> tasks);

  // Those that wait for nothing.
  std::vector<int> First() const;
  // Calls `begin` for each task that has waited for this one last.
  template <typename Begin>
  void Complete(int task, Begin begin) {
    const auto index = static_cast<std::size_t>(task);
    for (std::uint32_t i = first_[index]; i < first_[index + 1]; ++i) {
      if (--waits_for_[static_cast<std::size_t>(then_[i])] == 0) begin(then_[i]);
    }
  }

 private:
  std::vector<std::uint32_t> waits_for_;  // by task: how many others
  std::vector<std::uint32_t> first_;      // by task: its part of then_, up to that of the next one
  std::vector<int> then_;                 // tasks that wait for it
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_TASKS_H_
