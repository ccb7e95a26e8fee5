// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// How near predictions of NCCL come to measured times: the goals, and the table of docs/planning.md. points/ holds the measurements;
// left_out.txt the constants that were fitted without each cluster, by which that cluster is predicted here. After a change of the
// model bench/planning/fit.cc makes new ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tools/nccl_points.h"
#include "tools/nccl_score.h"

namespace tutti::tools {
namespace {

std::string Read(const std::string& name) {
  std::ifstream file(std::string(TUTTI_SOURCE_DIR) + "/tests/planning/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<NcclSeries> Series() {
  const auto series = ParseNcclPoints(Read("points/series.csv"), Read("points/points.csv"));
  EXPECT_TRUE(series.ok()) << series.status().message();
  return series.ok() ? *series : std::vector<NcclSeries>();
}

// Each cluster by the constants that were fitted without it.
std::map<std::string, std::vector<Judged>> JudgeAll() {
  const auto without = ParseLeftOut(Read("left_out.txt"));
  EXPECT_TRUE(without.ok()) << without.status().message();
  std::map<std::string, std::vector<Judged>> all;
  for (const auto& [name, cluster] : ClustersOf(Series(), "reach")) {
    const auto own = without->find(name);
    if (own != without->end()) all[name] = JudgeCluster(own->second, cluster);
    EXPECT_EQ(own != without->end(), cluster.points.size() > 2) << name << ": run bench/planning/fit.cc again";
  }
  return all;
}

Score ScoreOfAll(Predictor predictor) {
  std::vector<double> errors;
  for (const auto& [name, points] : JudgeAll()) {
    const std::vector<double> some = Errors(points, predictor);
    errors.insert(errors.end(), some.begin(), some.end());
  }
  return ScoreOf(errors);
}

TEST(NcclModelPoints, SeveralHostsWithoutTheClustersOwnPoints) {
  const Score score = ScoreOfAll(Predictor::kModel);
  EXPECT_EQ(score.points, 136);
  EXPECT_LE(score.mean, 0.10);
  EXPECT_GE(score.within_20, 0.90);
  EXPECT_LT(score.mean, ScoreOfAll(Predictor::kFormula).mean / 2);
  EXPECT_LT(score.mean, ScoreOfAll(Predictor::kClosedForm).mean / 2);
}

// A row for each cluster: points, mean error and share within 20 percent, in percent.
TEST(NcclModelPoints, TheTableHolds) {
  const struct {
    const char* cluster;
    int points;
    double mean, within_20;
  } kTable[] = {
      {"aws_p4d", 2, 11.5, 100.0},       {"aws_p4de", 14, 7.6, 100.0},   {"aws_p5", 25, 11.3, 80.0},
      {"aws_p5en", 2, 3.7, 100.0},       {"aws_p6_b300", 6, 18.2, 50.0}, {"coreweave_gb200", 3, 6.6, 100.0},
      {"coreweave_h100", 3, 0.8, 100.0}, {"dgx_spark", 1, 3.2, 100.0},   {"h100_ib_a", 19, 5.6, 94.7},
      {"h100_ib_b", 59, 4.9, 96.6},      {"h100_no_gdr", 1, 4.9, 100.0}, {"h200_roce", 1, 0.3, 100.0},
  };
  const auto all = JudgeAll();
  std::string text;
  for (const auto& [name, points] : all) {
    const Score score = ScoreOf(Errors(points, Predictor::kModel));
    text += fmt::format("      {{\"{}\", {}, {:.1f}, {:.1f}}},\n", name, score.points, 100 * score.mean,
                        100 * score.within_20);
  }
  for (const auto& row : kTable) {
    ASSERT_TRUE(all.contains(row.cluster)) << row.cluster;
    const Score score = ScoreOf(Errors(all.at(row.cluster), Predictor::kModel));
    EXPECT_EQ(score.points, row.points) << row.cluster;
    EXPECT_NEAR(100 * score.mean, row.mean, 0.1) << row.cluster << "\n" << text;
    EXPECT_NEAR(100 * score.within_20, row.within_20, 0.1) << row.cluster << "\n" << text;
  }
  EXPECT_EQ(all.size(), std::size(kTable)) << text;
}

TEST(NcclModelPoints, OneHostAllOperations) {
  std::vector<double> all;
  std::map<std::string, std::vector<double>> by_operation;
  for (const NcclSeries& series : Series()) {
    if (series.group != "one_host") continue;
    const std::vector<double> errors = Errors(JudgeSeries({}, series), Predictor::kModel);
    all.insert(all.end(), errors.begin(), errors.end());
    std::vector<double>& some = by_operation[std::string(Name(series.points[0].collective))];
    some.insert(some.end(), errors.begin(), errors.end());
  }
  EXPECT_EQ(all.size(), 1439u);
  EXPECT_LE(ScoreOf(all).mean, 0.08);
  EXPECT_GE(ScoreOf(all).within_20, 0.95);
  EXPECT_EQ(by_operation.size(), 9u);
  for (const auto& [operation, errors] : by_operation) EXPECT_LE(ScoreOf(errors).mean, 0.08) << operation;
}

TEST(NcclModelPoints, RingEfficiencies) {
  const auto points = ParseRingEfficiency(Read("points/ring_efficiency.csv"));
  ASSERT_TRUE(points.ok()) << points.status().message();
  std::vector<double> errors;
  for (const RingEfficiency& point : *points) {
    errors.push_back(std::abs(point.share / PredictRingEfficiency({}, point) - 1));
  }
  EXPECT_EQ(errors.size(), 77u);
  EXPECT_LE(ScoreOf(errors).mean, 0.06);
}

// Where nothing is known of a cluster but its hardware, nine of ten points lie within the error that the prediction says.
TEST(NcclModelPoints, TheErrorThatIsSaidIsSeen) {
  const auto without = ParseLeftOut(Read("left_out.txt"));
  ASSERT_TRUE(without.ok());
  int points = 0, within = 0;
  const tune::NcclConstants shipped;
  for (const NcclSeries& series : Series()) {
    const auto own = without->find(series.cluster);
    if (series.group != "reach" || own == without->end()) continue;
    tune::NcclConstants constants = own->second;
    constants.latency_error = shipped.latency_error;
    constants.rate_error = shipped.rate_error;
    for (const Judged& point : JudgeSeries(constants, series)) {
      ++points;
      within += std::abs(point.predicted.us / point.measured.us - 1) <= point.predicted.error ? 1 : 0;
    }
  }
  EXPECT_GE(static_cast<double>(within) / points, 0.85);
}

}  // namespace
}  // namespace tutti::tools
