// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/plugin/tuned_chooser.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "tune/plugin/ask.h"
#include "tune/plugin/named.h"
#include "tune/plugin/tuner.h"

namespace tutti::tune::plugin {
namespace {

bool AreAlike(const Choice& a, const Choice& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol && a.by_reference == b.by_reference &&
         a.channels == b.channels;
}

}  // namespace

Result<TunedChooser> TunedChooser::Create(std::shared_ptr<Tuner> tuner, const ChooserOptions& options) {
  ChooserOptions named = options;
  named.algo_filter = NamedAlgorithms(options.algo_filter);
  Result<Chooser> chooser = Chooser::Create(named);
  if (!chooser.ok()) return chooser.status();
  return TunedChooser(std::move(tuner), std::move(*chooser), options.min_channels, options.max_channels);
}

TunedChooser::TunedChooser(std::shared_ptr<Tuner> tuner, Chooser named, int least_channels, int most_channels)
    : tuner_(std::move(tuner)),
      named_(std::move(named)),
      least_channels_(least_channels),
      most_channels_(most_channels) {}

bool TunedChooser::Asks(Collective collective) { return QuestionOf(collective, 0, 1).has_value(); }

std::optional<Choice> TunedChooser::Choose(Chooser& chooser, Collective collective, std::size_t bytes,
                                           std::size_t predicted_bytes) {
  const std::optional<Question> question = QuestionOf(collective, bytes, tuner_->ranks());
  if (!question) return std::nullopt;
  std::vector<Choice> choices = chooser.Candidates(collective, predicted_bytes);
  if (choices.empty()) return std::nullopt;
  std::vector<Way> ways;
  for (const Choice& choice : choices) ways.push_back(WayOf(choice, Way::Taken::kUnasked));
  const std::size_t unasked = choices.size();
  for (const Choice& choice : named_.Candidates(collective, predicted_bytes)) {
    const auto own = choices.begin() + static_cast<std::ptrdiff_t>(unasked);
    if (std::any_of(choices.begin(), own, [&](const Choice& one) { return AreAlike(one, choice); })) continue;
    ways.push_back(WayOf(choice, Way::Taken::kOnRequest));
    choices.push_back(choice);
  }
  const Answer answer = Ask(ways, {.least = least_channels_, .most = most_channels_},
                            [&](CostTable& table, int& channels) { return tuner_->Ask(*question, table, channels); });
  if (!answer.had_a_say) return std::nullopt;
  const Choice& choice = choices[answer.way];
  TUTTI_INFO(log::kTuning, "TUNER/Plugin: {} has {} of {} bytes done by {}", tuner_->title(), Name(collective),
             question->bytes, ToString(choice));
  return choice;
}

std::size_t TunedChooser::ChunkBytes(const Choice& choice, Collective collective, std::size_t bytes,
                                     std::size_t chunk_bytes) {
  const std::optional<Question> question = QuestionOf(collective, bytes, tuner_->ranks());
  const std::optional<int> row = RowOf(algo::Get(choice.algorithm).nccl_name);
  if (!question || !row) return chunk_bytes;
  return tuner_->AskChunk(*question, *row, choice.protocol, choice.channels, chunk_bytes);
}

}  // namespace tutti::tune::plugin
