// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_MEDIAN_H_
#define TUTTI_TOOLS_MEDIAN_H_

#include <algorithm>
#include <vector>

namespace tutti::tools {

// The median of these, which may be in any order: of an even number the mean of the middle two. REQUIRES: there is one.
inline double MedianOf(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[values.size() / 2] + values[(values.size() - 1) / 2]) / 2;
}

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_MEDIAN_H_
