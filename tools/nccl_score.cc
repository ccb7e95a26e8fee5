// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/nccl_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tutti::tools {
namespace {

constexpr std::string_view kWithout = "# without ";

Judged Judge(const tune::NcclConstants& constants, const tune::NcclPoint& point, const std::string& series) {
  const tune::NcclChoice choice = ChooseNccl(point.machine, GraphOf(point.machine), point.collective, point.bytes);
  return {.series = series,
          .measured = point,
          .predicted = PredictNccl(constants, point.machine, point.collective, point.bytes),
          .input = false,
          .formula_us = choice.formula_us,
          .closed_form_us = tune::ClosedFormUs(point.machine, point.collective, point.bytes)};
}

}  // namespace

Clusters ClustersOf(std::span<const NcclSeries> series, std::string_view group) {
  Clusters clusters;
  for (const NcclSeries& one : series) {
    if (one.group != group) continue;
    ClusterPoints& cluster = clusters[one.cluster];
    cluster.points.insert(cluster.points.end(), one.points.begin(), one.points.end());
    cluster.series.insert(cluster.series.end(), one.points.size(), one.name);
  }
  for (auto& [name, cluster] : clusters) {
    const std::vector<tune::NcclPoint>& points = cluster.points;
    const auto [shortest, longest] = std::ranges::minmax_element(points, {}, &tune::NcclPoint::us);
    for (const tune::NcclPoint& point : points) cluster.input.push_back(&point == &*shortest || &point == &*longest);
  }
  return clusters;
}

std::vector<Judged> JudgeCluster(const tune::NcclConstants& constants, const ClusterPoints& cluster) {
  const tune::NcclConstants own = Calibrate(constants, cluster.points);
  std::vector<Judged> all;
  for (std::size_t i = 0; i < cluster.points.size(); ++i) {
    all.push_back(Judge(own, cluster.points[i], cluster.series[i]));
    all.back().input = cluster.input[i];
  }
  return all;
}

std::vector<Judged> JudgeSeries(const tune::NcclConstants& constants, const NcclSeries& series) {
  std::vector<Judged> all;
  for (const tune::NcclPoint& point : series.points) all.push_back(Judge(constants, point, series.name));
  return all;
}

Score ScoreOf(std::span<const double> errors) {
  constexpr double kNear = 0.2;
  Score score{.points = static_cast<int>(errors.size())};
  for (const double error : errors) {
    score.mean += error / score.points;
    score.worst = std::max(score.worst, error);
    score.within_20 += (error <= kNear ? 1.0 : 0.0) / score.points;
  }
  return score;
}

std::vector<double> Errors(std::span<const Judged> points, Predictor predictor) {
  std::vector<double> errors;
  for (const Judged& point : points) {
    if (point.input) continue;
    const double us = predictor == Predictor::kModel     ? point.predicted.us
                      : predictor == Predictor::kFormula ? point.formula_us
                                                         : point.closed_form_us;
    if (us > 0) errors.push_back(std::abs(us / point.measured.us - 1));
  }
  return errors;
}

std::string LeftOutText(const std::map<std::string, tune::NcclConstants>& constants) {
  std::string text;
  for (const auto& [name, some] : constants) text += fmt::format("{}{}\n{}\n", kWithout, name, some.ToText());
  return text;
}

Result<std::map<std::string, tune::NcclConstants>> ParseLeftOut(std::string_view text) {
  std::map<std::string, tune::NcclConstants> all;
  for (std::size_t begin = text.find(kWithout); begin < text.size();) {
    const std::size_t end = std::min(text.find(kWithout, begin + 1), text.size());
    const std::string_view table = text.substr(begin, end - begin);
    const std::string name(table.substr(kWithout.size(), table.find('\n') - kWithout.size()));
    Result<tune::NcclConstants> constants = tune::NcclConstants::Parse(table);
    if (!constants.ok()) {
      return Status(constants.status().code(),
                    fmt::format("the table without {}: {}", name, constants.status().message()));
    }
    all.emplace(name, *std::move(constants));
    begin = end;
  }
  return all;
}

}  // namespace tutti::tools
