// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIM_CASES_H_
#define TUTTI_TOOLS_SIM_CASES_H_

// The machines on which `tutti sim` runs what it is asked for: each of --file and --machine with each of --hosts, sound and then with
// each of --slow.

#include <functional>
#include <string>
#include <vector>

#include "tools/sim_setup.h"
#include "tools/topo_source.h"
#include "tutti/status.h"

namespace tutti::tools {

struct SimOptions;

struct SimCase {
  SourcedTopology topology;
  SimSetup setup;     // refers to `topology`; ranks that are late, and slow cables, are in its options
  std::string name;   // of the machine: its own, else its file's
  std::string fault;  // what is slow, for people; empty: nothing
  int hosts = 1;
  int number = 0;  // of the case, from 0
};

// Calls `run` for one case after the other; each is gone before the next one is made. Ends with the first failure: kInvalidArgument for
// what is wrong with the command line, else what could not be read, or what `run` says.
Status ForEachCase(const SimOptions& options, const std::function<Status(SimCase&)>& run);

// How many there are.
int CountCases(const SimOptions& options);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIM_CASES_H_
