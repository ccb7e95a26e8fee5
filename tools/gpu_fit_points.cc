// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpu_fit_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "algo/algorithm.h"
#include "tools/nccl_points.h"
#include "tools/tune_gpu.h"

namespace tutti::tools {
namespace {

constexpr std::string_view kNames = "operation,ranks,bytes,us,algorithm,protocol,run";
constexpr int kCompute = 90, kMultiprocessors = 132;
constexpr std::string_view kTeams = "teams";

std::optional<algo::Algorithm> FindAlgorithm(std::string_view name) {
  const auto found = std::ranges::find(algo::Registry(), name, &algo::Entry::name);
  if (found == algo::Registry().end()) return std::nullopt;
  return found->algorithm;
}

std::optional<proto::Protocol> FindProtocol(std::string_view name) {
  if (name == kTeams) return proto::Protocol::kSimple;
  for (const proto::Protocol protocol : {proto::Protocol::kLl, proto::Protocol::kLl128}) {
    if (proto::Name(protocol) == name) return protocol;
  }
  return std::nullopt;
}

std::optional<GpuPoint::Origin> FindOrigin(std::string_view name) {
  if (name == "table") return GpuPoint::Origin::kTable;
  if (name == "plot") return GpuPoint::Origin::kPlot;
  if (name == "before") return GpuPoint::Origin::kBefore;
  return std::nullopt;
}

// What choices go by there, with as many channels as the measured kernels had.
tune::GpuChooserOptions OptionsOf(int ranks) {
  constexpr int kOfTwo = 128, kOfMore = 96, kOfSimple = 24;
  const tune::GpuTable& table = tune::FindGpuTable(
      {}, {.gpu = "NVIDIA H200", .compute_capability = kCompute, .multiprocessors = kMultiprocessors, .ranks = ranks});
  return {.ranks = ranks,
          .max_channels = ranks == 2 ? kOfTwo : kOfMore,
          .max_simple_channels = kOfSimple,
          .direct = true,
          .machine = table.machine};
}

std::vector<double> ErrorsOf(const GpuRun& run) {
  std::vector<double> errors = PredictUs(run.options, run.measurements);
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] = std::abs(errors[i] / run.measurements[i].us - 1);
  return errors;
}

// Every second one a quarter larger, the others a fifth smaller.
tune::GpuMachine Disturbed(tune::GpuMachine machine) {
  double factor = 1.25;
  for (const tune::Constant& constant : tune::ConstantsOf(machine)) {
    if (!constant.fitted) continue;
    double& value = *std::get<double*>(constant.value);
    value = std::min(value * factor, constant.most);
    factor = 1 / factor;
  }
  return machine;
}

tune::GpuMachine FitFrom(std::vector<GpuRun> runs) {
  const tune::GpuMachine begin = Disturbed(runs.front().options.machine);
  return FitGpuMachine(WithFittedOf(begin, std::move(runs)));
}

bool IsAny(const GpuPoint&) { return true; }

}  // namespace

Result<std::vector<GpuPoint>> ParseGpuPoints(std::string_view text) {
  const Result<std::vector<std::vector<std::string>>> lines = ParseCsv(text, kNames);
  if (!lines.ok()) return lines.status();
  std::vector<GpuPoint> points;
  for (const std::vector<std::string>& line : *lines) {
    const std::optional<Collective> collective = ParseCollective(line[0]);
    const std::optional<algo::Algorithm> algorithm = FindAlgorithm(line[4]);
    const std::optional<proto::Protocol> protocol = FindProtocol(line[5]);
    const std::optional<GpuPoint::Origin> origin = FindOrigin(line[6]);
    const int ranks = std::atoi(line[1].c_str());
    const std::size_t size = std::strtoull(line[2].c_str(), nullptr, 10);
    const double us = std::atof(line[3].c_str());
    if (!collective || !algorithm || !protocol || !origin || ranks < 2 || size == 0 || !(us > 0)) {
      return Status(
          Code::kInvalidArgument,
          fmt::format("\"{}\" is no measured way: write {}, with the protocol LL, LL128 or {} and the run table, "
                      "plot or before",
                      fmt::join(line, ","), kNames, kTeams));
    }
    points.push_back({.ranks = ranks,
                      .size = size,
                      .origin = *origin,
                      .measurement = {.collective = *collective,
                                      .bytes = MeasuredCount(*collective, size, ranks) * sizeof(float),
                                      .algorithm = *algorithm,
                                      .protocol = *protocol,
                                      .us = us}});
  }
  return points;
}

std::vector<GpuRun> RunsOf(std::span<const GpuPoint> points, const KeepsGpuPoint& keeps) {
  std::map<int, GpuRun> runs;
  for (const GpuPoint& point : points) {
    if (!keeps(point)) continue;
    const auto [at, is_new] = runs.try_emplace(point.ranks);
    if (is_new) at->second.options = OptionsOf(point.ranks);
    at->second.measurements.push_back(point.measurement);
  }
  std::vector<GpuRun> list;
  for (auto& [ranks, run] : runs) list.push_back(std::move(run));
  return list;
}

std::vector<GpuRun> WithFittedOf(const tune::GpuMachine& machine, std::vector<GpuRun> runs) {
  for (GpuRun& run : runs) run.options.machine = WithFittedOf(machine, run.options.machine);
  return runs;
}

std::vector<double> ErrorsOf(std::span<const GpuPoint> points) {
  std::map<int, std::vector<double>> by_ranks;
  for (const GpuRun& run : RunsOf(points, IsAny)) by_ranks[run.options.ranks] = ErrorsOf(run);
  std::map<int, std::size_t> taken;
  std::vector<double> errors;
  for (const GpuPoint& point : points) errors.push_back(by_ranks[point.ranks][taken[point.ranks]++]);
  return errors;
}

GpuRegret RegretOf(std::span<const GpuPoint> points) {
  using Key = std::tuple<int, Collective, std::size_t>;
  const auto key_of = [](const GpuPoint& p) { return Key(p.ranks, p.measurement.collective, p.size); };
  std::map<Key, int> ways;
  for (const GpuPoint& point : points) ++ways[key_of(point)];
  GpuRegret regret;
  for (const auto& [key, count] : ways) {
    if (count < 2) continue;
    const GpuRun run = RunsOf(points, [&, key = key](const GpuPoint& p) { return key_of(p) == key; }).front();
    const double longer = QualityOf(run.options, run.measurements).worst_regret;
    ++regret.choices;
    regret.beyond += longer > 0 ? 1 : 0;
    regret.mean += longer;
    regret.worst = std::max(regret.worst, longer);
  }
  regret.mean /= std::max(regret.choices, 1);
  return regret;
}

std::vector<LeftOutGroup> LeaveOutEach(std::span<const GpuPoint> points,
                                       const std::function<int(const GpuPoint&)>& alike) {
  std::set<int> numbers;
  for (const GpuPoint& point : points) numbers.insert(alike(point));
  std::vector<std::future<LeftOutGroup>> running;
  for (const int number : numbers) {
    running.push_back(std::async(std::launch::async, [points, number, &alike] {
      const tune::GpuMachine machine =
          FitFrom(RunsOf(points, [&](const GpuPoint& point) { return alike(point) != number; }));
      LeftOutGroup group{.number = number};
      for (const GpuRun& run :
           WithFittedOf(machine, RunsOf(points, [&](const GpuPoint& point) { return alike(point) == number; }))) {
        for (const double error : ErrorsOf(run)) {
          ++group.points;
          group.mean += error;
          group.worst = std::max(group.worst, error);
        }
      }
      group.mean /= std::max(group.points, 1);
      return group;
    }));
  }
  std::vector<LeftOutGroup> groups;
  for (std::future<LeftOutGroup>& one : running) groups.push_back(one.get());
  return groups;
}

tune::GpuMachine FitPoints(std::span<const GpuPoint> points) { return FitFrom(RunsOf(points, IsAny)); }

}  // namespace tutti::tools
