// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tools/perf_shape.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kMostRows = 12;

std::string Plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Terms that some way has.
std::vector<tune::Term> TermsIn(const std::vector<PredictedWay>& ways) {
  constexpr double kNothing = 5e-3;
  std::vector<tune::Term> terms;
  for (int i = 0; i < tune::kTerms; ++i) {
    const auto term = static_cast<tune::Term>(i);
    const auto has = [&](const PredictedWay& way) {
      return way.terms[term] >= kNothing || way.terms[term] <= -kNothing;
    };
    if (std::ranges::any_of(ways, has)) terms.push_back(term);
  }
  return terms;
}

std::string TableOf(const std::vector<PredictedWay>& ways) {
  const std::vector<tune::Term> terms = TermsIn(ways);
  std::string text = fmt::format("{:>12} {:>7}", "time (us)", "ratio");
  for (const tune::Term term : terms) text += fmt::format(" {:>10}", tune::Name(term));
  text += "  way\n";
  const double best_us = ways.front().us();
  const std::size_t rows = std::min(ways.size(), kMostRows);
  for (std::size_t i = 0; i < rows; ++i) {
    const PredictedWay& way = ways[i];
    text += fmt::format("{:>12.2f} {:>7.2f}", way.us(), way.us() / best_us);
    for (const tune::Term term : terms) text += fmt::format(" {:>10.2f}", way.terms[term]);
    text += fmt::format("  {}\n", way.name);
  }
  if (rows < ways.size()) {
    text += fmt::format("{} take {:.2f} to {:.2f} times as long\n",
                        Plural(static_cast<int>(ways.size() - rows), "more way"), ways[rows].us() / best_us,
                        ways.back().us() / best_us);
  }
  return text;
}

}  // namespace

Json ExplainAsJson(const Predictor::About& about, Collective collective, const Prediction& prediction) {
  Json json = {{"machine", about.machine},
               {"memory", about.memory},
               {"hosts", about.hosts},
               {"ranks", about.ranks},
               {"notes", about.notes},
               {"operation", Name(collective)},
               {"bytes", prediction.size},
               {"why", SentenceOf(prediction)},
               {"model_us", prediction.model_us()},
               {"us", prediction.us},
               {"busbw_gb_per_s", BusGbPerS(collective, about.ranks, prediction)},
               {"wire_gb_per_s", prediction.wire_gb_per_s > 0 ? Json(prediction.wire_gb_per_s) : Json()},
               {"bound_by", prediction.bound},
               {"error", prediction.error ? Json(prediction.error->error) : Json()}};
  Json ways = Json::Array(), parts = Json::Array();
  for (const PredictedWay& way : prediction.ways) {
    Json terms;
    for (int i = 0; i < tune::kTerms; ++i) {
      const auto term = static_cast<tune::Term>(i);
      terms[std::string(tune::Name(term)) + "_us"] = way.terms[term];
    }
    ways.Append({{"way", way.name}, {"us", way.us()}, {"terms", terms}});
  }
  for (const PredictedPart& part : prediction.parts) {
    parts.Append({{"part", part.what}, {"way", part.way}, {"us", part.us}});
  }
  json["ways"] = ways;
  json["parts"] = parts;
  return json;
}

double BusGbPerS(Collective collective, int ranks, const Prediction& prediction) {
  return AlgorithmBandwidth(prediction.size, prediction.us / 1e6) * BusFactor(collective, ranks);
}

std::string HeadOf(const Predictor::About& about, const std::string& what) {
  std::string text = fmt::format("# {}: {} on {}, {}; {}\n", about.machine.empty() ? "this host" : about.machine,
                                 Plural(about.ranks, "rank"), Plural(about.hosts, "host"), about.memory, what);
  for (const std::string& note : about.notes) text += fmt::format("# {}\n", note);
  return text;
}

std::string ReasonOf(const Prediction& prediction) {
  if (!prediction.rule.empty()) return prediction.rule;
  if (prediction.ways.size() < 2) return "it is the only way here";
  const PredictedWay &best = prediction.ways[0], &other = prediction.ways[1];
  if (other.us() < best.us()) return "it is the fastest for the smallest size that is done alike";
  tune::Term gains = tune::Term::kStart, loses = tune::Term::kStart;
  const auto gain = [&](tune::Term term) { return other.terms[term] - best.terms[term]; };
  for (int i = 0; i < tune::kTerms; ++i) {
    const auto term = static_cast<tune::Term>(i);
    if (gain(term) > gain(gains)) gains = term;
    if (gain(term) < gain(loses)) loses = term;
  }
  constexpr double kSame = 5e-3;
  if (gain(gains) < kSame) return fmt::format("it takes no longer than {} and comes first", other.name);
  std::string reason =
      fmt::format("it takes {:.2f} us less for {} than {}", gain(gains), tune::Name(gains), other.name);
  if (-gain(loses) >= kSame) reason += fmt::format(", though {:.2f} us more for {}", -gain(loses), tune::Name(loses));
  return reason;
}

std::string SentenceOf(const Prediction& prediction) {
  std::string text = fmt::format("{}, because {}", prediction.ways.front().name, ReasonOf(prediction));
  if (prediction.ways.size() > 1) {
    text += fmt::format("; runner-up {} would take {:.2f} times as long", prediction.ways[1].name,
                        prediction.ways[1].us() / prediction.ways[0].us());
  }
  return text + fmt::format("; bound by {}", prediction.binding);
}

std::string Explain(const Predictor::About& about, Collective collective, const Prediction& prediction) {
  std::string text = HeadOf(about, fmt::format("{} of {} bytes", Name(collective), prediction.size));
  text += SentenceOf(prediction) + "\n\n";
  text += fmt::format("by the model, as ncclGroupSimulateEnd   {:.2f} us\n", prediction.model_us());
  text += fmt::format("expected                                {:.2f} us{}\n", prediction.us,
                      prediction.why_not_model.empty() ? "" : ": " + prediction.why_not_model);
  text += fmt::format("bandwidth                               {:.3f} GB/s, bus {:.3f} GB/s\n",
                      AlgorithmBandwidth(prediction.size, prediction.us / 1e6),
                      BusGbPerS(collective, about.ranks, prediction));
  if (prediction.wire_gb_per_s > 0) {
    text += fmt::format("out of the busiest network card         {:.3f} GB/s\n", prediction.wire_gb_per_s);
  }
  if (prediction.error) {
    text += fmt::format(
        "error                                   within {:.0f} % in nine of ten of {} points of such sizes\n",
        100 * prediction.error->error, prediction.error->points);
  }
  if (!prediction.parts.empty()) text += "\n";
  for (const PredictedPart& part : prediction.parts) {
    text += fmt::format("{:>12.2f} us  {}; {}\n", part.us, part.what, part.way);
  }
  return text + "\n" + TableOf(prediction.ways);
}

}  // namespace tutti::tools
