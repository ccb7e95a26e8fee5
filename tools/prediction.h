// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PREDICTION_H_
#define TUTTI_TOOLS_PREDICTION_H_

// What is predicted of an operation on a machine: what `tutti expect` and `tutti plan --explain` show.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tune/terms.h"
#include "tutti/types.h"

namespace tutti::tools {

// A way to do an operation, or a part of one.
struct PredictedWay {
  std::string name;  // "two_shot LL128, 16 channels of 512 threads"
  tune::Terms terms;
  double us() const { return terms.Sum(); }
};

// One of several parts that follow each other.
struct PredictedPart {
  std::string what;  // "each host's GPUs: reduce_scatter of 2097152 bytes"
  std::string way;
  double us = 0;
};

// How far predictions were from what was measured.
struct SeenError {
  double error = 0;  // relative: nine of ten were nearer
  int points = 0;
};

struct Prediction {
  std::size_t size = 0;   // of the larger side, as nccl-tests prints it
  std::size_t bytes = 0;  // of a piece: what a rank has to give or to get
  // The chosen way, then what could be done instead, best first. Times are those of the model that choices go by.
  std::vector<PredictedWay> ways;
  std::vector<PredictedPart> parts;  // of the chosen way; none: it has one

  std::string brief;  // the chosen way in few words, for a table
  // Where not times but a rule decides, that rule; empty: times do.
  std::string rule;

  double model_us() const { return ways.front().us(); }  // what ncclGroupSimulateEnd says
  double us = 0;                                         // what is expected
  // Why `us` differs from the model's time, a sentence; empty: it does not.
  std::string why_not_model;
  std::string bound;         // what binds, in a word or two: "NVLink", "latency", "network"
  std::string binding;       // the same in a sentence
  double wire_gb_per_s = 0;  // out of one network card, or port of it; 0: nothing leaves a host
  std::optional<SeenError> error;
};

// Moves the way at `chosen` to the front and orders the others by their times.
void PutChosenFirst(std::vector<PredictedWay>& ways, std::size_t chosen);

// What binds where no link does: the part of a time that is largest, launches, hops and messages together as latency; and how much of
// it that is, "latency: 4.3 of 5.8 us".
struct LargestPart {
  std::string name;
  std::string sentence;
  bool links = false;
};
LargestPart LargestPartOf(const tune::Terms& terms);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PREDICTION_H_
