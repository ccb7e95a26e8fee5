// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_PLANNER_H_
#define TUTTI_COMM_GPU_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti {
struct Settings;
namespace algo {
enum class Algorithm : std::uint8_t;
}
namespace exec::gpu {
struct PreparedPlan;
}  // namespace exec::gpu
namespace proto {
enum class Protocol : std::uint8_t;
}
namespace transport::p2p {
struct Sections;
}
namespace tune {
struct GpuChoice;
class GpuChooser;
struct GpuMachine;
namespace plugin {
class Tuner;
}
}  // namespace tune
}  // namespace tutti

namespace tutti::comm {

struct GpuLimits;
struct GpuRecipe;

// Chooses how calls are done on GPUs, and keeps the plans that were chosen. Decided as it is first needed; alike on all ranks.
// Threads: one at a time.
class GpuPlanner {
 public:
  GpuPlanner(int rank, int ranks);
  GpuPlanner(const GpuPlanner&) = delete;
  GpuPlanner& operator=(const GpuPlanner&) = delete;
  ~GpuPlanner();
  // What choices go by. Before the first call of the others. `tuner`: a plugin that may choose instead; null: there is none.
  Status Start(const tune::GpuMachine& machine, const GpuLimits& limits, const transport::p2p::Sections& sections,
               const Settings& settings, std::shared_ptr<tune::plugin::Tuner> tuner);

  // For an operation that is launched by itself.
  Result<const GpuRecipe*> FindRecipe(Collective collective, std::size_t bytes, int root);
  // For several that are alike, of so many bytes together, as one launch.
  Result<const GpuRecipe*> FindBatchRecipe(Collective collective, std::size_t bytes, int root, int operations);
  // How to launch operations that are alike as one; null: one by one.
  Result<const GpuRecipe*> FindBatchRecipe(std::span<const Operation* const> alike);
  // The cost model's estimate for them, us; and for one whose output lies in windows, where copy engines do it.
  Result<double> PredictAlikeUs(std::span<const Operation* const> alike);
  Result<double> PredictCopiesUs(const Operation& operation);
  // In a given way, for tests and measurements: by itself, or as one of several.
  enum class Launched : std::uint8_t { kAlone, kInABatch };
  Result<GpuRecipe> RecipeOf(const tune::GpuChoice& way, Collective collective, int root, Launched launched);
  // Whether an operation takes so long that it is launched by itself.
  bool IsLong(const GpuRecipe& recipe) const;
  // Threads of a block of a batch for a channel's messages of that many bytes.
  int ThreadsOfBatch(proto::Protocol protocol, std::size_t message_bytes) const;
  // Whether a plan can be run step by step with this protocol; else why not.
  Status CanRunSteps(const exec::gpu::PreparedPlan& plan, proto::Protocol protocol) const;
  // The most channels of a kernel that runs a plan.
  int MostChannels(const exec::gpu::PreparedPlan& plan, proto::Protocol protocol) const;
  Result<const exec::gpu::PreparedPlan*> FindPlan(algo::Algorithm algorithm, Collective collective, int root);

  // The plan of which copy engines can do something (plan::Forms::copies), where an operation's output lies in windows; null:
  // there is none.
  const exec::gpu::PreparedPlan* CopiesOf(const Operation& operation);
  // Whether a way with them would be chosen there.
  bool CopiesPay(const Operation& operation);

  // A send and the receive of its peer, us.
  double PredictTransferUs(std::size_t bytes) const;
  // What would be chosen: "two_shot LL128, 16 channels".
  std::string Explain(const Operation& operation);
  tune::GpuChooser& chooser();

 private:
  struct Known;

  // `direct`: by teams, not step by step. Errors: the plan can not be run so.
  Result<GpuRecipe> RecipeFor(const exec::gpu::PreparedPlan& plan, const tune::GpuChoice& way, bool direct) const;

  const int rank_;
  const int ranks_;
  const std::unique_ptr<Known> known_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_PLANNER_H_
