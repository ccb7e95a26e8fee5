// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Says how near the times that the model of GPUs predicts (tune/gpu_model.h) come to those that were measured on H200, and how good
// the ways are that it chooses. The figures of docs/planning.md are what this prints.
//
//   gpu_points [--points FILE] [--show] [--fit FILE]
//
// First the shipped tables: errors by operation and number of ranks, of sizes that the tables were not fitted to, of ways that are not
// chosen any more, and how much longer chosen ways took than the best. Then the form of the model: each operation, each number of ranks
// and each size is left out in turn, and predicted by constants that were fitted without it. --fit writes the constants that are nearest to
// all points of the table, without regard to choices.

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algo/algorithm.h"
#include "tools/command_line.h"
#include "tools/gpu_fit_points.h"
#include "tools/tune_gpu.h"

namespace tutti::bench {
namespace {

using tools::GpuPoint;
using Origin = GpuPoint::Origin;

constexpr double kPercent = 100;

struct Options {
  std::string points = "tests/planning/points/tutti_ways.csv", fit;
  bool show = false;
};

struct Summary {
  int points = 0;
  double sum = 0, worst = 0;
  void Add(double error) {
    ++points;
    sum += error;
    worst = std::max(worst, error);
  }
  std::string Cells() const {
    return fmt::format("{:>5} {:>6.1f} {:>6.1f}", points, kPercent * sum / std::max(points, 1), kPercent * worst);
  }
};

std::vector<GpuPoint> Of(const std::vector<GpuPoint>& points, Origin origin) {
  std::vector<GpuPoint> some;
  std::ranges::copy_if(points, std::back_inserter(some), [&](const GpuPoint& p) { return p.origin == origin; });
  return some;
}

void PrintErrors(const std::vector<GpuPoint>& points) {
  std::map<std::pair<Collective, int>, Summary> by_operation;
  std::map<int, Summary> by_ranks;
  Summary all;
  const std::vector<double> errors = tools::ErrorsOf(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    by_operation[{points[i].measurement.collective, points[i].ranks}].Add(errors[i]);
    by_ranks[points[i].ranks].Add(errors[i]);
    all.Add(errors[i]);
  }
  fmt::print("shipped tables; points, mean and worst error in percent\n");
  for (const auto& [key, summary] : by_operation) {
    fmt::print("{:<15} {} ranks {}\n", Name(key.first), key.second, summary.Cells());
  }
  for (const auto& [ranks, summary] : by_ranks) fmt::print("{:<15} {} ranks {}\n", "all", ranks, summary.Cells());
  fmt::print("{:<15} {:>7} {}\n", "all", "", all.Cells());
}

void PrintMean(std::string_view what, const std::vector<GpuPoint>& points) {
  Summary all;
  for (const double error : tools::ErrorsOf(points)) all.Add(error);
  fmt::print("{:<24}{}\n", what, all.Cells());
}

void PrintRegret(const std::vector<GpuPoint>& points) {
  const tools::GpuRegret regret = tools::RegretOf(points);
  fmt::print(
      "operations and sizes of which several ways were measured: {}; the chosen way took {:.2f} % longer than the best "
      "on "
      "average, {:.1f} % at worst, longer at {}\n",
      regret.choices, kPercent * regret.mean, kPercent * regret.worst, regret.beyond);
}

template <typename Alike, typename NameOf>
void PrintLeftOut(std::string_view what, const std::vector<GpuPoint>& points, Alike alike, NameOf name_of) {
  fmt::print("\nwithout each {} in turn; points, mean and worst error in percent\n", what);
  double sum = 0;
  int count = 0;
  for (const tools::LeftOutGroup& group : tools::LeaveOutEach(points, alike)) {
    fmt::print("{:<24}{:>5} {:>6.1f} {:>6.1f}\n", name_of(group.number), group.points, kPercent * group.mean,
               kPercent * group.worst);
    sum += group.mean * group.points;
    count += group.points;
  }
  fmt::print("{:<24}{:>5} {:>6.1f}\n", "all", count, kPercent * sum / count);
}

void PrintLeaveOuts(const std::vector<GpuPoint>& points) {
  PrintLeftOut(
      "operation", points, [](const GpuPoint& p) { return static_cast<int>(p.measurement.collective); },
      [](int number) { return std::string(Name(static_cast<Collective>(number))); });
  PrintLeftOut(
      "number of ranks", points, [](const GpuPoint& p) { return p.ranks; },
      [](int number) { return fmt::format("{} ranks", number); });
  const auto log2 = [](const GpuPoint& p) {
    int log = 0;
    while (std::size_t{2} << log <= p.size) ++log;
    return log;
  };
  PrintLeftOut("size", points, log2, [](int number) { return fmt::format("{} B", std::size_t{1} << number); });
}

void PrintPoints(const std::vector<GpuPoint>& points) {
  for (const tools::GpuRun& run : tools::RunsOf(points, [](const GpuPoint&) { return true; })) {
    const std::vector<double> us = tools::PredictUs(run.options, run.measurements);
    for (std::size_t i = 0; i < us.size(); ++i) {
      const tools::GpuMeasurement& m = run.measurements[i];
      fmt::print("{:<15} {} {:>12} {:<10} {:<6} {:>9.2f} {:>9.2f} {:>+7.1f}\n", Name(m.collective), run.options.ranks,
                 m.bytes, algo::Get(m.algorithm).name, proto::Name(m.protocol), m.us, us[i],
                 kPercent * (us[i] / m.us - 1));
    }
  }
}

Status Run(const Options& options) {
  std::ifstream file(options.points);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) {
    return Status(Code::kSystem, options.points + " cannot be read; run this in the root of the repository");
  }
  const Result<std::vector<GpuPoint>> all = tools::ParseGpuPoints(text.str());
  if (!all.ok()) return all.status();
  const std::vector<GpuPoint> points = Of(*all, Origin::kTable);
  if (points.empty()) return Status(Code::kInvalidArgument, options.points + " has no point of the run \"table\"");
  PrintErrors(points);
  PrintMean("other sizes", Of(*all, Origin::kPlot));
  PrintMean("other ways, before", Of(*all, Origin::kBefore));
  PrintRegret(*all);
  if (options.show) PrintPoints(*all);
  PrintLeaveOuts(points);
  if (options.fit.empty()) return Status::Ok();
  const tune::GpuTable table = tools::TableOf({.ranks = 2}, tools::FitPoints(points));
  std::ofstream out(options.fit);
  out << table.ToText();
  return out.flush() ? Status::Ok() : Status(Code::kSystem, options.fit + " cannot be written");
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  tutti::bench::Options options;
  tutti::tools::CommandLine line("Says how near predicted times of GPUs come to measured ones.", "gpu_points");
  line.Add("--points", options.points, "the file of measured times of ways");
  line.AddFlag("--show", options.show, "print every point");
  line.Add("--fit", options.fit, "where to write a table with the constants that are nearest to all points");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  const tutti::Status status = tutti::bench::Run(options);
  if (!status.ok()) fmt::print(stderr, "gpu_points: {}\n", status.message());
  return status.ok() ? 0 : 1;
}
