// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/tutti_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>

#include "comm/gpu/predict_hosts.h"
#include "comm/host/predict.h"
#include "plan/plan.h"
#include "tools/gpu_choices.h"
#include "tools/host_choices.h"
#include "tools/nccl_points.h"
#include "tools/perf_shape.h"
#include "tools/point_texts.h"
#include "tune/table.h"

namespace tutti::tools {
namespace {

constexpr std::string_view kH200 = "NVIDIA H200";
constexpr std::string_view kOneHostNames = "operation,ranks,bytes,us";
constexpr std::string_view kHostsNames = "memory,hosts,ranks_per_host,cpus,operation,bytes,us";

// A line of either file, as fields behind those that only one of them has.
struct Line {
  std::string memory = "gpu";
  int hosts = 1, ranks_of_host = 1, cpus = 1;
  Collective collective = Collective::kAllReduce;
  std::size_t size = 0;
  double us = 0;

  int ranks() const { return hosts * ranks_of_host; }
  // Of a piece.
  std::size_t bytes() const { return CountFor(collective, DataType::kUint8, ranks(), size, Rounding::kExact); }
};

std::vector<Line> Read(std::string_view file, std::string_view names) {
  std::vector<Line> lines;
  const Result<std::vector<std::vector<std::string>>> rows = ParseCsv(PointText(file), names);
  if (!rows.ok()) return lines;  // a test reads the files
  for (const std::vector<std::string>& row : *rows) {
    Line line;
    std::size_t at = 0;
    if (row.size() == 7) {
      line.memory = row[at++];
      line.hosts = std::stoi(row[at++]);
      line.ranks_of_host = std::stoi(row[at++]);
      line.cpus = std::stoi(row[at++]);
      line.collective = *ParseCollective(row[at++]);
    } else {
      line.collective = *ParseCollective(row[at++]);
      line.ranks_of_host = std::stoi(row[at++]);
    }
    line.size = std::stoull(row[at++]);
    line.us = std::stod(row[at]);
    lines.push_back(line);
  }
  return lines;
}

std::vector<JudgedPoint> JudgeGpus() {
  std::vector<JudgedPoint> points;
  std::map<int, std::unique_ptr<GpuChoices>> choices;  // by ranks
  for (const Line& line : Read("tutti_one_host.csv", kOneHostNames)) {
    std::unique_ptr<GpuChoices>& own = choices[line.ranks()];
    if (own == nullptr) {
      const GpuFacts facts{
          .situation = {
              .gpu = std::string(kH200), .compute_capability = 90, .multiprocessors = 132, .ranks = line.ranks()}};
      Result<GpuChoices> made = GpuChoices::Create(facts, Settings());
      if (!made.ok()) return points;
      own = std::make_unique<GpuChoices>(std::move(*made));
    }
    const Result<GpuChoices::Ways> ways = own->Find(line.collective, line.bytes(), tune::Outputs::kAnywhere);
    if (!ways.ok()) continue;
    points.push_back({line.collective, line.ranks(), false, line.size, line.us, ways->ways.front().us()});
  }
  return points;
}

Result<HostChoices> ChoicesFor(const Line& line) {
  const std::vector<int> sizes(static_cast<std::size_t>(line.hosts), line.ranks_of_host);
  return HostChoices::Create(algo::Hosts::OfSizes(sizes), Settings(), {.cpus = line.cpus});
}

std::vector<JudgedPoint> JudgeHosts() {
  std::vector<JudgedPoint> points;
  for (const Line& line : Read("tutti_hosts.csv", kHostsNames)) {
    if (line.memory != "host") continue;
    Result<HostChoices> choices = ChoicesFor(line);
    if (!choices.ok()) continue;
    const Operation operation{.kind = line.collective, .count = line.bytes(), .type = DataType::kUint8};
    const Result<double> us = comm::PredictGroupUs(choices->chooser(), {&operation, 1});
    if (us.ok()) points.push_back({line.collective, line.ranks(), choices->crowded(), line.size, line.us, *us});
  }
  return points;
}

std::vector<JudgedPoint> JudgeHostMemory(Constants constants) {
  std::vector<JudgedPoint> points;
  for (const std::string_view file : {"epyc_2_cores.txt", "xeon_16_cores.txt"}) {
    const Result<std::vector<MeasuredHost>> hosts = ParseMeasuredHosts(PointText(file));
    if (!hosts.ok()) continue;  // a test reads the files
    for (const MeasuredHost& host : *hosts) {
      const tune::Machine machine = constants == Constants::kBuiltIn ? tune::Machine() : host.machine;
      Result<HostChoices> choices =
          HostChoices::Create(host.ranks, Settings(), {.machine = machine, .cpus = host.cpus});
      if (!choices.ok()) continue;
      for (const MeasuredSizes& sizes : host.sizes) {
        const std::size_t bytes =
            CountFor(sizes.collective, DataType::kUint8, host.ranks, sizes.size, Rounding::kExact);
        const Result<tune::Choice> way = choices->Choose(sizes.collective, bytes);
        if (!way.ok()) continue;
        const auto found = sizes.us.find(tune::ToString(*way));
        if (found == sizes.us.end()) continue;
        points.push_back({sizes.collective, host.ranks, choices->crowded(), sizes.size, found->second,
                          choices->chooser().PredictUs(*way, sizes.collective, bytes)});
      }
    }
  }
  return points;
}

// Those of the points with so many cores.
SeenErrors With(const std::vector<JudgedPoint>& points, Cores cores, const char* where) {
  std::vector<JudgedPoint> some;
  for (const JudgedPoint& point : points) {
    if (point.crowded == (cores == Cores::kShared)) some.push_back(point);
  }
  return {std::move(some), where};
}

Status Bad(int line, std::string_view what) {
  return Status(Code::kInvalidArgument, fmt::format("line {} of the measured times: {}", line, what));
}

// "all_reduce 8: 0.3 ring LL; 0.4 tree LL".
Result<MeasuredSizes> ParseSizes(const std::string& line, int number) {
  MeasuredSizes sizes;
  const std::size_t blank = line.find(' '), colon = line.find(':');
  const std::optional<Collective> collective = ParseCollective(line.substr(0, blank));
  unsigned long long size = 0;
  if (!collective || blank > colon || std::sscanf(line.c_str() + blank, "%llu", &size) != 1) {
    return Bad(number, "it should begin with an operation and a size");
  }
  sizes.collective = *collective;
  sizes.size = size;
  std::istringstream ways(line.substr(colon + 1));
  for (std::string way; std::getline(ways, way, ';');) {
    double us = 0;
    int end = 0;
    if (std::sscanf(way.c_str(), "%lf %n", &us, &end) != 1 || end == 0 || !(us > 0)) {
      return Bad(number, "a way is a time and a name");
    }
    if (sizes.us.empty()) sizes.best_us = us;
    sizes.us[way.substr(static_cast<std::size_t>(end))] = us;
  }
  return sizes;
}

// Nine of ten are no larger.
SeenError NineOfTen(std::vector<double> errors) {
  std::ranges::sort(errors);
  const std::size_t at = (errors.size() * 9 + 9) / 10 - 1;
  return {.error = errors[at], .points = static_cast<int>(errors.size())};
}

}  // namespace

double JudgedPoint::error() const { return std::abs(predicted_us / measured_us - 1); }

SeenErrors::SeenErrors(std::vector<JudgedPoint> points, std::string where)
    : points_(std::move(points)), where_(std::move(where)) {}

std::optional<SeenError> SeenErrors::At(std::size_t size) const {
  constexpr std::size_t kFactor = 8, kFewest = 10;
  std::vector<double> near, all;
  for (const JudgedPoint& point : points_) {
    all.push_back(point.error());
    if (point.size <= size * kFactor && size <= point.size * kFactor) near.push_back(all.back());
  }
  if (all.empty()) return std::nullopt;
  return NineOfTen(near.size() < kFewest ? all : near);
}

std::string SeenErrors::Describe() const {
  std::vector<double> errors;
  for (const JudgedPoint& point : points_) errors.push_back(point.error());
  if (errors.empty()) return fmt::format("there is no measured point {}", where_);
  return fmt::format("nine of ten of {} points measured {} are within {:.0f} % of what is predicted", errors.size(),
                     where_, 100 * NineOfTen(errors).error);
}

bool WasMeasured(const tune::GpuSituation& situation) {
  int most = 0;
  for (const JudgedPoint& point : ErrorsOfGpus().points()) most = std::max(most, point.ranks);
  return situation.gpu == kH200 && !situation.staged && situation.ranks_per_gpu == 1 && situation.ranks <= most;
}

const SeenErrors& ErrorsOfGpus() {
  static const SeenErrors errors(JudgeGpus(), "on 2 and 4 H200");
  return errors;
}

const SeenErrors& ErrorsOfHostMemory(Constants constants, Cores cores) {
  static const std::vector<JudgedPoint> measured = JudgeHostMemory(Constants::kMeasured),
                                        built_in = JudgeHostMemory(Constants::kBuiltIn);
  constexpr const char *kEnough = "on an EPYC with 2 cores and a Xeon with 16",
                       *kFew = "with 4 ranks on 2 cores of an EPYC";
  static const SeenErrors of_each[2][2] = {
      {With(measured, Cores::kOneForEach, kEnough), With(measured, Cores::kShared, kFew)},
      {With(built_in, Cores::kOneForEach, kEnough), With(built_in, Cores::kShared, kFew)}};
  return of_each[constants == Constants::kMeasured ? 0 : 1][cores == Cores::kOneForEach ? 0 : 1];
}

const SeenErrors& ErrorsOfHosts(Cores cores) {
  static const std::vector<JudgedPoint> all = JudgeHosts();
  static const SeenErrors enough = With(all, Cores::kOneForEach, "between name spaces of an EPYC with 2 cores"),
                          few = With(all, Cores::kShared, "between name spaces of an EPYC whose 2 cores ranks share");
  return cores == Cores::kOneForEach ? enough : few;
}

const SeenErrors& ErrorsOfGpusOfHosts() {
  static const SeenErrors errors(JudgeGpusOfHosts({}), "on one H100 whose ranks count as hosts");
  return errors;
}

std::vector<JudgedPoint> JudgeGpusOfHosts(const tune::AcrossConstants& constants) {
  std::vector<JudgedPoint> points;
  for (const Line& line : Read("tutti_hosts.csv", kHostsNames)) {
    if (line.memory != "gpu") continue;
    Result<HostChoices> choices = ChoicesFor(line);
    if (!choices.ok()) continue;
    const comm::HostsModel model{.rank = 0,
                                 .ranks = line.ranks(),
                                 .across = constants,
                                 .in_host_memory = [&](comm::HostsPlace, std::span<const Operation> operations) {
                                   return comm::PredictGroupUs(choices->chooser(), operations);
                                 }};
    const Work work{
        .collective = line.collective, .type = DataType::kUint8, .ranks = line.ranks(), .count = line.bytes()};
    const std::vector<Operation> operations = OperationsOf(work, {});
    const Result<comm::HostsTime> time = comm::PredictAcrossHosts(model, operations);
    if (time.ok()) points.push_back({line.collective, line.ranks(), false, line.size, line.us, time->us});
  }
  return points;
}

Result<std::vector<MeasuredHost>> ParseMeasuredHosts(std::string_view text) {
  std::vector<MeasuredHost> hosts;
  std::istringstream lines{std::string(text)};
  std::string constants;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("ranks")) {
      MeasuredHost host;
      if (std::sscanf(line.c_str(), "ranks %d cpus %d", &host.ranks, &host.cpus) != 2) {
        return Bad(number, "write: ranks N cpus N");
      }
      hosts.push_back(std::move(host));
      constants.clear();
    } else if (hosts.empty()) {
      return Bad(number, "it belongs to no ranks");
    } else if (line == "[times]") {
      const Result<std::vector<tune::TableText>> tables = tune::SplitTables(constants);
      if (!tables.ok()) return tables.status();
      if (tables->empty()) return Bad(number, "there are no constants before the times");
      const Result<tune::Machine> machine = tune::Machine::Parse(tables->front());
      if (!machine.ok()) return machine.status();
      hosts.back().machine = *machine;
    } else if (line.find(':') == std::string::npos) {
      constants += line + "\n";
    } else {
      Result<MeasuredSizes> sizes = ParseSizes(line, number);
      if (!sizes.ok()) return sizes.status();
      hosts.back().sizes.push_back(std::move(*sizes));
    }
  }
  return hosts;
}

}  // namespace tutti::tools
