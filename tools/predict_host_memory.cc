// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is predicted of ranks that exchange host memory.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "tools/predictor_kinds.h"
#include "tools/rank_simulation.h"
#include "tools/tutti_points.h"

namespace tutti::tools {
namespace {

class HostMemoryPredictor final : public Predictor {
 public:
  HostMemoryPredictor(const SourcedTopology& topology, const PredictorShape& shape, HostChoices choices,
                      const HostFacts& facts, Constants constants)
      : shape_(shape), choices_(std::move(choices)), simulation_(topology, shape) {
    about_ = {.machine = topology.graph.name,
              .memory = "host memory",
              .hosts = shape.hosts,
              .ranks = shape.ranks(),
              .notes = topology.notes};
    about_.notes.push_back(fmt::format("constants of host memory: {}", facts.source));
    if (choices_.crowded()) {
      about_.notes.push_back(fmt::format("{} ranks of a host share {} cores", shape.ranks_of_host, facts.cpus));
    }
    const Cores cores = choices_.crowded() ? Cores::kShared : Cores::kOneForEach;
    if (shape.hosts == 1) {
      errors_ = &ErrorsOfHostMemory(constants, cores);
    } else {
      about_.notes.push_back("constants of the network: those of TCP between name spaces of one machine");
      if (!simulation_.possible()) errors_ = &ErrorsOfHosts(cores);
    }
    about_.notes.push_back(errors_ != nullptr
                               ? errors_->Describe()
                               : fmt::format("no error is known: Tutti was not measured between such hosts; {}",
                                             ErrorsOfHosts(cores).Describe()));
  }

  Result<Prediction> Predict(Collective collective, std::size_t size) override {
    Prediction prediction = PredictionOf(collective, shape_.ranks(), size);
    Result<std::vector<PredictedWay>> ways = choices_.Ways(collective, prediction.bytes);
    if (!ways.ok()) return ways.status();
    prediction.ways = std::move(*ways);
    prediction.brief = prediction.ways.front().name;
    prediction.us = prediction.model_us();
    std::optional<LinkLoad> busiest;
    if (shape_.hosts > 1) TUTTI_RETURN_IF_ERROR(Simulate(collective, prediction, busiest));
    SayWhatBinds(busiest, prediction);
    if (errors_ != nullptr) prediction.error = errors_->At(prediction.size);
    return prediction;
  }

 private:
  Status Simulate(Collective collective, Prediction& prediction, std::optional<LinkLoad>& busiest) {
    // The simulator gives each rank a core, and knows no way between hosts without cards.
    if (!simulation_.possible() || choices_.crowded()) return Status::Ok();
    const Result<tune::Choice> way = choices_.Choose(collective, prediction.bytes);
    if (!way.ok()) return way.status();
    const Result<Simulated> simulated =
        simulation_.Run(choices_, *way, collective, prediction.bytes, RankSimulation::Among::kAll);
    if (!simulated.ok()) return simulated.status();
    prediction.us = simulated->us;
    prediction.why_not_model = "the time is the simulator's, message by message over the links between the hosts";
    prediction.wire_gb_per_s = simulated->port_bytes / simulated->us / 1e3;
    busiest = simulated->busiest;
    return Status::Ok();
  }

  PredictorShape shape_;
  HostChoices choices_;
  RankSimulation simulation_;
  const SeenErrors* errors_ = nullptr;  // null: nothing like this was measured
};

}  // namespace

Result<std::unique_ptr<Predictor>> MakeHostMemoryPredictor(const SourcedTopology& topology, const PredictorShape& shape,
                                                           const PredictorOptions& options) {
  const HostFacts facts = FactsFor(shape, options);
  Result<HostChoices> choices = HostChoices::Create(HostsFor(shape), options.settings, facts);
  if (!choices.ok()) return choices.status();
  return std::unique_ptr<Predictor>(std::make_unique<HostMemoryPredictor>(
      topology, shape, std::move(*choices), facts, options.facts ? Constants::kMeasured : Constants::kBuiltIn));
}

}  // namespace tutti::tools
