// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/health_expect.h"

#include <fmt/format.h>

namespace tutti::tools {
namespace {

constexpr double kUsualError = 0.6;  // where nothing like it was measured

}  // namespace

HealthExpectation::HealthExpectation(const PredictorGround& ground, int hosts, int ranks, bool host_memory)
    : ground_(ground), host_memory_(host_memory) {
  if (ranks > 1) within_ = Open(1, ranks);
  if (hosts > 1) between_ = Open(2, 1);
  if (hosts * ranks > 1) all_ = Open(hosts, ranks);
}

std::optional<OpenedPredictor> HealthExpectation::Open(int hosts, int ranks) {
  PredictorSource source{.ranks = ranks, .host_memory = host_memory_};
  source.topology.hosts = hosts;
  Result<OpenedPredictor> opened = PredictorOn(ground_, source);
  if (opened.ok()) return std::move(*opened);
  notes_ += fmt::format("of {} host{} with {} rank{} nothing can be expected: {}\n", hosts, hosts == 1 ? "" : "s",
                        ranks, ranks == 1 ? "" : "s", opened.status().message());
  return std::nullopt;
}

std::optional<HealthExpectation::Figure> HealthExpectation::Ask(OpenedPredictor& predictor, Collective collective,
                                                                std::size_t bytes) {
  // Sizes are those of the larger side. A transfer is of one rank, so its size is that of a send.
  const Result<Prediction> prediction = predictor.predictor->Predict(collective, bytes);
  if (!prediction.ok()) {
    notes_ += prediction.status().message() + "\n";
    return std::nullopt;
  }
  return Figure{.us = prediction->us, .error = prediction->error ? prediction->error->error : kUsualError};
}

void HealthExpectation::Expect(bool within, int links_at_once, Transfer& transfer) {
  std::optional<OpenedPredictor>& predictor = within ? within_ : between_;
  if (!predictor) return;
  const auto key = std::pair(within, static_cast<std::size_t>(transfer.bytes));
  auto known = known_.find(key);
  if (known == known_.end()) known = known_.emplace(key, Ask(*predictor, Collective::kSendRecv, key.second)).first;
  if (!known->second) return;
  const double share = within || transfer.small != 0 ? 1 : links_at_once;
  transfer.expected_us = known->second->us * share;
  transfer.expected_error = known->second->error;
}

std::optional<double> HealthExpectation::AllReduceUs(std::size_t bytes) {
  if (!all_) return std::nullopt;
  const std::optional<Figure> figure = Ask(*all_, Collective::kAllReduce, bytes);
  return figure ? std::optional(figure->us) : std::nullopt;
}

}  // namespace tutti::tools
