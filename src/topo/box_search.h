// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_BOX_SEARCH_H_
#define TUTTI_TOPO_BOX_SEARCH_H_

// The search inside one box: which orders of its ranks, and with which ports, carry most at once.
//
// It is a linear program with a variable for every order, of which there are far too many to write down. So orders are added as they are
// needed: the best amounts of the orders known so far give each arc a price, and an order is worth adding where it costs less than 1 by
// these prices. The cheapest order is found exactly in boxes of up to kMostPlacesExactly ranks. When it costs 1, no order can improve the
// amounts, and their sum is the most that any set of orders can carry in this box.
//
// Channels have equal rates, so each order gets as many channels as its part of the sum comes to. Where that does not go evenly, channels
// are fixed one by one, and what is left of the links is searched again.

#include <cstdint>
#include <span>
#include <vector>

#include "topo/cheapest_order.h"
#include "topo/packing.h"
#include "topo/routes.h"

namespace tutti::topo {

// What an order of a box's ranks is for, which says what it takes of its arcs for each unit of its amount.
struct OrderUse {
  enum class Kind : std::uint8_t {
    kClosedRing,  // the last rank sends to the first one
    kRing,        // in by a port to the first rank, out by a port from the last one
    kChain,  // of a tree: both directions between neighbours, and between the first rank and a port. Ranks may hang on others
             // where chains alone carry less
  };
  enum class Ports : std::uint8_t { kNone, kSame, kAny };  // in and out by one port, or by any

  Kind kind = Kind::kClosedRing;
  Ports ports = Ports::kNone;
  double at_port = 1;  // of a chain: what the port carries in each direction. A multiple of a half
};

struct BoxOrder {
  std::vector<int> ranks;  // positions in the box
  // Of a chain on which some ranks hang (cheapest_order.h): by position in `ranks`; empty where none does.
  std::vector<int> parents;
  int port_in = -1, port_out = -1;  // positions in the box; -1: none
  bool operator==(const BoxOrder&) const = default;
};

class BoxSearch {
 public:
  // REQUIRES: the routes outlive it; ports where `use` needs them.
  BoxSearch(const Routes& routes, const OrderUse& use);

  // Finds orders and their amounts. False where no order of the ranks exists. `budget`: how far visited() may go, about.
  bool Run(std::int64_t budget);

  // In GB/s; infinite where no link limits it.
  double total() const { return best_.total; }
  // No set of orders can carry more, and no set of so many channels of one rate.
  double bound() const { return bound_; }
  double BoundOf(int channels) const;
  // The budget has been enough.
  bool finished() const { return best_.finished; }
  // Places that were looked at while orders were searched for, and what the prices took, in about the same unit.
  std::int64_t visited() const { return visited_; }

  // So many channels, in which orders may be repeated. Round: of the orders that Run has found, by their amounts. Divide: what BoundOf
  // says, of orders that it searches for; empty where it finds none.
  std::vector<BoxOrder> Round(int channels) const;
  std::vector<BoxOrder> Divide(int channels, std::int64_t budget);
  // What each channel can carry if all carry the same, in GB/s.
  double RateOf(std::span<const BoxOrder> channels) const;

 private:
  struct Ends;
  enum class Shape : std::uint8_t { kLine, kHanging };
  struct Solution {
    std::vector<double> amounts;  // by order
    double total = 0;
    std::vector<double> prices;  // by resource
    bool finished = false;
  };

  void FindResources();
  void Append(const Route& route, double amount, std::vector<Need>& needs) const;
  std::vector<Need> NeedsOf(const BoxOrder& order) const;
  double PriceOf(const Route& route, std::span<const double> prices) const;
  OrderCosts CostsInside(std::span<const double> prices) const;
  std::vector<Ends> ChoosePorts(std::span<const double> prices, const OrderCosts& inside) const;
  // Of the cheapest order, by prices. Nothing there: no order. `least_cost`, where it is wanted: what all orders cost at least.
  BoxOrder FindCheapest(std::span<const double> prices, Shape shape, double* least_cost);
  // The best amounts, from those of `known` orders on.
  Solution Solve(const std::vector<double>& supplies, std::span<const std::size_t> known, std::int64_t budget);
  // In channels of this rate, rounded down to grains, what each resource has.
  std::vector<double> PartsOf(double rate) const;
  std::vector<BoxOrder> DivideAt(double rate, int channels, int first, std::int64_t budget);
  // The number of an order that may be new.
  std::size_t NumberOf(const BoxOrder& order);

  const Routes& routes_;
  OrderUse use_;
  // What limits: an arc, or the slowest of several that are only used together. By arc its number; -1: limits nothing.
  std::vector<int> resource_of_;
  std::vector<double> supplies_;  // by resource
  std::vector<double> grains_;    // by resource: orders take multiples of it
  std::vector<BoxOrder> orders_;
  std::vector<std::vector<Need>> needs_;  // by order
  Solution best_;
  double bound_ = 0;
  std::int64_t visited_ = 0;
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_BOX_SEARCH_H_
