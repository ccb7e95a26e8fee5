// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_TURNS_H_
#define TUTTI_COMM_HOST_TURNS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

namespace tutti::comm {

// Of the times of a way's turns in a trial: their mean but for the slowest, in the same unit. As a rule that is the first one of all, in
// which a way is made ready and its pages are touched.
template <std::size_t kTurns>
double MeanButSlowest(std::array<double, kTurns> turns) {
  static_assert(kTurns > 1);
  std::ranges::sort(turns);
  return std::accumulate(turns.begin(), turns.end() - 1, 0.0) / (kTurns - 1);
}

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_TURNS_H_
