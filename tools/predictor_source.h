// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PREDICTOR_SOURCE_H_
#define TUTTI_TOOLS_PREDICTOR_SOURCE_H_

// How the commands that predict are told whom it is about: this host, a file or a name, how many hosts, ranks and which memory.

#include <memory>
#include <optional>

#include "tools/command_line.h"
#include "tools/predictor.h"
#include "tools/topo_source.h"
#include "tutti/status.h"

namespace tutti::tools {

struct PredictorSource {
  TopoSource topology;
  int ranks = 0;  // PredictorOptions::ranks
  bool host_memory = false, windows = false;
};

// --host-memory and --windows.
void AddMemory(CommandLine& line, PredictorSource& source);

// What it is about, and who says so.
struct OpenedPredictor {
  std::unique_ptr<const SourcedTopology> topology;
  std::unique_ptr<Predictor> predictor;
};

// What predictions of this host, a file or a name start from, whoever the ranks are.
struct PredictorGround {
  SourcedTopology topology;
  std::optional<HostFacts> facts;  // PredictorOptions::facts
};

// Of `source.topology`, without the hosts that are like it. Where it is this host, finds out the constants of host memory, which takes
// some tenths of a second. REQUIRES: this process has one thread.
Result<PredictorGround> ReadGround(const PredictorSource& source);
// Of so many hosts and ranks as `source` says. Fails as OpenPredictor does. Any thread.
Result<OpenedPredictor> PredictorOn(const PredictorGround& ground, const PredictorSource& source);

// Both. With the settings of the environment, as a communicator reads them. Where the machine is this host, the constants of host memory are
// those that a communicator finds out, which takes some tenths of a second. Fails with a sentence that names what is wrong. REQUIRES:
// this process has one thread.
Result<OpenedPredictor> OpenPredictor(const PredictorSource& source);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PREDICTOR_SOURCE_H_
