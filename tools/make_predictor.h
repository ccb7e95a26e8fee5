// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_MAKE_PREDICTOR_H_
#define TUTTI_TOOLS_MAKE_PREDICTOR_H_

#include <memory>

#include "tools/predictor.h"

namespace tutti::tools {

// Fails for one rank, and for machines that such ranks cannot be on. The topology must outlive it.
Result<std::unique_ptr<Predictor>> MakePredictor(const SourcedTopology& topology, const PredictorOptions& options);

// The same hosts several times, joined by one switch: what can be said of hosts like this one. A graph of several hosts is left as
// it is.
Result<SourcedTopology> Repeat(const SourcedTopology& topology, int hosts);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_MAKE_PREDICTOR_H_
