// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_GPU_FIT_H_
#define TUTTI_TOOLS_GPU_FIT_H_

// From times of operations on GPUs to a table of constants (tune/gpu_machine.h), and what choices by a table cost. Knows no formula
// but the predictions of tune/gpu_model.h, so whatever formula stands there is fitted.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "proto/protocol.h"
#include "tune/gpu_model.h"
#include "tutti/types.h"

namespace tutti::tools {

// The time of one way to do an operation; of kSendRecv, of a send and a receive of every rank.
struct GpuMeasurement {
  Collective collective = Collective::kAllReduce;
  std::size_t bytes = 0;  // count * element size
  bool copies = false;    // by copy engines, of which every rank's write `bytes` bytes; else:
  algo::Algorithm algorithm = algo::Algorithm::kOneShot;
  proto::Protocol protocol = proto::Protocol::kSimple;
  double us = 0;
};

// The times and rates of `options.machine`, changed until the predictions are as near the measurements as they get, in terms of
// ratios; single outliers weigh little. What no measurement speaks of stays as it is, and so do thresholds.
tune::GpuMachine FitGpuMachine(const tune::GpuChooserOptions& options, std::span<const GpuMeasurement> measurements);

// What was measured among some ranks, and what is chosen by there.
struct GpuRun {
  tune::GpuChooserOptions options;
  std::vector<GpuMeasurement> measurements;
};
// The same of several runs, whose machines differ in thresholds only: the first one's machine, with times and rates for all of them.
tune::GpuMachine FitGpuMachine(std::span<const GpuRun> runs);
// `to` with the times and rates of another machine.
tune::GpuMachine WithFittedOf(const tune::GpuMachine& from, tune::GpuMachine to);

// What is predicted for each measurement, us; 0 where its way is none of the chooser's.
std::vector<double> PredictUs(const tune::GpuChooserOptions& options, std::span<const GpuMeasurement> measurements);

// How good a machine's constants are on measurements.
struct FitQuality {
  double median_error = 0;  // of predictions, as a part of the time: 0.1 is 10 %
  double mean_regret = 0;  // how much longer the chosen way took than the best one that was measured, as a part of that
  double worst_regret = 0;
  Collective worst_collective = Collective::kAllReduce;  // where that was
  std::size_t worst_bytes = 0;
  int choices = 0;  // of collectives and sizes
};
FitQuality QualityOf(const tune::GpuChooserOptions& options, std::span<const GpuMeasurement> measurements);

// One line for each constant that differs, "ll_hop_us 1.2 -> 1.34".
std::string DescribeChanges(const tune::GpuTable& before, const tune::GpuTable& after);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_GPU_FIT_H_
