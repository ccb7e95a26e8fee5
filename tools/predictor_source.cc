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

Result<OpenedPredictor> OpenPredictor(const PredictorSource& source) {
  Result<SourcedTopology> read = ReadSource(source.topology);
  if (!read.ok()) return read.status();
  Result<SourcedTopology> repeated = Repeat(*read, source.topology.hosts);
  if (!repeated.ok()) return repeated.status();
  OpenedPredictor opened{.topology = std::make_unique<const SourcedTopology>(std::move(*repeated)),
                         .predictor = nullptr};
  PredictorOptions options{.ranks = source.ranks,
                           .host_memory = source.host_memory,
                           .outputs = source.windows ? tune::Outputs::kInWindows : tune::Outputs::kAnywhere,
                           .settings = Settings::FromEnvironment()};
  const topo::Graph& graph = opened.topology->graph;
  const bool needs_host_memory =
      source.host_memory || graph.hosts().size() > 1 || graph.All(topo::NodeKind::kGpu, 0).empty();
  if (needs_host_memory) {
    Result<std::optional<HostFacts>> facts = FindFacts(opened.topology->here, options.settings);
    if (!facts.ok()) return facts.status();
    options.facts = std::move(*facts);
  }
  Result<std::unique_ptr<Predictor>> made = MakePredictor(*opened.topology, options);
  if (!made.ok()) return made.status();
  opened.predictor = std::move(*made);
  return opened;
}

}  // namespace tutti::tools
