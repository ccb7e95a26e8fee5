// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/prediction.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::tools {

void PutChosenFirst(std::vector<PredictedWay>& ways, std::size_t chosen) {
  if (chosen < ways.size())
    std::rotate(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(chosen),
                ways.begin() + static_cast<std::ptrdiff_t>(chosen) + 1);
  if (ways.size() > 2) {
    std::stable_sort(ways.begin() + 1, ways.end(),
                     [](const PredictedWay& a, const PredictedWay& b) { return a.us() < b.us(); });
  }
}

LargestPart LargestPartOf(const tune::Terms& terms) {
  using tune::Term;
  const double latency_us = terms[Term::kStart] + terms[Term::kHops] + terms[Term::kMessages], all_us = terms.Sum();
  Term largest = Term::kLinks;
  for (const Term term : {Term::kCopies, Term::kFolds, Term::kNetwork}) {
    if (terms[term] > terms[largest]) largest = term;
  }
  if (latency_us >= terms[largest]) {
    return {
        .name = "latency",
        .sentence = fmt::format("latency: {:.1f} of {:.1f} us, launches {:.1f}, hops {:.1f}, messages {:.1f}",
                                latency_us, all_us, terms[Term::kStart], terms[Term::kHops], terms[Term::kMessages])};
  }
  const std::string name = largest == Term::kNetwork ? "cores, for the network" : std::string(tune::Name(largest));
  return {.name = name,
          .sentence = fmt::format("{}: {:.1f} of {:.1f} us", name, terms[largest], all_us),
          .links = largest == Term::kLinks};
}

}  // namespace tutti::tools
