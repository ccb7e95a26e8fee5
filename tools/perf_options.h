// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_OPTIONS_H_
#define TUTTI_TOOLS_PERF_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tutti/settings.h"
#include "tutti/types.h"

namespace tutti::tools {

inline constexpr int kEveryRoot = -1;

// The command line of `tutti perf`. Letters in brackets are nccl-tests' names.
struct PerfOptions {
  Collective collective = Collective::kAllReduce;

  // Sizes [-b -e -i -f], bytes. A factor above 1 wins over the step.
  std::size_t min_bytes = 32 << 20;
  std::size_t max_bytes = 32 << 20;
  std::size_t step_bytes = 1 << 20;
  std::size_t step_factor = 1;
  bool exact_sizes = false;  // do not round a rank's part of a buffer down to 16 bytes, as nccl-tests does
  int unalign = 0;           // [-u] buffers start this many elements behind an aligned address

  std::vector<DataType> types = {DataType::kFloat32};  // [-d]
  std::vector<ReduceOp> ops = {ReduceOp::kSum};        // [-o]
  int root = 0;                                        // [-r] or kEveryRoot

  int iterations = 20;  // [-n]
  int warmup = 1;       // [-w]
  int group = 1;        // [-m] operations per call, run as one
  int checks = 1;       // [-c] runs whose result is checked; 0: none
  enum class Average : std::uint8_t { kRank0, kMean, kMin, kMax };
  Average average = Average::kMean;  // [-a] how the ranks' times become one
  // [-z] a barrier after each iteration: kTimed inside the measured time, kUntimed outside of it.
  enum class Barrier : std::uint8_t { kNone, kTimed, kUntimed };
  Barrier barrier = Barrier::kNone;
  bool rotate = false;  // every iteration on the next piece of the buffers, so that caches do not help
  bool gpu = false;     // buffers in device memory
  bool shared = false;  // buffers from Communicator::AllocateShared

  // Who runs the ranks: a launcher (or nobody: one rank), processes that this command forks, or threads.
  enum class Launch : std::uint8_t { kEnvironment, kProcesses, kThreads };
  Launch launch = Launch::kEnvironment;
  int ranks = 1;  // of kProcesses and kThreads

  std::string algo;                       // Settings::algo, where not empty
  std::string proto;                      // Settings::proto, where not empty
  std::optional<SingleCopy> single_copy;  // Settings::single_copy, where set
  double timeout_s = 0;                   // [-T] Settings::timeout_ms, where not 0
  bool all_algorithms = false;            // every algorithm and protocol that supports the operation, in turn
  bool show_choice = false;               // two more columns: algorithm and protocol
  std::string json;                       // [-J] file; empty: none

  std::vector<std::string> arguments;  // the command line itself, for the JSON file
};

// The options, or the exit code where the command line asks for help or is wrong (both have been printed).
std::variant<PerfOptions, int> ParsePerfOptions(int argc, char** argv);

// The size behind `bytes` of those that -b -e -i -f ask for; nullopt behind the last one.
std::optional<std::size_t> NextSize(const PerfOptions& options, std::size_t bytes);

// The environment's settings with --algo, --proto and -T applied.
Settings SettingsOf(const PerfOptions& options);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_OPTIONS_H_
