// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIM_OPTIONS_H_
#define TUTTI_TOOLS_SIM_OPTIONS_H_

// The command line of `tutti sim`, and what its words mean.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algo/algorithm.h"
#include "proto/protocol.h"
#include "sim/merge.h"
#include "tutti/status.h"

namespace tutti::tools {

class CommandLine;

// As given. What is a list was written with commas.
struct SimOptions {
  std::string collective;
  std::vector<std::string> files, machines, hosts;
  std::vector<std::string> algorithms, protocols, channels, chunks;
  std::vector<std::string> sizes;
  std::string begin = "8", end = "1G";
  int factor = 8;
  std::vector<std::string> workloads;
  std::vector<std::string> late, slow;
  std::string gdr_level;
  std::string trace, goal, json;
  int seed = 1;
  bool merge = false;
};

void AddSimOptions(CommandLine& line, SimOptions& options);

// Ways to try: each algorithm in all protocols, with all numbers of channels and all largest messages.
struct SimWays {
  std::vector<algo::Algorithm> algorithms;  // none: every one that there is
  std::vector<proto::Protocol> protocols;
  std::vector<int> channels;
  std::vector<std::uint64_t> chunks;
  sim::Merge merge = sim::Merge::kNo;  // of algorithms that can: the name of a way says whether it does
};

// One algorithm goes by Simple on one channel unless protocols and channels are given; where there are several, or none is named, each
// of them tries all protocols on 1, 8 and 32 channels. Messages have at most 512 KiB unless that is given. Fails with a sentence that
// says what would be right.
Result<SimWays> WaysOf(const SimOptions& options);

// --sizes, or those from --minbytes to --maxbytes. Bytes, ascending; at least one, none of them 0.
Result<std::vector<std::size_t>> SizesOf(const SimOptions& options);

// "step" of "jobs/step.txt".
std::string StemOf(std::string_view path);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIM_OPTIONS_H_
