// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_GPU_FIT_POINTS_H_
#define TUTTI_TOOLS_GPU_FIT_POINTS_H_

// The times of ways that were measured on H200 (tests/planning/points/tutti_ways.csv), as the fit takes them, and how good predictions
// and choices are on them. bench/planning/gpu_points.cc prints that, tests/planning/gpu_model_points_test.cc holds it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tools/gpu_fit.h"
#include "tune/gpu_machine.h"
#include "tutti/status.h"

namespace tutti::tools {

struct GpuPoint {
  // kTable: the points that the page on planning judges by; kPlot: other sizes; kBefore: other ways, by earlier kernels.
  enum class Origin : std::uint8_t { kTable, kPlot, kBefore };

  int ranks = 0;
  std::size_t size = 0;  // of the larger side, bytes
  Origin origin = Origin::kTable;
  GpuMeasurement measurement;
};
// Fails, with the line, for what cannot be read.
Result<std::vector<GpuPoint>> ParseGpuPoints(std::string_view text);

using KeepsGpuPoint = std::function<bool(const GpuPoint&)>;

// The points that `keeps` is true of, by ranks, with what choices among so many H200 go by.
std::vector<GpuRun> RunsOf(std::span<const GpuPoint> points, const KeepsGpuPoint& keeps);
// The same by other times and rates.
std::vector<GpuRun> WithFittedOf(const tune::GpuMachine& machine, std::vector<GpuRun> runs);

// |predicted / measured - 1| of each point, in the order of `points`.
std::vector<double> ErrorsOf(std::span<const GpuPoint> points);

// How much longer chosen ways took than the best ones that were measured, over operations and sizes of which several ways were.
struct GpuRegret {
  int choices = 0, beyond = 0;  // all; those where another way was better
  double mean = 0, worst = 0;   // as a part of the best one's time
};
GpuRegret RegretOf(std::span<const GpuPoint> points);

// The mean error of all points, each by constants that were fitted without those that are `alike` it: two points with the same number
// are. The fits begin with constants that are all off by a quarter, so that nothing of what they were is left. Seconds for each
// number; they run side by side.
struct LeftOutGroup {
  int number = 0, points = 0;
  double mean = 0, worst = 0;
};
std::vector<LeftOutGroup> LeaveOutEach(std::span<const GpuPoint> points,
                                       const std::function<int(const GpuPoint&)>& alike);
// Fitted to all points, likewise.
tune::GpuMachine FitPoints(std::span<const GpuPoint> points);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_GPU_FIT_POINTS_H_
