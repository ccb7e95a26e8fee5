// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TUNE_REGRET_H_
#define TUTTI_TOOLS_TUNE_REGRET_H_

// `tutti tune --regret`: what the library's choices cost on this machine's host memory. For every operation and size the chosen
// way is timed against all others (algorithms, protocols, ways of copying), which take turns on the same buffers and links:
//
//   choose    the library tries ways by calls of its own, as it does in a program, and chooses one
//   screen    every way, in turns, a few rounds
//   final     the chosen way and the fastest others of the screen, round by round in another order
//   confirm   the chosen way and the fastest of the final, in turns again, until their median ratio is known to 2 % (but at most 20 times
//             as many rounds as in the final, or 5 s): that is the regret of this choice
//
// The last stage is there because the fastest of many noisy times is not the fastest way.
//
// All this is done three times, each with a choice of its own, and the regret of a size is the median of the three. A machine's cores may
// become slower or change places between a choice and its judgement, within a second, so that another way is the fastest one. In a program
// such a choice stays for about a second.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tutti/types.h"

namespace tutti::tools {

struct RegretOptions {
  int ranks = 2;
  std::vector<Collective> collectives;
  std::size_t min_bytes = 8;
  std::size_t max_bytes = std::size_t{64} << 20;
  int factor = 4;        // from a size to the next
  int rounds = 5;        // of the final, and of the confirmation at least
  double batch_ms = 2;   // a batch of operations back to back
  std::string raw_file;  // JSON with all times; empty: none
};

// Measures in processes of its own and prints a line for each operation and size, then the mean and the worst. Returns the exit
// code. REQUIRES: this process has one thread.
int MeasureRegret(const RegretOptions& options);

// Of one choice, or of an operation and size: then the choice with the median regret.
struct RegretLine {
  Collective collective = Collective::kAllReduce;
  std::size_t bytes = 0;
  std::string chosen, best;
  double chosen_us = 0, best_us = 0;
  double regret = 0;       // the median of chosen / best in the same round, less 1; 0 where the chosen way is the best
  double uncertainty = 0;  // of that median: half of the interval that holds it in 95 of 100 cases
  std::size_t rounds = 0;  // of the confirmation
  std::vector<double> of_each_choice;  // of an operation and size: all regrets, the least first
};
// The one with the median regret, which knows all of them. REQUIRES: an odd number, of one operation and size.
RegretLine MedianOfChoices(std::vector<RegretLine> choices);
std::string FormatRegret(const RegretLine& line);
// Three lines: how many there are, the mean, the worst, and how many are beyond 10 %; the same of single choices.
std::string SummarizeRegret(std::span<const RegretLine> lines);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TUNE_REGRET_H_
