// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_CHEAPEST_ORDER_H_
#define TUTTI_TOPO_CHEAPEST_ORDER_H_

// The cheapest order in which to visit some places, each once: what the search for rings and chains asks for again and again. Or the
// cheapest chain of some places on which the others hang.
//
//     0 -- 3 -- 2 -- 4         1 hangs on 3: parents, in the order 0 3 1 2 4, are -1 0 1 1 3
//          |
//          1

#include <cstdint>
#include <vector>

namespace tutti::topo {

// Costs are not negative; kNoWay and more: cannot be.
inline constexpr double kNoWay = 1e100;

struct OrderCosts {
  int places = 1;
  std::vector<double> between;      // from * places + to
  std::vector<double> first, last;  // of beginning, and of ending, at a place

  bool may_hang = false;  // places may hang on others, which costs what it takes to go there

  double Between(int from, int to) const { return between[static_cast<std::size_t>(from * places + to)]; }
};

struct PlaceOrder {
  std::vector<int> places;   // empty: there is none
  std::vector<int> parents;  // by position in `places`; empty where nothing hangs
  double cost = kNoWay;
};

// Up to so many places the order found is the cheapest (Held and Karp, "A dynamic programming approach to sequencing problems", 1962:
// places^2 * 2^places steps; twice as many where places may hang). Of more it is one that moving no single place makes cheaper.
inline constexpr int kMostPlacesExactly = 10;

// Of equally cheap orders always the same one. Adds what it has looked at to `visited`.
PlaceOrder CheapestOrder(const OrderCosts& costs, std::int64_t* visited);

// No order is cheaper than this. Exact up to kMostPlacesExactly, where `found` is what CheapestOrder gave. Above it what the cheapest tree
// costs that goes out from one place to all, or comes from all to one; the greater of both. An order is such a tree.
double LeastCost(const OrderCosts& costs, const PlaceOrder& found);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_CHEAPEST_ORDER_H_
