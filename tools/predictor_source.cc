// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/predictor_source.h"

#include <fmt/format.h>

#include <utility>

#include "comm/agree/machine_file.h"
#include "tools/calibrate.h"
#include "tools/make_predictor.h"

namespace tutti::tools {
namespace {

// The constants of host memory, where they are not the built-in ones.
Result<std::optional<HostFacts>> FindFacts(bool here, const Settings& settings) {
  if (here) {
    const Result<AtInit> found = AskAtInit();
    if (!found.ok()) return found.status();
    return std::optional(HostFacts{.machine = found->machine,
                                   .can_refer = found->can_refer,
                                   .cpus = found->cpus,
                                   .source = "those that a communicator has on this host"});
  }
  if (settings.tuning_file.empty()) return std::optional<HostFacts>();
  const Result<tune::TuningFile> file = comm::LoadTables(settings);
  if (!file.ok()) return file.status();
  if (!file->host) return std::optional<HostFacts>();
  return std::optional(HostFacts{.machine = *file->host, .source = fmt::format("those of {}", settings.tuning_file)});
}

}  // namespace

void AddMemory(CommandLine& line, PredictorSource& source) {
  line.AddFlag("--host-memory", source.host_memory, "buffers in memory of the host, although there are GPUs");
  line.AddFlag("--windows", source.windows, "outputs lie in registered windows, where copy engines may write them");
}

Result<PredictorGround> ReadGround(const PredictorSource& source) {
  Result<SourcedTopology> read = ReadSource(source.topology);
  if (!read.ok()) return read.status();
  PredictorGround ground{.topology = std::move(*read), .facts = std::nullopt};
  const topo::Graph& graph = ground.topology.graph;
  const bool several = graph.hosts().size() > 1 || source.topology.hosts > 1;
  if (source.host_memory || several || graph.All(topo::NodeKind::kGpu, 0).empty()) {
    Result<std::optional<HostFacts>> facts = FindFacts(ground.topology.here, Settings::FromEnvironment());
    if (!facts.ok()) return facts.status();
    ground.facts = std::move(*facts);
  }
  return ground;
}

Result<OpenedPredictor> PredictorOn(const PredictorGround& ground, const PredictorSource& source) {
  Result<SourcedTopology> repeated = Repeat(ground.topology, source.topology.hosts);
  if (!repeated.ok()) return repeated.status();
  OpenedPredictor opened{.topology = std::make_unique<const SourcedTopology>(std::move(*repeated)),
                         .predictor = nullptr};
  const PredictorOptions options{.ranks = source.ranks,
                                 .host_memory = source.host_memory,
                                 .outputs = source.windows ? tune::Outputs::kInWindows : tune::Outputs::kAnywhere,
                                 .settings = Settings::FromEnvironment(),
                                 .facts = ground.facts};
  Result<std::unique_ptr<Predictor>> made = MakePredictor(*opened.topology, options);
  if (!made.ok()) return made.status();
  opened.predictor = std::move(*made);
  return opened;
}

Result<OpenedPredictor> OpenPredictor(const PredictorSource& source) {
  const Result<PredictorGround> ground = ReadGround(source);
  if (!ground.ok()) return ground.status();
  return PredictorOn(*ground, source);
}

}  // namespace tutti::tools
