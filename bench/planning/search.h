// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BENCH_PLANNING_SEARCH_H_
#define TUTTI_BENCH_PLANNING_SEARCH_H_

// Fits constants by which NCCL's times are predicted to measured points.

#include <string>
#include <vector>

#include "tools/nccl_score.h"

namespace tutti::bench {

struct Data {
  std::vector<tools::NcclSeries> series;
  std::vector<tools::RingEfficiency> rings;
};

// The constants with which all points but those of a cluster, by name, are predicted best, beginning with others: what Calibrate
// leaves of the error of each cluster, what no calibration leaves, one host, and the ring efficiencies. An error counts by its
// logarithm and up to a bound, so what is far off for a reason of its own draws nothing. Constants that no point asks to change stay
// near those of the beginning. A few seconds.
tune::NcclConstants Fit(const Data& data, const tune::NcclConstants& begin, const std::string& without);

// Sets the errors that predictions come with: nine of ten points of a kind were predicted better. For several hosts by `left_out`, the
// constants that were fitted without each cluster.
void SetErrors(const Data& data, const std::map<std::string, tune::NcclConstants>& left_out,
               tune::NcclConstants& constants);

}  // namespace tutti::bench

#endif  // TUTTI_BENCH_PLANNING_SEARCH_H_
