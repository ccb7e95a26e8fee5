// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_TUNED_CHOOSER_H_
#define TUTTI_TUNE_PLUGIN_TUNED_CHOOSER_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "tune/chooser.h"
#include "tutti/status.h"

namespace tutti::tune::plugin {

class Tuner;

// Choices in host memory that a tuner plugin has a say in. What it says is alike on all ranks where the chooser's candidates are.
// Threads: one at a time.
class TunedChooser {
 public:
  // `options`: those of the chooser whose choices the plugin may change. Fails as Chooser::Create.
  static Result<TunedChooser> Create(std::shared_ptr<Tuner> tuner, const ChooserOptions& options);

  // Whether tuners are asked about such operations.
  static bool Asks(Collective collective);
  // What the plugin wants of `bytes`; nothing: it leaves the choice to `chooser`, whose predictions for `predicted_bytes` it is shown.
  std::optional<Choice> Choose(Chooser& chooser, Collective collective, std::size_t bytes, std::size_t predicted_bytes);
  // How long messages of a choice are to be that could have `chunk_bytes`: no longer.
  std::size_t ChunkBytes(const Choice& choice, Collective collective, std::size_t bytes, std::size_t chunk_bytes);

 private:
  TunedChooser(std::shared_ptr<Tuner> tuner, Chooser named, int least_channels, int most_channels);

  std::shared_ptr<Tuner> tuner_;
  Chooser named_;  // of all algorithms that NCCL has names for, and of those only
  int least_channels_, most_channels_;
};

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_TUNED_CHOOSER_H_
