// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_ENTRY_H_
#define TUTTI_COMM_HOST_ENTRY_H_

#include <cstdint>
#include <memory>

#include "comm/host/recipe.h"

namespace tutti::comm {

class Trials;

// How a collective is done in a size class, from a root. Decided at its first use.
struct Entry {
  static constexpr std::uint64_t kNever = std::uint64_t{1} << 62;

  Recipe recipe;
  std::uint64_t left = kNever;  // calls until one needs Planner::Try, that one included; whoever makes a call counts it
  std::uint64_t granted = kNever;  // what `left` was at first
  std::unique_ptr<Trials> trials;  // since the first of them

  Entry();
  Entry(Entry&&) noexcept;
  Entry& operator=(Entry&&) noexcept;
  ~Entry();
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_ENTRY_H_
