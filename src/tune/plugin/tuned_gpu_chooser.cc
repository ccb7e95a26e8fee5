// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/plugin/tuned_gpu_chooser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "tune/plugin/ask.h"
#include "tune/plugin/named.h"
#include "tune/plugin/tuner.h"

namespace tutti::tune::plugin {
Result<TunedGpuChooser> TunedGpuChooser::Create(std::shared_ptr<Tuner> tuner, const GpuChooserOptions& options) {
  GpuChooserOptions named = options;
  named.algo_filter = NamedAlgorithms(options.algo_filter);
  Result<GpuChooser> chooser = GpuChooser::Create(named);
  if (!chooser.ok()) return chooser.status();
  return TunedGpuChooser(std::move(tuner), std::move(*chooser));
}

TunedGpuChooser::TunedGpuChooser(std::shared_ptr<Tuner> tuner, GpuChooser named)
    : tuner_(std::move(tuner)), named_(std::move(named)) {}

std::vector<GpuChoice> TunedGpuChooser::Order(std::vector<GpuChoice> choices, Collective collective, std::size_t bytes,
                                              std::size_t predicted_bytes, int operations) {
  const std::optional<Question> question = QuestionOf(collective, bytes, tuner_->ranks(), operations);
  if (!question || choices.empty()) return choices;
  std::vector<GpuChoice> all = choices;
  std::vector<Way> ways;
  for (const GpuChoice& choice : choices) ways.push_back(WayOf(choice, Way::Taken::kUnasked));
  for (const GpuChoice& choice : named_.Candidates(collective, predicted_bytes)) {
    const bool is_known = std::ranges::any_of(choices, [&](const GpuChoice& one) {
      return one.algorithm == choice.algorithm && one.protocol == choice.protocol;
    });
    if (is_known) continue;
    ways.push_back(WayOf(choice, Way::Taken::kOnRequest));
    all.push_back(choice);
  }
  const GpuChooserOptions& options = named_.options();
  const Answer answer = Ask(ways, {.least = options.min_channels, .most = options.max_channels},
                            [&](CostTable& table, int& channels) { return tuner_->Ask(*question, table, channels); });
  if (!answer.had_a_say) return choices;
  GpuChoice wanted = all[answer.way];
  if (answer.channels > 0) wanted = named_.WithChannels(wanted, collective, predicted_bytes, answer.channels);
  TUTTI_INFO(log::kTuning, "TUNER/Plugin: {} has {} of {} bytes done by {}", tuner_->title(), Name(collective),
             question->bytes, ToString(wanted));
  choices.insert(choices.begin(), wanted);
  return choices;
}

std::size_t TunedGpuChooser::ChunkBytes(const GpuChoice& choice, Collective collective, std::size_t bytes,
                                        int operations, std::size_t chunk_bytes) {
  const std::optional<Question> question = QuestionOf(collective, bytes, tuner_->ranks(), operations);
  const std::optional<int> row = RowOf(algo::Get(choice.algorithm).nccl_name);
  if (!question || !row) return chunk_bytes;
  return tuner_->AskChunk(*question, *row, choice.protocol, choice.channels, chunk_bytes);
}

}  // namespace tutti::tune::plugin
