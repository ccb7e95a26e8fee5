// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Fits the constants by which NCCL's times are predicted (tune/nccl_model.h) to measured points, and says how good predictions are.
//
//   nccl_fit [--points FOLDER] [--begin FILE] [--constants FILE] [--left-out FILE] [--json FILE] [--show CLUSTER]
//
// Every cluster of several hosts is left out in turn: the constants are fitted without it, its shortest and its longest point then
// say what its fabric and its slowest link give (tune::Calibrate), and all others of its points are predicted. The table has
// NCCL's own formula and a closed form beside it. One host and the ring efficiencies are part of every fit. The figures of
// docs/planning.md are what this prints:
//
//   nccl_fit --constants constants.txt --left-out tests/planning/left_out.txt --json predicted.json

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/planning/search.h"
#include "tools/command_line.h"
#include "tools/json.h"
#include "tools/nccl_points.h"
#include "tools/nccl_score.h"

namespace tutti::bench {
namespace {

using tools::Json;
using tools::Judged;
using tune::NcclConstants;

constexpr int kPredictors = 3;

struct Options {
  std::string points = "tests/planning/points", begin = "bench/planning/begin.txt";
  std::string constants, left_out, json, show;
};

// All judged points by cluster.
using Table = std::map<std::string, std::vector<Judged>>;

Result<std::string> Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return Status(Code::kSystem, path + " cannot be read; run this in the root of the repository");
  return text.str();
}

Status Write(const std::string& path, const std::string& text) {
  if (path.empty()) return Status::Ok();
  std::ofstream file(path);
  file << text;
  return file.flush() ? Status::Ok() : Status(Code::kSystem, path + " cannot be written");
}

Result<Data> Load(const std::string& folder) {
  const Result<std::string> series = Read(folder + "/series.csv"), points = Read(folder + "/points.csv"),
                            rings = Read(folder + "/ring_efficiency.csv");
  for (const Result<std::string>* text : {&series, &points, &rings}) {
    if (!text->ok()) return text->status();
  }
  auto all = tools::ParseNcclPoints(*series, *points);
  if (!all.ok()) return all.status();
  auto efficiencies = tools::ParseRingEfficiency(*rings);
  if (!efficiencies.ok()) return efficiencies.status();
  return Data{*std::move(all), *std::move(efficiencies)};
}

// For each cluster that has a point to predict.
std::map<std::string, NcclConstants> FitWithoutEach(const Data& data, const NcclConstants& begin) {
  constexpr std::size_t kInputs = 2;
  std::map<std::string, std::future<NcclConstants>> running;
  for (const auto& [name, cluster] : tools::ClustersOf(data.series, "reach")) {
    if (cluster.points.size() <= kInputs) continue;
    running[name] = std::async(std::launch::async, [&data, &begin, name] { return Fit(data, begin, name); });
  }
  std::map<std::string, NcclConstants> fitted;
  for (auto& [name, future] : running) fitted[name] = future.get();
  return fitted;
}

std::string Cells(const tools::Score& score) {
  if (score.points == 0) return fmt::format("{:>6} {:>6} {:>6}", "-", "-", "-");
  return fmt::format("{:>6.1f} {:>6.1f} {:>6.1f}", 100 * score.mean, 100 * score.within_20, 100 * score.worst);
}

void PrintPoint(const Judged& point) {
  fmt::print("  {:<24} {:>12.0f} {:>10.1f} {:>10.1f} {:>+7.1f}   {} {}, {} channels, {}{}\n", point.series,
             point.measured.bytes, point.measured.us, point.predicted.us,
             100 * (point.predicted.us / point.measured.us - 1), Name(point.predicted.way.algorithm),
             proto::Name(point.predicted.way.protocol), point.predicted.channels, Name(point.predicted.bound),
             point.input ? ", input" : "");
}

// A row per cluster, then one for all.
void Print(std::string_view title, const Table& table, const std::string& show) {
  fmt::print("\n{}: errors in percent: mean, share of points within 20, worst\n", title);
  fmt::print("{:<18} {:>6}  {:^20}  {:^20}  {:^20}\n", "cluster", "points", "this model", "NCCL's formula",
             "closed form");
  std::vector<double> all[kPredictors];
  const auto row = [](const std::string& name, const std::vector<double>(&errors)[kPredictors]) {
    fmt::print("{:<18} {:>6}", name, errors[0].size());
    for (const std::vector<double>& some : errors) fmt::print("  {}", Cells(tools::ScoreOf(some)));
    fmt::print("\n");
  };
  for (const auto& [name, points] : table) {
    std::vector<double> errors[kPredictors];
    for (int i = 0; i < kPredictors; ++i) {
      errors[i] = tools::Errors(points, static_cast<tools::Predictor>(i));
      all[i].insert(all[i].end(), errors[i].begin(), errors[i].end());
    }
    if (!errors[0].empty()) row(name, errors);
    if (name != show) continue;
    for (const Judged& point : points) PrintPoint(point);
  }
  row("all", all);
}

Table JudgeGroup(const Data& data, std::string_view group, const NcclConstants& constants,
                 const std::map<std::string, NcclConstants>& without) {
  Table table;
  for (const auto& [name, cluster] : tools::ClustersOf(data.series, group)) {
    const auto own = without.find(name);
    table[name] = JudgeCluster(own == without.end() ? constants : own->second, cluster);
  }
  return table;
}

// By operation.
Table JudgeOneHost(const Data& data, const NcclConstants& constants) {
  Table table;
  for (const tools::NcclSeries& series : data.series) {
    if (series.group != "one_host" || series.points.empty()) continue;
    std::vector<Judged>& points = table[series.cluster + " " + std::string(Name(series.points[0].collective))];
    for (Judged& point : JudgeSeries(constants, series)) points.push_back(std::move(point));
  }
  return table;
}

void PrintRings(const Data& data, const NcclConstants& constants, const std::string& show) {
  std::vector<double> errors;
  for (const tools::RingEfficiency& point : data.rings) {
    const double share = PredictRingEfficiency(constants, point);
    errors.push_back(std::abs(point.share / share - 1));  // of the time
    if (show != "rings") continue;
    fmt::print("  {:>4} {:>12.0f} {:.4f} {:.4f} {:>+7.1f}\n", point.hosts, point.bytes, point.share, share,
               100 * (point.share / share - 1));
  }
  fmt::print("\nring efficiencies, {} points: {}\n", errors.size(), Cells(tools::ScoreOf(errors)));
}

Json ToJson(const Table& table) {
  Json all;
  for (const auto& [name, points] : table) {
    Json& list = all[name];
    list = Json::Array();
    for (const Judged& point : points) {
      list.Append({{"series", point.series},
                   {"bytes", point.measured.bytes},
                   {"measured_us", point.measured.us},
                   {"predicted_us", point.predicted.us},
                   {"formula_us", point.formula_us},
                   {"closed_form_us", point.closed_form_us},
                   {"algorithm", Name(point.predicted.way.algorithm)},
                   {"protocol", proto::Name(point.predicted.way.protocol)},
                   {"bound", Name(point.predicted.bound)},
                   {"input", point.input}});
    }
  }
  return all;
}

Status Run(const Options& options) {
  const Result<Data> data = Load(options.points);
  if (!data.ok()) return data.status();
  const Result<std::string> text = Read(options.begin);
  if (!text.ok()) return text.status();
  const Result<NcclConstants> begin = NcclConstants::Parse(*text);
  if (!begin.ok()) return begin.status();
  NcclConstants constants = Fit(*data, *begin, "");
  const std::map<std::string, NcclConstants> without = FitWithoutEach(*data, *begin);
  SetErrors(*data, without, constants);
  Json json;
  for (const std::string_view group : {"reach", "others", "beyond"}) {
    const Table table = JudgeGroup(*data, group, constants, without);
    Print(group, table, options.show);
    json[std::string(group)] = ToJson(table);
  }
  const Table one_host = JudgeOneHost(*data, constants);
  Print("one host", one_host, options.show);
  json["one_host"] = ToJson(one_host);
  PrintRings(*data, constants, options.show);
  TUTTI_RETURN_IF_ERROR(Write(options.constants, constants.ToText()));
  TUTTI_RETURN_IF_ERROR(Write(options.left_out, tools::LeftOutText(without)));
  return Write(options.json, json.Dump(1) + "\n");
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  tutti::bench::Options options;
  tutti::tools::CommandLine line("Fits the constants that predict NCCL's times, and says how good predictions are.",
                                 "nccl_fit");
  line.Add("--points", options.points, "the folder of measured points");
  line.Add("--begin", options.begin, "constants to begin with");
  line.Add("--constants", options.constants, "where to write the constants that were fitted to all points");
  line.Add("--left-out", options.left_out, "where to write those that were fitted without each cluster");
  line.Add("--json", options.json, "where to write all points, measured and predicted");
  line.Add("--show", options.show, "print the points of this cluster, or of \"rings\"");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  const tutti::Status status = tutti::bench::Run(options);
  if (!status.ok()) fmt::print(stderr, "nccl_fit: {}\n", status.message());
  return status.ok() ? 0 : 1;
}
