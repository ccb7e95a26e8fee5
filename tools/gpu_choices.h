// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_GPU_CHOICES_H_
#define TUTTI_TOOLS_GPU_CHOICES_H_

// What communicators of the GPUs of one host would choose on a machine that need not be there, and how long that takes.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/gpu_facts.h"
#include "tools/prediction.h"
#include "tools/simulated.h"
#include "tools/topo_source.h"
#include "tune/gpu_model.h"
#include "tutti/operation.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::comm {
class GpuPlanner;
}

namespace tutti::tools {

class GpuChoices {
 public:
  // As communicators with these settings would choose among so many ranks of one host. Fails for more ranks than kernels serve, and
  // where the settings name what does not exist.
  static Result<GpuChoices> Create(const GpuFacts& facts, const Settings& settings);
  GpuChoices(GpuChoices&&) noexcept;
  GpuChoices& operator=(GpuChoices&&) noexcept;
  ~GpuChoices();

  int ranks() const { return ranks_; }
  const std::string& table() const { return table_; }
  tune::GpuChooser& chooser();

  // All ways of a collective of so many bytes, the chosen one first, then the others, best first; `by_channels`, of the chosen one:
  // its channels bind before a link does. kSendRecv speaks for one send and one receive of every rank.
  struct Ways {
    std::vector<PredictedWay> ways;
    tune::GpuChoice chosen;
    bool by_channels = false;
  };
  Result<Ways> Find(Collective collective, std::size_t bytes, tune::Outputs outputs);
  // Operations that are called as one, us; as a GpuQueue predicts them whose buffers are in no window.
  Result<double> PredictGroupUs(std::span<const Operation> operations);
  // The ways of such operations, "two_shot LL128, 16 channels of 512 threads", and the parts of their time.
  Result<PredictedWay> DescribeGroup(std::span<const Operation> operations);
  // The plans of a choice, as kernels run them.
  std::vector<plan::RankPlan> PlansOf(const tune::GpuChoice& way, Collective collective) const;

 private:
  GpuChoices(int ranks, std::string table, std::unique_ptr<comm::GpuPlanner> planner);

  int ranks_;
  std::string table_;
  std::unique_ptr<comm::GpuPlanner> planner_;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_GPU_CHOICES_H_
