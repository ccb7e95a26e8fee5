// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOPO_SOURCE_H_
#define TUTTI_TOOLS_TOPO_SOURCE_H_

// Where the tools get a machine from: this host, a file, or a name.

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/command_line.h"
#include "topo/graph.h"
#include "topo/machine.h"
#include "tutti/status.h"

namespace tutti::tools {

struct TopoSource {
  std::string file, machine;  // one of them, or none: this host. A machine may be a file, too
  int hosts = 1;              // of a machine's text or name
};

struct SourcedTopology {
  topo::Graph graph;
  std::optional<topo::Machine> machine;         // where it is described by a text
  std::set<std::pair<int, int>> peers_refused;  // as in topo::PolicyOptions
  std::vector<std::string> notes;               // what was assumed
  bool here = false;                            // it is this host
};

// --file, --machine and --hosts.
void AddSource(CommandLine& line, TopoSource& source);

// Fails with a sentence that names the file, its line and the reason, or the machines that have names.
Result<SourcedTopology> ReadSource(const TopoSource& source);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOPO_SOURCE_H_
