// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_GPU_FACTS_H_
#define TUTTI_TOOLS_GPU_FACTS_H_

#include <string>
#include <vector>

#include "tools/topo_source.h"
#include "tune/gpu_machine.h"
#include "tutti/settings.h"
#include "tutti/status.h"

namespace tutti::tools {

// What choices on GPUs go by.
struct GpuFacts {
  tune::GpuSituation situation;
  bool whole_lines = true;             // lines of 128 bytes arrive whole on all links
  std::vector<tune::GpuTable> stored;  // tables of this machine, before those of the library
  std::vector<std::string> notes;      // what was assumed
};

// The GPUs of the first host of a graph, which so many ranks share. What a graph does not say is what is most likely.
// Fails where a file of tables cannot be read.
Result<GpuFacts> GpuFactsOf(const SourcedTopology& topology, int ranks, const Settings& settings);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_GPU_FACTS_H_
