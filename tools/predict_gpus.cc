// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is predicted of the GPUs of one host.
#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "algo/algorithm.h"
#include "tools/gpu_choices.h"
#include "tools/predictor_kinds.h"
#include "tools/tutti_points.h"

namespace tutti::tools {
namespace {

// What links take at least, for each byte of a piece.
constexpr std::size_t kAskedBytes = std::size_t{16} << 20;

class GpuPredictor final : public Predictor {
 public:
  GpuPredictor(const SourcedTopology& topology, const PredictorShape& shape, const GpuFacts& facts, GpuChoices choices,
               tune::Outputs outputs)
      : topology_(topology), choices_(std::move(choices)), outputs_(outputs) {
    about_ = {.machine = topology.graph.name,
              .memory = outputs == tune::Outputs::kInWindows ? "memory of GPUs, outputs in windows" : "memory of GPUs",
              .hosts = 1,
              .ranks = shape.ranks(),
              .notes = topology.notes};
    about_.notes.insert(about_.notes.end(), facts.notes.begin(), facts.notes.end());
    about_.notes.push_back(fmt::format("constants of GPUs: the table {}", choices_.table()));
    if (WasMeasured(facts.situation)) errors_ = &ErrorsOfGpus();
    about_.notes.push_back(
        errors_ != nullptr
            ? errors_->Describe()
            : fmt::format("no error is known: Tutti was not measured among {} ranks on {}; {}", shape.ranks(),
                          facts.situation.gpu.empty() ? "such GPUs" : facts.situation.gpu, ErrorsOfGpus().Describe()));
    const std::vector<int> gpus = topology.graph.All(topo::NodeKind::kGpu, 0);
    for (int rank = 0; rank < shape.ranks(); ++rank) {
      nodes_.push_back(gpus[static_cast<std::size_t>(rank) % gpus.size()]);
    }
  }

  Result<Prediction> Predict(Collective collective, std::size_t size) override {
    Prediction prediction = PredictionOf(collective, choices_.ranks(), size);
    Result<GpuChoices::Ways> found = choices_.Find(collective, prediction.bytes, outputs_);
    if (!found.ok()) return found.status();
    prediction.ways = std::move(found->ways);
    prediction.brief = prediction.ways.front().name;
    prediction.us = prediction.model_us();
    const Result<std::optional<LinkLoad>> links = LinksFor(collective, found->chosen, prediction.bytes);
    if (!links.ok()) return links.status();
    if (*links && (*links)->busy_us > prediction.us) {
      prediction.us = (*links)->busy_us;
      prediction.why_not_model = fmt::format(
          "the time is what {} takes at least; the model, whose constants are those of "
          "other links, has {:.1f} us",
          (*links)->name, prediction.model_us());
    }
    SayWhatBinds(*links, prediction);
    const bool links_bind = LargestPartOf(prediction.ways.front().terms).links && !Binds(*links, prediction.us);
    if (links_bind && found->by_channels) {
      prediction.bound = "channels";
      prediction.binding =
          fmt::format("channels, which are too few or too slow to fill a link; {}", prediction.binding);
    }
    if (errors_ != nullptr) prediction.error = errors_->At(prediction.size);
    return prediction;
  }

 private:
  // The link that is busy longest; nothing where no link is used.
  Result<std::optional<LinkLoad>> LinksFor(Collective collective, const tune::GpuChoice& way, std::size_t bytes) {
    const std::tuple key(collective, way.algorithm);
    auto known = known_.find(key);
    if (known == known_.end()) {
      std::vector<plan::RankPlan> plans;
      const int ranks = choices_.ranks();
      if (collective == Collective::kSendRecv) {
        for (int rank = 0; rank < ranks; ++rank) {
          const algo::Transfer to{.peer = (rank + 1) % ranks, .count = kAskedBytes};
          const algo::Transfer from{.peer = (rank + ranks - 1) % ranks, .count = kAskedBytes};
          plans.push_back(algo::BuildSendRecv(rank, ranks, {&to, 1}, {&from, 1}));
        }
      } else {
        plans = choices_.PlansOf(way, collective);
      }
      const Result<Simulated> simulated = SimulateLinks(topology_, nodes_, std::move(plans), kAskedBytes);
      if (!simulated.ok()) return simulated.status();
      known = known_.emplace(key, simulated->busiest).first;
    }
    std::optional<LinkLoad> load = known->second;
    if (load) load->busy_us *= static_cast<double>(bytes) / kAskedBytes;
    return load;
  }

  const SourcedTopology& topology_;
  GpuChoices choices_;
  tune::Outputs outputs_;
  std::vector<int> nodes_;  // by rank
  std::map<std::tuple<Collective, algo::Algorithm>, std::optional<LinkLoad>> known_;
  const SeenErrors* errors_ = nullptr;  // null: nothing like this was measured
};

}  // namespace

Result<std::unique_ptr<Predictor>> MakeGpuPredictor(const SourcedTopology& topology, const PredictorShape& shape,
                                                    const PredictorOptions& options) {
  const Result<GpuFacts> facts = GpuFactsOf(topology, shape.ranks(), options.settings);
  if (!facts.ok()) return facts.status();
  Result<GpuChoices> choices = GpuChoices::Create(*facts, options.settings);
  if (!choices.ok()) return choices.status();
  return std::unique_ptr<Predictor>(
      std::make_unique<GpuPredictor>(topology, shape, *facts, std::move(*choices), options.outputs));
}

}  // namespace tutti::tools
