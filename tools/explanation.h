// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_EXPLANATION_H_
#define TUTTI_TOOLS_EXPLANATION_H_

// Predictions as text.

#include <string>

#include "tools/json.h"
#include "tools/prediction.h"
#include "tools/predictor.h"

namespace tutti::tools {

// Why the first of some ways and not the second one: "it takes 1.2 us less for links than one_shot LL, though 0.5 us more for hops".
std::string ReasonOf(const Prediction& prediction);
// "A, because ...; runner-up B would take 1.4 times as long; bound by ...", without an end.
std::string SentenceOf(const Prediction& prediction);
// All of it: the sentence, the figures, the parts and a table of ways.
std::string Explain(const Predictor::About& about, Collective collective, const Prediction& prediction);

// The same figures.
Json ExplainAsJson(const Predictor::About& about, Collective collective, const Prediction& prediction);

// Lines that begin with "# ": whom predictions are about, and what was assumed. `what` ends the first line.
std::string HeadOf(const Predictor::About& about, const std::string& what);

// GB/s.
double BusGbPerS(Collective collective, int ranks, const Prediction& prediction);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_EXPLANATION_H_
