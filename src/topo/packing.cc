// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/packing.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tutti::topo {
namespace {

constexpr double kTiny = 1e-9;
constexpr double kSmallestPivot = 1e-7;  // what is smaller may be an error of rounding

}  // namespace

// Supplies are made a little larger, each by another part, so that no two run out at once: where they do, the simplex method can turn in
// circles.
Packing::Packing(std::vector<double> supplies)
    : rows_(static_cast<int>(supplies.size())),
      basis_(supplies.size()),
      values_(std::move(supplies)),
      inverse_(values_.size() * values_.size(), 0),
      prices_(values_.size(), 0) {
  std::iota(basis_.begin(), basis_.end(), 0);
  for (int row = 0; row < rows_; ++row) {
    InverseAt(row, row) = 1;
    values_[static_cast<std::size_t>(row)] *= 1 + 1e-7 * (row + 1) / rows_;
  }
}

void Packing::Add(std::span<const Need> needs) { patterns_.emplace_back(needs.begin(), needs.end()); }

int Packing::Solve() {
  const int most =
      100 + 10 * (rows_ + patterns());  // far more than it ever takes, and every step leaves amounts that fit
  int steps = 0;
  for (; steps < most; ++steps) {
    FindPrices();
    const Variable entering = FindEntering();
    if (entering < 0) break;
    Enter(entering);
  }
  FindPrices();
  for (double& price : prices_) price = std::max(price, 0.0);
  return steps;
}

void Packing::FindPrices() {
  std::ranges::fill(prices_, 0);
  for (int row = 0; row < rows_; ++row) {
    if (basis_[static_cast<std::size_t>(row)] < rows_) continue;
    for (int column = 0; column < rows_; ++column) prices_[static_cast<std::size_t>(column)] += InverseAt(row, column);
  }
}

Packing::Variable Packing::FindEntering() const {
  Variable best = -1;
  double most = kTiny;
  for (int row = 0; row < rows_; ++row) {
    const double gain = -prices_[static_cast<std::size_t>(row)];
    if (gain <= most) continue;
    most = gain;
    best = row;
  }
  for (int pattern = 0; pattern < patterns(); ++pattern) {
    double gain = 1;
    for (const Need& need : patterns_[static_cast<std::size_t>(pattern)]) {
      gain -= need.amount * prices_[static_cast<std::size_t>(need.resource)];
    }
    if (gain <= most) continue;
    most = gain;
    best = rows_ + pattern;
  }
  return best;
}

void Packing::Enter(Variable variable) {
  std::vector<double> change(static_cast<std::size_t>(rows_), 0);  // of all values, for one of the variable
  const auto add = [&](const Need& need) {
    for (int row = 0; row < rows_; ++row) {
      change[static_cast<std::size_t>(row)] += need.amount * InverseAt(row, need.resource);
    }
  };
  if (variable < rows_) {
    add({.resource = variable, .amount = 1});
  } else {
    for (const Need& need : patterns_[static_cast<std::size_t>(variable - rows_)]) add(need);
  }
  // The first value to become 0 leaves; of those that do so nearly together the one that changes most, which is the safest to divide by.
  double first = std::numeric_limits<double>::infinity();
  const auto zero_at = [&](int row) {
    const double rate = change[static_cast<std::size_t>(row)];
    return rate > kSmallestPivot ? values_[static_cast<std::size_t>(row)] / rate
                                 : std::numeric_limits<double>::infinity();
  };
  for (int row = 0; row < rows_; ++row) first = std::min(first, zero_at(row));
  int leaving = -1;
  for (int row = 0; row < rows_; ++row) {
    if (change[static_cast<std::size_t>(row)] <= kSmallestPivot || zero_at(row) > first * (1 + kTiny) + kTiny) continue;
    const bool more = leaving < 0 || change[static_cast<std::size_t>(row)] > change[static_cast<std::size_t>(leaving)];
    if (more) leaving = row;
  }
  if (leaving < 0) return;
  const double pivot = change[static_cast<std::size_t>(leaving)];
  const double least = zero_at(leaving);
  for (int column = 0; column < rows_; ++column) InverseAt(leaving, column) /= pivot;
  for (int row = 0; row < rows_; ++row) {
    const double factor = change[static_cast<std::size_t>(row)];
    if (row == leaving || factor == 0) continue;
    for (int column = 0; column < rows_; ++column) InverseAt(row, column) -= factor * InverseAt(leaving, column);
    values_[static_cast<std::size_t>(row)] = std::max(0.0, values_[static_cast<std::size_t>(row)] - factor * least);
  }
  values_[static_cast<std::size_t>(leaving)] = least;
  basis_[static_cast<std::size_t>(leaving)] = variable;
}

double Packing::total() const {
  double total = 0;
  for (int row = 0; row < rows_; ++row) {
    if (basis_[static_cast<std::size_t>(row)] >= rows_) total += values_[static_cast<std::size_t>(row)];
  }
  return total;
}

double Packing::AmountOf(int pattern) const {
  const auto row = std::ranges::find(basis_, rows_ + pattern);
  return row == basis_.end() ? 0 : values_[static_cast<std::size_t>(row - basis_.begin())];
}

}  // namespace tutti::topo
