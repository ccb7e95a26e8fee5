// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_WAYS_H_
#define TUTTI_COMM_GPU_WAYS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tune/gpu_model.h"
#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti::tune::plugin {
class Tuner;
}

namespace tutti::comm {

struct GpuRecipe;

// What is to be done, so many of it as one launch, of so many bytes together.
struct GpuWanted {
  Collective collective;
  std::size_t bytes;
  int root;
  int operations = 1;
};
GpuWanted WantedFor(const Operation& operation);

// The ways of operations that are launched by themselves, or of those that are launched as one: what choices go by, a tuner plugin
// that may choose instead, and what has been decided. Threads: one at a time.
class GpuWays {
 public:
  explicit GpuWays(int ranks);
  ~GpuWays();
  GpuWays(const GpuWays&) = delete;
  GpuWays& operator=(const GpuWays&) = delete;

  // Before the first call of the others. `tuner`: null: there is none.
  Status Start(const tune::GpuChooserOptions& options, std::shared_ptr<tune::plugin::Tuner> tuner);

  // Best first. Before them what a tuner wants.
  std::vector<tune::GpuChoice> Candidates(const GpuWanted& wanted);
  // Where it stands what has been decided for this: for a class of sizes, or for one size that a tuner is asked about.
  GpuRecipe& RecipeFor(const GpuWanted& wanted);
  // Lets a tuner shorten the messages of a recipe that was made of `choice`. `most_bytes`: that a ring can hold.
  void LetTunerCut(const tune::GpuChoice& choice, const GpuWanted& wanted, std::size_t most_bytes, GpuRecipe& recipe);
  // Whether copy engines would be chosen where an operation's output lies in windows. A tuner has no say in this.
  bool CopiesPay(const Operation& operation);

  tune::GpuChooser& chooser() { return chooser_; }

 private:
  struct Decided;

  const int ranks_;
  tune::GpuChooser chooser_;
  const std::unique_ptr<Decided> decided_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_WAYS_H_
