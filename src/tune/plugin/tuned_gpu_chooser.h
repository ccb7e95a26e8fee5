// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_PLUGIN_TUNED_GPU_CHOOSER_H_
#define TUTTI_TUNE_PLUGIN_TUNED_GPU_CHOOSER_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "tune/gpu_model.h"
#include "tutti/status.h"

namespace tutti::tune::plugin {

class Tuner;

// As TunedChooser, for kernels on GPUs. The plugin has no say in what copy engines do.
// Threads: one at a time.
class TunedGpuChooser {
 public:
  // `options`: those of the chooser whose choices the plugin may change. Fails as GpuChooser::Create.
  static Result<TunedGpuChooser> Create(std::shared_ptr<Tuner> tuner, const GpuChooserOptions& options);

  // `choices`, which are GpuChooser::Candidates for `predicted_bytes`; before them the one that the plugin wants of `operations`
  // that run as one, of `bytes` together, if it has a say.
  std::vector<GpuChoice> Order(std::vector<GpuChoice> choices, Collective collective, std::size_t bytes,
                               std::size_t predicted_bytes, int operations);
  // As TunedChooser::ChunkBytes.
  std::size_t ChunkBytes(const GpuChoice& choice, Collective collective, std::size_t bytes, int operations,
                         std::size_t chunk_bytes);

 private:
  TunedGpuChooser(std::shared_ptr<Tuner> tuner, GpuChooser named);

  std::shared_ptr<Tuner> tuner_;
  GpuChooser named_;  // of all algorithms that NCCL has names for, and of those only
};

}  // namespace tutti::tune::plugin

#endif  // TUTTI_TUNE_PLUGIN_TUNED_GPU_CHOOSER_H_
