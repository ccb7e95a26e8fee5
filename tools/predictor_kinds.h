// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PREDICTOR_KINDS_H_
#define TUTTI_TOOLS_PREDICTOR_KINDS_H_

// The kinds of predictors (tools/predictor.h), and what they share. `topology` must outlive them.

#include <memory>
#include <optional>

#include "tools/predictor.h"
#include "tools/simulated.h"

namespace tutti::tools {

// So many ranks on each host.
struct PredictorShape {
  int hosts = 1, ranks_of_host = 1;
  int ranks() const { return hosts * ranks_of_host; }
};

Result<std::unique_ptr<Predictor>> MakeHostMemoryPredictor(const SourcedTopology& topology, const PredictorShape& shape,
                                                           const PredictorOptions& options);
Result<std::unique_ptr<Predictor>> MakeGpuPredictor(const SourcedTopology& topology, const PredictorShape& shape,
                                                    const PredictorOptions& options);
Result<std::unique_ptr<Predictor>> MakeGpuHostsPredictor(const SourcedTopology& topology, const PredictorShape& shape,
                                                         const PredictorOptions& options);

// The bytes of a piece and of the larger side for a size that was asked for.
Prediction PredictionOf(Collective collective, int ranks, std::size_t size);

// Whether a link binds: it is busy for at least half of the time.
bool Binds(const std::optional<LinkLoad>& link, double us);
// Fills in bound and binding, by the busiest link or by the largest part of the chosen way's time.
void SayWhatBinds(const std::optional<LinkLoad>& link, Prediction& prediction);

// The constants of host memory that are used.
HostFacts FactsFor(const PredictorShape& shape, const PredictorOptions& options);

// Hosts of so many ranks each, one after the other; Hosts(n) where there is one.
algo::Hosts HostsFor(const PredictorShape& shape);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PREDICTOR_KINDS_H_
