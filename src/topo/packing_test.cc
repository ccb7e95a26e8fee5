// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/packing.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tutti::topo {
namespace {

constexpr double kNear = 1e-5;  // supplies are a little larger than given

TEST(Packing, SharesWhatThereIs) {
  Packing packing({10, 4});
  packing.Add(std::vector<Need>{{.resource = 0, .amount = 1}});
  packing.Solve();
  EXPECT_NEAR(packing.total(), 10, kNear);
  EXPECT_NEAR(packing.prices()[0], 1, kNear);
  EXPECT_NEAR(packing.prices()[1], 0, kNear);
  // Takes twice of the first and none of the second: never worth it. Takes half of each: 8 of it leave 6 of the first.
  packing.Add(std::vector<Need>{{.resource = 0, .amount = 1}, {.resource = 0, .amount = 1}});
  packing.Add(std::vector<Need>{{.resource = 0, .amount = 0.5}, {.resource = 1, .amount = 0.5}});
  packing.Solve();
  EXPECT_NEAR(packing.total(), 14, kNear);
  EXPECT_NEAR(packing.AmountOf(0), 6, kNear);
  EXPECT_NEAR(packing.AmountOf(1), 0, kNear);
  EXPECT_NEAR(packing.AmountOf(2), 8, kNear);
}

TEST(Packing, WhatThereIsNoneOfCannotBeHad) {
  Packing packing({0, 3});
  packing.Add(std::vector<Need>{{.resource = 0, .amount = 1}});
  packing.Add(std::vector<Need>{{.resource = 1, .amount = 1}});
  packing.Solve();
  EXPECT_NEAR(packing.AmountOf(0), 0, kNear);
  EXPECT_NEAR(packing.total(), 3, kNear);
}

// At the optimum the prices prove it: no pattern costs less than 1, and what there is costs what is had. Both hold only there.
TEST(Packing, PricesProveTheOptimum) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::vector<double> supplies(1 + random() % 20);
    for (double& supply : supplies) supply = 1 + static_cast<double>(random() % 50);
    Packing packing(supplies);
    std::vector<std::vector<Need>> patterns(1 + random() % 40);
    for (auto& pattern : patterns) {
      for (int i = 0; i < 4; ++i) {
        pattern.push_back({.resource = static_cast<int>(random() % supplies.size()),
                           .amount = 1 + static_cast<double>(random() % 2)});
      }
      packing.Add(pattern);
      packing.Solve();
    }
    double value = 0;
    std::vector<double> used(supplies.size(), 0);
    for (std::size_t i = 0; i < supplies.size(); ++i) value += supplies[i] * packing.prices()[i];
    EXPECT_NEAR(value, packing.total(), kNear * value);
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      double cost = 0;
      for (const Need& need : patterns[p]) {
        cost += need.amount * packing.prices()[static_cast<std::size_t>(need.resource)];
        used[static_cast<std::size_t>(need.resource)] += need.amount * packing.AmountOf(static_cast<int>(p));
      }
      EXPECT_GE(cost, 1 - kNear);
    }
    for (std::size_t i = 0; i < supplies.size(); ++i) EXPECT_LE(used[i], supplies[i] * (1 + kNear));
  }
}

}  // namespace
}  // namespace tutti::topo
