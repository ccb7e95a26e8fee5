// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TUTTI_POINTS_H_
#define TUTTI_TOOLS_TUTTI_POINTS_H_

// Measured times of Tutti, and how far the predictions of this build are from them. They are compared when they are first asked for, so
// that what is said of predictions is true of the constants that made them.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/prediction.h"
#include "tune/across.h"
#include "tune/gpu_machine.h"
#include "tune/machine.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::tools {

// A measured time beside what is predicted for it.
struct JudgedPoint {
  Collective collective = Collective::kAllReduce;
  int ranks = 1;
  bool crowded = false;  // ranks outnumber cores
  std::size_t size = 0;  // of the larger side
  double measured_us = 0, predicted_us = 0;
  double error() const;  // relative
};

// What is known of predictions of a kind.
class SeenErrors {
 public:
  // `where`: completes "on 2 and 4 H200".
  SeenErrors(std::vector<JudgedPoint> points, std::string where);

  const std::vector<JudgedPoint>& points() const { return points_; }
  // Among points whose sizes differ from this one by a factor of 8 at most; among all where those are fewer than 10. Nothing: there are
  // no points.
  std::optional<SeenError> At(std::size_t size) const;
  // "nine of ten of the 198 points that were measured on 2 and 4 H200 are within 31 % of what is predicted".
  std::string Describe() const;

 private:
  std::vector<JudgedPoint> points_;
  std::string where_;
};

// GPUs of one host, by the shipped tables (points/tutti_one_host.csv). WasMeasured: whether these GPUs are such.
const SeenErrors& ErrorsOfGpus();
bool WasMeasured(const tune::GpuSituation& situation);

// Host memory of one host (tests/tune/measured), by the constants that a communicator measured there or by the built-in ones, which are
// of one of these machines.
enum class Constants : std::uint8_t { kMeasured, kBuiltIn };
// Ranks that share cores are predicted worse, so each kind is for itself.
enum class Cores : std::uint8_t { kOneForEach, kShared };
const SeenErrors& ErrorsOfHostMemory(Constants constants, Cores cores);

// Between hosts (points/tutti_hosts.csv): host memory, and memory of GPUs, by the built-in constants.
const SeenErrors& ErrorsOfHosts(Cores cores);
const SeenErrors& ErrorsOfGpusOfHosts();
// The latter by other constants, for the fit.
std::vector<JudgedPoint> JudgeGpusOfHosts(const tune::AcrossConstants& constants);

// A machine on which all ways in host memory were timed, with so many ranks: constants that a communicator measured at init, and times of
// ways by operation and size. What took more than four times as long as the best is left out.
struct MeasuredSizes {
  Collective collective = Collective::kAllReduce;
  std::size_t size = 0;
  double best_us = 0;
  std::map<std::string, double> us;  // by way
};
struct MeasuredHost {
  int ranks = 0, cpus = 0;
  tune::Machine machine;
  std::vector<MeasuredSizes> sizes;
};
// Of the text of a file of tests/tune/measured. Fails, with the line, for what cannot be read.
Result<std::vector<MeasuredHost>> ParseMeasuredHosts(std::string_view text);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TUTTI_POINTS_H_
