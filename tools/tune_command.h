// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TUNE_COMMAND_H_
#define TUTTI_TOOLS_TUNE_COMMAND_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::tools {

// `tutti tune [--ranks N] [--op OP] [--calibrate | --gpu] [--constants]`: which algorithm and protocol are chosen for which
// size, and the time that the cost model predicts; --calibrate measures the model's constants on this machine first, --gpu those
// of its GPUs (tune_gpu.h), and nothing else.
int TuneCommand(int argc, char** argv);

// What the library would do for one operation and size.
struct TuneChoice {
  std::string algorithm;  // "two_shot"
  std::string protocol;   // "LL128"; "by-ref" where data is read straight from the sender's memory
  int channels = 1;
  double predicted_us = 0;
};
// `bytes`: Operation::count times the element size, on every rank.
using ChoiceOf = std::function<Result<TuneChoice>(Collective collective, std::size_t bytes)>;

enum class Detail {
  kEverySize,  // one line for each power of two
  kRanges,     // one line for each run of sizes with the same choice
};

// A table for each of `collectives`: 8 B to 1 GiB in powers of two, the choice, and the predicted time.
std::string FormatChoices(std::span<const Collective> collectives, int ranks, Detail detail, const ChoiceOf& choose);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TUNE_COMMAND_H_
