// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/cheapest_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace tutti::topo {
namespace {

// What ends the order costs nothing where something hangs.
double CostOf(const OrderCosts& costs, const PlaceOrder& order) {
  double cost = costs.first[static_cast<std::size_t>(order.places.front())];
  for (std::size_t i = 1; i < order.places.size(); ++i) {
    const std::size_t parent = order.parents.empty() ? i - 1 : static_cast<std::size_t>(order.parents[i]);
    cost += costs.Between(order.places[parent], order.places[i]);
  }
  return order.parents.empty() ? cost + costs.last[static_cast<std::size_t>(order.places.back())] : cost;
}

OrderCosts Random(int places, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&] { return static_cast<double>(random() % 100); };
  OrderCosts costs{.places = places, .between = {}, .first = {}, .last = {}};
  for (int i = 0; i < places * places; ++i) costs.between.push_back(draw());
  for (int i = 0; i < places; ++i) {
    costs.first.push_back(draw());
    costs.last.push_back(draw());
  }
  return costs;
}

double CheapestOfAll(const OrderCosts& costs) {
  PlaceOrder order;
  order.places.resize(static_cast<std::size_t>(costs.places));
  std::iota(order.places.begin(), order.places.end(), 0);
  double least = kNoWay;
  do {
    least = std::min(least, CostOf(costs, order));
  } while (std::ranges::next_permutation(order.places).found);
  return least;
}

TEST(CheapestOrder, IsTheCheapestOfAllUpToItsLimit) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    for (int places = 1; places <= 7; ++places) {
      const OrderCosts costs = Random(places, seed);
      std::int64_t visited = 0;
      const PlaceOrder order = CheapestOrder(costs, &visited);
      EXPECT_EQ(order.cost, CheapestOfAll(costs));
      EXPECT_EQ(order.cost, CostOf(costs, order));
      EXPECT_EQ(LeastCost(costs, order), order.cost);
      EXPECT_GE(visited, places - 1);
    }
  }
}

// Random costs are the hardest ones; those of machines have a structure.
TEST(CheapestOrder, OfManyPlacesItIsAnOrderAndTheBoundIsBelow) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const OrderCosts costs = Random(30, seed);
    std::int64_t visited = 0;
    PlaceOrder order = CheapestOrder(costs, &visited);
    EXPECT_NEAR(order.cost, CostOf(costs, order), 1e-9);
    const double least = LeastCost(costs, order);
    EXPECT_GT(least, 0);
    EXPECT_LE(least, order.cost);
    std::ranges::sort(order.places);
    for (int place = 0; place < 30; ++place) EXPECT_EQ(order.places[static_cast<std::size_t>(place)], place);
  }
}

// Two groups of 8 with a dear way between: the order changes the group once, and nothing can be cheaper.
TEST(CheapestOrder, OfGroupsTheBoundIsReached) {
  OrderCosts costs{
      .places = 16, .between = {}, .first = std::vector<double>(16, 0), .last = std::vector<double>(16, 0)};
  for (int from = 0; from < 16; ++from) {
    for (int to = 0; to < 16; ++to) costs.between.push_back(from % 2 == to % 2 ? 1 : 100);
  }
  std::int64_t visited = 0;
  const PlaceOrder order = CheapestOrder(costs, &visited);
  EXPECT_EQ(order.cost, 14 + 100);
  EXPECT_NEAR(LeastCost(costs, order), 14 + 100, 1e-6);
}

// Place 2 is cheap to reach from place 0 only, which has a cheap neighbour besides: it hangs.
TEST(CheapestOrder, PlacesHangWhereThatIsCheaper) {
  OrderCosts costs{.places = 4, .between = std::vector<double>(16, 1), .first = {0, 99, 99, 99}, .last = {0, 0, 0, 0}};
  for (int other : {1, 3}) {
    costs.between[static_cast<std::size_t>(other * 4 + 2)] = 50;
    costs.between[static_cast<std::size_t>(2 * 4 + other)] = 50;
  }
  std::int64_t visited = 0;
  EXPECT_EQ(CheapestOrder(costs, &visited).cost, 52);
  costs.may_hang = true;
  const PlaceOrder order = CheapestOrder(costs, &visited);
  EXPECT_EQ(order.cost, 3);
  EXPECT_EQ(CostOf(costs, order), 3);
  ASSERT_EQ(order.parents.size(), 4u);
  const auto two = static_cast<std::size_t>(std::ranges::find(order.places, 2) - order.places.begin());
  EXPECT_EQ(order.places[static_cast<std::size_t>(order.parents[two])], 0);
}

TEST(CheapestOrder, NoWayIsSaid) {
  OrderCosts costs{.places = 3, .between = std::vector<double>(9, kNoWay), .first = {0, 0, 0}, .last = {0, 0, 0}};
  std::int64_t visited = 0;
  EXPECT_TRUE(CheapestOrder(costs, &visited).places.empty());
  EXPECT_GE(LeastCost(costs, CheapestOrder(costs, &visited)), kNoWay);
}

}  // namespace
}  // namespace tutti::topo
