// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpu_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <variant>

namespace tutti::tools {
namespace {

using tune::GpuChoice;
using tune::GpuChooser;
using tune::GpuMachine;

constexpr double kLeastUs = 0.01;  // of a prediction, whose logarithm is taken
constexpr double kUsual = 0.1;     // a ratio further off than this counts less and less
// How much a constant resists being changed: next to nothing, so that it only holds what no measurement speaks of.
constexpr double kInertia = 1e-3;
constexpr double kMostStep = 0.5, kFarthest = 3;  // of a logarithm: at a time, and from where it began
// A constant that begins at nothing is so much times the exponential of its move, less 1.
constexpr double kScaleUs = 0.05, kFarthestFromNothing = 6;
constexpr int kTurns = 60;

// The constants that are fitted: times, rates and shares. Thresholds decide about shapes, which a prediction takes as they are.
std::vector<tune::Constant> FittedOf(GpuMachine& machine) {
  std::vector<tune::Constant> list = tune::ConstantsOf(machine);
  std::erase_if(list, [](const tune::Constant& constant) { return !constant.fitted; });
  return list;
}

double& ValueOf(const tune::Constant& constant) { return *std::get<double*>(constant.value); }

// Predictions of measurements, those of one collective and size together.
class Predictor {
 public:
  Predictor(const tune::GpuChooserOptions& options, std::span<const GpuMeasurement> measurements)
      : measurements_(measurements) {
    Result<GpuChooser> made = GpuChooser::Create(options);
    if (made.ok()) chooser_ = std::move(*made);
    for (std::size_t i = 0; i < measurements.size(); ++i) {
      if (!IsAlone(measurements[i])) groups_[{measurements[i].collective, measurements[i].bytes}].push_back(i);
    }
  }

  // us of each; 0 where the way is none of the chooser's.
  std::vector<double> Predict(const GpuMachine& machine) {
    chooser_.GoBy(machine);
    std::vector<double> us(measurements_.size());
    for (std::size_t i = 0; i < us.size(); ++i) {
      if (!IsAlone(measurements_[i])) continue;
      us[i] = measurements_[i].copies ? tune::PredictCopiesUs(machine, measurements_[i].bytes)
                                      : tune::PredictTransferUs(machine, measurements_[i].bytes);
    }
    for (const auto& [what, members] : groups_) {
      const std::vector<GpuChoice> candidates = chooser_.Candidates(what.first, what.second);
      for (const std::size_t i : members) {
        const auto found = std::ranges::find_if(candidates, [&](const GpuChoice& choice) {
          return choice.algorithm == measurements_[i].algorithm && choice.protocol == measurements_[i].protocol;
        });
        us[i] = found == candidates.end() ? 0 : found->predicted_us;
      }
    }
    return us;
  }

  // Ratios of predictions and times, as logarithms; 0 where there is none.
  std::vector<double> Errors(const GpuMachine& machine) {
    std::vector<double> errors = Predict(machine);
    for (std::size_t i = 0; i < errors.size(); ++i) {
      errors[i] = errors[i] == 0 ? 0 : std::log(std::max(errors[i], kLeastUs) / measurements_[i].us);
    }
    return errors;
  }

  const std::map<std::pair<Collective, std::size_t>, std::vector<std::size_t>>& groups() const { return groups_; }

 private:
  // Of which there is one way.
  static bool IsAlone(const GpuMeasurement& m) { return m.copies || m.collective == Collective::kSendRecv; }

  std::span<const GpuMeasurement> measurements_;
  GpuChooser chooser_;
  std::map<std::pair<Collective, std::size_t>, std::vector<std::size_t>> groups_;
};

// What is minimised: squares of small errors, the size of large ones.
double Loss(std::span<const double> errors, std::span<const double> moved) {
  double loss = 0;
  for (const double e : errors) loss += std::abs(e) < kUsual ? e * e : kUsual * (2 * std::abs(e) - kUsual);
  for (const double m : moved) loss += kInertia * kInertia * m * m;
  return loss;
}

using Matrix = std::vector<std::vector<double>>;

// Solves a x = b by elimination with pivots. `a` is symmetric and positive, and is used up.
std::vector<double> Solve(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return b;
}

// The method of Levenberg and Marquardt on logarithms of constants, so that none turns negative. What `moved` means: kScaleUs.
class Fit {
 public:
  explicit Fit(std::span<const GpuRun> runs) : machine_(runs.front().options.machine) {
    for (const GpuRun& run : runs) {
      predictors_.emplace_back(run.options, run.measurements);
      machines_.push_back(run.options.machine);
    }
    GpuMachine start = machine_;
    for (const tune::Constant& constant : FittedOf(start)) {
      from_nothing_.push_back(ValueOf(constant) < kLeastUs);
      start_.push_back(std::log(from_nothing_.back() ? kScaleUs : ValueOf(constant)));
    }
    moved_.resize(start_.size());
  }

  GpuMachine Run() {
    std::vector<double> errors = ErrorsAt(moved_);
    double loss = Loss(errors, moved_), damping = 1e-2;
    for (int turn = 0; turn < kTurns; ++turn) {
      const Normal normal = Linearise(errors);
      bool better = false;
      for (int attempt = 0; attempt < 8 && !better; ++attempt) {
        const std::vector<double> next = Step(normal, damping);
        std::vector<double> next_errors = ErrorsAt(next);
        const double next_loss = Loss(next_errors, next);
        better = next_loss < loss;
        damping *= better ? 0.3 : 4;
        if (!better) continue;
        const bool done = loss - next_loss < 1e-9 * loss;
        moved_ = next;
        errors = std::move(next_errors);
        loss = next_loss;
        if (done) return At(moved_);
      }
      if (!better) break;
    }
    return At(moved_);
  }

 private:
  struct Normal {
    Matrix squares;             // of the derivatives, weighted
    std::vector<double> slope;  // against the errors
  };

  // Constants that have not moved are what they were to the last bit.
  GpuMachine At(std::span<const double> moved) const {
    GpuMachine machine = machine_;
    const std::vector<tune::Constant> constants = FittedOf(machine);
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (moved[i] == 0) continue;
      const double value = std::exp(start_[i] + moved[i]) - (from_nothing_[i] ? kScaleUs : 0);
      ValueOf(constants[i]) = std::min(value, constants[i].most);
    }
    return machine;
  }

  // Of all runs, one behind the other.
  std::vector<double> ErrorsAt(std::span<const double> moved) {
    const GpuMachine machine = At(moved);
    std::vector<double> all;
    for (std::size_t i = 0; i < predictors_.size(); ++i) {
      const std::vector<double> errors = predictors_[i].Errors(WithFittedOf(machine, machines_[i]));
      all.insert(all.end(), errors.begin(), errors.end());
    }
    return all;
  }

  Normal Linearise(std::span<const double> errors) {
    constexpr double kNudge = 1e-4;
    const std::size_t n = start_.size();
    Matrix derivatives(n);
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> nudged = moved_;
      nudged[i] += kNudge;
      derivatives[i] = ErrorsAt(nudged);
      for (std::size_t e = 0; e < errors.size(); ++e) derivatives[i][e] = (derivatives[i][e] - errors[e]) / kNudge;
    }
    Normal normal{Matrix(n, std::vector<double>(n)), std::vector<double>(n)};
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t e = 0; e < errors.size(); ++e) {
        const double weight = std::abs(errors[e]) < kUsual ? 1 : kUsual / std::abs(errors[e]);
        normal.slope[i] -= weight * derivatives[i][e] * errors[e];
        for (std::size_t j = 0; j < n; ++j) normal.squares[i][j] += weight * derivatives[i][e] * derivatives[j][e];
      }
      normal.squares[i][i] += kInertia * kInertia;
      normal.slope[i] -= kInertia * kInertia * moved_[i];
    }
    return normal;
  }

  std::vector<double> Step(const Normal& normal, double damping) const {
    Matrix squares = normal.squares;
    for (std::size_t i = 0; i < squares.size(); ++i) squares[i][i] *= 1 + damping;
    std::vector<double> next = Solve(std::move(squares), normal.slope);
    for (std::size_t i = 0; i < next.size(); ++i) {
      next[i] = std::clamp(moved_[i] + std::clamp(next[i], -kMostStep, kMostStep), from_nothing_[i] ? 0 : -kFarthest,
                           from_nothing_[i] ? kFarthestFromNothing : kFarthest);
    }
    return next;
  }

  std::vector<Predictor> predictors_;
  std::vector<GpuMachine> machines_;
  const GpuMachine machine_;
  std::vector<double> start_, moved_;  // logarithms
  std::vector<bool> from_nothing_;     // constants that begin below kLeastUs, and with that at 0
};

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

}  // namespace

GpuMachine FitGpuMachine(const tune::GpuChooserOptions& options, std::span<const GpuMeasurement> measurements) {
  const GpuRun run{options, {measurements.begin(), measurements.end()}};
  return FitGpuMachine({&run, 1});
}

GpuMachine FitGpuMachine(std::span<const GpuRun> runs) { return Fit(runs).Run(); }

GpuMachine WithFittedOf(const GpuMachine& from, GpuMachine to) {
  GpuMachine source = from;
  const std::vector<tune::Constant> values = FittedOf(source), places = FittedOf(to);
  for (std::size_t i = 0; i < places.size(); ++i) ValueOf(places[i]) = ValueOf(values[i]);
  return to;
}

std::vector<double> PredictUs(const tune::GpuChooserOptions& options, std::span<const GpuMeasurement> measurements) {
  return Predictor(options, measurements).Predict(options.machine);
}

FitQuality QualityOf(const tune::GpuChooserOptions& options, std::span<const GpuMeasurement> measurements) {
  Predictor predictor(options, measurements);
  const std::vector<double> predicted = predictor.Predict(options.machine);
  std::vector<double> errors;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (predicted[i] != 0) errors.push_back(std::abs(predicted[i] / measurements[i].us - 1));
  }
  FitQuality quality{.median_error = Median(errors)};
  for (const auto& [what, members] : predictor.groups()) {
    std::size_t chosen = members.front();
    double best_us = std::numeric_limits<double>::infinity();
    for (const std::size_t i : members) {
      best_us = std::min(best_us, measurements[i].us);
      if (predicted[i] != 0 && (predicted[chosen] == 0 || predicted[i] < predicted[chosen])) chosen = i;
    }
    const double regret = measurements[chosen].us / best_us - 1;
    quality.mean_regret += regret;
    ++quality.choices;
    if (regret <= quality.worst_regret) continue;
    quality.worst_regret = regret;
    quality.worst_collective = what.first;
    quality.worst_bytes = what.second;
  }
  quality.mean_regret /= std::max(quality.choices, 1);
  return quality;
}

std::string DescribeChanges(const tune::GpuTable& before, const tune::GpuTable& after) {
  tune::GpuTable was = before, is = after;
  const std::vector<tune::Constant> old_ones = ConstantsOf(was), new_ones = ConstantsOf(is);
  std::string text;
  for (std::size_t i = 0; i < old_ones.size(); ++i) {
    const std::string from = ToText(old_ones[i]), to = ToText(new_ones[i]);
    if (from != to) text += fmt::format("{} {} -> {}\n", old_ones[i].name, from, to);
  }
  return text;
}

}  // namespace tutti::tools
