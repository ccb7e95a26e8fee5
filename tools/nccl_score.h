// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_NCCL_SCORE_H_
#define TUTTI_TOOLS_NCCL_SCORE_H_

// How good predictions of NCCL's times are: measured points beside what is predicted for them, and what to say about many.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/nccl_points.h"
#include "tune/nccl_model.h"
#include "tutti/status.h"

namespace tutti::tools {

// All points of a cluster, and which series each is of.
struct ClusterPoints {
  std::vector<tune::NcclPoint> points;
  std::vector<std::string> series;
  std::vector<bool> input;  // the shortest and the longest point, from which the prediction of the others follows
};
using Clusters = std::map<std::string, ClusterPoints>;

// The clusters of a group.
Clusters ClustersOf(std::span<const NcclSeries> series, std::string_view group);

struct Judged {
  std::string series;
  tune::NcclPoint measured;
  tune::NcclPrediction predicted;
  bool input = false;
  double formula_us = 0, closed_form_us = 0;  // by NCCL's formula and by the closed form
};

// Each point of a cluster as the constants predict it that Calibrate makes of its inputs.
std::vector<Judged> JudgeCluster(const tune::NcclConstants& constants, const ClusterPoints& cluster);
// Each point of a series as the constants themselves predict it.
std::vector<Judged> JudgeSeries(const tune::NcclConstants& constants, const NcclSeries& series);

// Of relative errors.
struct Score {
  int points = 0;
  double mean = 0, worst = 0;
  double within_20 = 0;  // share of the points that are at most 20 percent off
};
Score ScoreOf(std::span<const double> errors);

// |us / measured - 1| for each point that is no input and that the predictor knows: NCCL's formula has no sends and receives.
enum class Predictor { kModel, kFormula, kClosedForm };
std::vector<double> Errors(std::span<const Judged> points, Predictor predictor);

// The constants that were fitted without each of several clusters, by its name: tables of tune::NcclConstants::ToText, each behind
// a line "# without NAME".
std::string LeftOutText(const std::map<std::string, tune::NcclConstants>& constants);
Result<std::map<std::string, tune::NcclConstants>> ParseLeftOut(std::string_view text);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_NCCL_SCORE_H_
