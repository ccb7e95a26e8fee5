// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/planning/search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>

namespace tutti::bench {
namespace {

using tools::Clusters;
using tune::NcclConstants;

class Misses {
 public:
  void Add(double predicted, double measured) {
    constexpr double kMost = 0.3;
    sum_ += std::min(std::abs(std::log(predicted / measured)), kMost);
    ++count_;
  }
  double mean() const { return count_ > 0 ? sum_ / count_ : 0; }

 private:
  double sum_ = 0;
  int count_ = 0;
};

double PredictUs(const NcclConstants& constants, const tune::NcclPoint& point) {
  return PredictNccl(constants, point.machine, point.collective, point.bytes).us;
}

enum class Known { kInputs, kHardware };

double MissOfClusters(const NcclConstants& constants, const Clusters& clusters, const std::string& without,
                      Known known) {
  Misses misses;
  for (const auto& [name, cluster] : clusters) {
    if (name == without) continue;
    const NcclConstants own = known == Known::kInputs ? Calibrate(constants, cluster.points) : constants;
    for (std::size_t i = 0; i < cluster.points.size(); ++i) {
      if (known == Known::kInputs && cluster.input[i]) continue;
      misses.Add(PredictUs(own, cluster.points[i]), cluster.points[i].us);
    }
  }
  return misses.mean();
}

double MissOfOneHost(const NcclConstants& constants, std::span<const tools::NcclSeries> series) {
  Misses misses;
  for (const tools::NcclSeries& one : series) {
    if (one.group != "one_host") continue;
    for (const tune::NcclPoint& point : one.points) misses.Add(PredictUs(constants, point), point.us);
  }
  return misses.mean();
}

double MissOfRings(const NcclConstants& constants, std::span<const tools::RingEfficiency> rings) {
  Misses misses;
  for (const tools::RingEfficiency& point : rings) misses.Add(PredictRingEfficiency(constants, point), point.share);
  return misses.mean();
}

std::vector<tune::Constant> FittedOf(NcclConstants& constants) {
  std::vector<tune::Constant> fitted = ConstantsOf(constants);
  std::erase_if(fitted, [](const tune::Constant& constant) { return !constant.fitted; });
  return fitted;
}

double& ValueOf(const tune::Constant& constant) { return **std::get_if<double*>(&constant.value); }

// Looks along one constant after the other, further where that helped and less far where it did not.
NcclConstants Search(const NcclConstants& begin, const std::function<double(const NcclConstants&)>& miss) {
  constexpr double kPull = 1e-3, kFirstStep = 0.15, kLeastStep = 0.005;
  constexpr int kSweeps = 25;
  NcclConstants best = begin, first = begin;
  const std::vector<tune::Constant> constants = FittedOf(best), origin = FittedOf(first);
  std::vector<double> steps(constants.size(), kFirstStep);
  const auto cost = [&] {
    double pull = 0;
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const double before = ValueOf(origin[i]);
      if (before > 0) pull += std::abs(std::log(std::max(ValueOf(constants[i]), 1e-6) / before));
    }
    return miss(best) + kPull * pull;
  };
  double least = cost();
  const auto improve = [&](double& value, double step, const tune::Constant& constant) {
    const double before = value;
    for (const double factor : {1 + step, 1 / (1 + step)}) {
      value = std::clamp(before * factor, constant.least, constant.most);
      const double now = cost();
      if (now < least) return least = now, true;
    }
    value = before;
    return false;
  };
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < constants.size(); ++i) {
      const bool better = improve(ValueOf(constants[i]), steps[i], constants[i]);
      steps[i] = better ? std::min(steps[i] * 1.5, 1.0) : std::max(steps[i] / 2, kLeastStep);
    }
  }
  return best;
}

// What nine of ten are below.
double Most(std::vector<double> errors) {
  constexpr double kShare = 0.9;
  if (errors.empty()) return 0;
  const auto place = errors.begin() + static_cast<std::ptrdiff_t>(kShare * static_cast<double>(errors.size() - 1));
  std::ranges::nth_element(errors, place);
  return std::min(*place, 1.0);
}

struct Kinds {
  std::vector<double> latency, rate;
  void Add(const NcclConstants& constants, const tune::NcclPoint& point) {
    const tune::NcclPrediction prediction = PredictNccl(constants, point.machine, point.collective, point.bytes);
    const double error = std::abs(prediction.us / point.us - 1);
    (prediction.latency_us > prediction.us / 2 ? latency : rate).push_back(error);
  }
};

}  // namespace

NcclConstants Fit(const Data& data, const NcclConstants& begin, const std::string& without) {
  constexpr double kShareOfOthers = 0.2, kShareOfHardware = 0.4;
  const Clusters reach = tools::ClustersOf(data.series, "reach"), others = tools::ClustersOf(data.series, "others");
  return Search(begin, [&](const NcclConstants& constants) {
    return MissOfClusters(constants, reach, without, Known::kInputs) +
           kShareOfOthers * MissOfClusters(constants, others, without, Known::kInputs) +
           kShareOfHardware * MissOfClusters(constants, reach, without, Known::kHardware) +
           MissOfOneHost(constants, data.series) + MissOfRings(constants, data.rings);
  });
}

void SetErrors(const Data& data, const std::map<std::string, NcclConstants>& left_out, NcclConstants& constants) {
  Kinds several, one_host;
  for (const tools::NcclSeries& series : data.series) {
    const auto without = left_out.find(series.cluster);
    if (series.group == "reach" && without != left_out.end()) {
      for (const tune::NcclPoint& point : series.points) several.Add(without->second, point);
    } else if (series.group == "one_host") {
      for (const tune::NcclPoint& point : series.points) one_host.Add(constants, point);
    }
  }
  constants.latency_error = Most(several.latency);
  constants.rate_error = Most(several.rate);
  constants.host_latency_error = Most(one_host.latency);
  constants.host_rate_error = Most(one_host.rate);
}

}  // namespace tutti::bench
