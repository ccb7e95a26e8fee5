// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_TURNS_H_
#define TUTTI_COMM_HOST_TURNS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

namespace tutti::comm {

// What both kinds of trials go by, of collectives and of sends.

// A way by reference has no hope beside one through pages, or the other way round, from so many times the better prediction on. What is measured when
// a communicator is made may be wrong by that much once the machine has moved its cores, and how fast the system copies is known least: on an EPYC of
// Zen 5 a gather of 8 MiB among 4 ranks takes 0.6 times as long by reference as through pages, where four times as long is predicted.
inline constexpr double kHopelessByReference = 6;

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
