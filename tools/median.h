// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_MEDIAN_H_
#define TUTTI_TOOLS_MEDIAN_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tutti::tools {

// The median of these, which may be in any order: of an even number the mean of the middle two. REQUIRES: there is one.
inline double MedianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

// How far the median of these may be from that of many more like them: half of the interval that holds it in 95 of 100 cases. By order
// statistics: so many of n values are below the median as heads in n throws of a coin, n / 2 with a deviation of sqrt(n) / 2. Of fewer
// than six values the interval is all that they span. REQUIRES: there is one.
inline double UncertaintyOfMedian(std::vector<double> values) {
  std::ranges::sort(values);
  const double n = static_cast<double>(values.size());
  const double low = std::max(std::floor(n / 2 - 0.98 * std::sqrt(n)), 0.0);
  const auto at = static_cast<std::size_t>(low);
  return (values[values.size() - 1 - at] - values[at]) / 2;
}

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_MEDIAN_H_
