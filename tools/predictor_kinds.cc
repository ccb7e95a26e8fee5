// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/predictor_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tools/perf_shape.h"

namespace tutti::tools {

Prediction PredictionOf(Collective collective, int ranks, std::size_t size) {
  Work work{.collective = collective, .type = DataType::kUint8, .ranks = ranks};
  work.count =
      std::max(CountFor(collective, DataType::kUint8, ranks, size, Rounding::kExact), static_cast<std::size_t>(1));
  Prediction prediction;
  prediction.size = work.bytes();
  prediction.bytes = work.count;
  return prediction;
}

bool Binds(const std::optional<LinkLoad>& link, double us) { return link && us > 0 && link->busy_us >= us / 2; }

void SayWhatBinds(const std::optional<LinkLoad>& link, Prediction& prediction) {
  const double us = prediction.us;
  if (Binds(link, us)) {
    prediction.bound = link->kind;
    prediction.binding =
        fmt::format("{} ({}): it is busy for {:.1f} of {:.1f} us", link->kind, link->name, link->busy_us, us);
    return;
  }
  const LargestPart largest = LargestPartOf(prediction.ways.front().terms);
  prediction.bound = largest.links && link ? link->kind : largest.name;
  prediction.binding = largest.sentence;
  if (link) {
    prediction.binding += fmt::format("; the busiest link, {} ({}), is busy for {:.0f} %", link->kind, link->name,
                                      us > 0 ? 100 * link->busy_us / us : 0);
  }
}

HostFacts FactsFor(const PredictorShape& shape, const PredictorOptions& options) {
  if (options.facts) {
    HostFacts facts = *options.facts;
    if (facts.cpus == 0) facts.cpus = shape.ranks_of_host;
    return facts;
  }
  return {.cpus = shape.ranks_of_host, .source = "built in, of an EPYC with 2 cores; a core for each rank is taken"};
}

algo::Hosts HostsFor(const PredictorShape& shape) {
  if (shape.hosts == 1) return {shape.ranks_of_host};
  const std::vector<int> sizes(static_cast<std::size_t>(shape.hosts), shape.ranks_of_host);
  return algo::Hosts::OfSizes(sizes);
}

}  // namespace tutti::tools
