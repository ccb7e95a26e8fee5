// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/cheapest_order.h"

#include <algorithm>
#include <utility>

namespace tutti::topo {
namespace {

std::size_t At(int index) { return static_cast<std::size_t>(index); }

// A chain of places with those that hang on each, as one order.
PlaceOrder WithHanging(const std::vector<int>& chain, const std::vector<std::vector<int>>& hanging, double cost) {
  PlaceOrder order{.places = {}, .parents = {}, .cost = cost};
  int before = -1;
  bool hangs = false;
  for (const int place : chain) {
    const int own = static_cast<int>(order.places.size());
    order.places.push_back(place);
    order.parents.push_back(std::exchange(before, own));
    for (const int other : hanging[At(place)]) {
      order.places.push_back(other);
      order.parents.push_back(own);
      hangs = true;
    }
  }
  if (!hangs) order.parents.clear();
  return order;
}

// best[set * places + last]: the cheapest way to visit a set of places, with a chain that ends at one of them.
class ExactSearch {
 public:
  ExactSearch(const OrderCosts& costs, std::int64_t* visited)
      : costs_(costs), n_(costs.places), best_((std::size_t{1} << n_) * At(n_), kNoWay), before_(best_.size(), kFirst) {
    for (int i = 0; i < n_; ++i) best_[Index(1u << i, i)] = costs.first[At(i)];
    for (unsigned set = 1; set < All(); ++set) {
      for (int last = 0; last < n_; ++last) {
        if ((set >> last & 1u) != 0 && best_[Index(set, last)] < kNoWay) Extend(set, last, visited);
      }
    }
  }

  PlaceOrder Result() const {
    double cost = kNoWay;
    int end = -1;
    for (int i = 0; i < n_; ++i) {
      const double own = best_[Index(All(), i)] + costs_.last[At(i)];
      if (own >= cost) continue;
      cost = own;
      end = i;
    }
    if (end < 0) return {};
    std::vector<int> chain = {end};
    std::vector<std::vector<int>> hanging(At(n_));
    for (unsigned set = All(); before_[Index(set, chain.back())] != kFirst;) {
      const int last = chain.back(), step = before_[Index(set, last)];
      if (step < kFirst) {
        hanging[At(last)].insert(hanging[At(last)].begin(), kHung - step);
        set &= ~(1u << (kHung - step));
      } else {
        chain.push_back(step);
        set &= ~(1u << last);
      }
    }
    std::ranges::reverse(chain);
    return WithHanging(chain, hanging, cost);
  }

 private:
  // What a step was: from a place to the last one; that place p hangs on the last one now (kHung - p); none.
  static constexpr int kFirst = -1, kHung = -2;

  unsigned All() const { return (1u << n_) - 1; }
  std::size_t Index(unsigned set, int last) const { return static_cast<std::size_t>(set) * At(n_) + At(last); }
  void Offer(unsigned set, int last, double cost, int step) {
    if (cost >= best_[Index(set, last)]) return;
    best_[Index(set, last)] = cost;
    before_[Index(set, last)] = static_cast<std::int8_t>(step);
  }
  void Extend(unsigned set, int last, std::int64_t* visited) {
    const double here = best_[Index(set, last)];
    for (int next = 0; next < n_; ++next) {
      if ((set >> next & 1u) != 0) continue;
      *visited += costs_.may_hang ? 2 : 1;
      const double cost = here + costs_.Between(last, next);
      Offer(set | 1u << next, next, cost, last);
      if (costs_.may_hang) Offer(set | 1u << next, last, cost, kHung - next);
    }
  }

  const OrderCosts& costs_;
  int n_;
  std::vector<double> best_;
  std::vector<std::int8_t> before_;
};

double CostOf(const OrderCosts& costs, const std::vector<int>& order) {
  double cost = costs.first[At(order.front())] + costs.last[At(order.back())];
  for (std::size_t i = 1; i < order.size(); ++i) cost += costs.Between(order[i - 1], order[i]);
  return cost;
}

// What a place costs more at a position of an order that does not have it.
double Extra(const OrderCosts& costs, const std::vector<int>& order, std::size_t position, int place) {
  const bool first = position == 0, last = position == order.size();
  const double in = first ? costs.first[At(place)] : costs.Between(order[position - 1], place);
  const double out = last ? costs.last[At(place)] : costs.Between(place, order[position]);
  if (first && last) return in + out;
  if (first) return in + out - costs.first[At(order.front())];
  if (last) return in + out - costs.last[At(order.back())];
  return in + out - costs.Between(order[position - 1], order[position]);
}

// The position where a place costs least.
std::size_t BestPosition(const OrderCosts& costs, const std::vector<int>& order, int place) {
  std::size_t best = order.size();
  double least = Extra(costs, order, best, place);
  for (std::size_t position = order.size(); position-- > 0;) {
    const double extra = Extra(costs, order, position, place);
    if (extra >= least) continue;
    least = extra;
    best = position;
  }
  return best;
}

// Takes places out of a chain that cost less where they hang on another one. Returns what all costs then.
double Hang(const OrderCosts& costs, std::vector<int>& chain, std::vector<std::vector<int>>& hanging) {
  double extra = 0;
  for (int place = 0; place < costs.places; ++place) {
    if (chain.size() == 1 || !hanging[At(place)].empty()) continue;
    const std::vector<int> with = chain;
    const auto found = std::ranges::find(chain, place);
    const auto position = static_cast<std::size_t>(found - chain.begin());
    chain.erase(found);
    const int on = *std::ranges::min_element(chain, {}, [&](int other) { return costs.Between(other, place); });
    if (costs.Between(on, place) < Extra(costs, chain, position, place) * (1 - 1e-9)) {
      hanging[At(on)].push_back(place);
      extra += costs.Between(on, place);
    } else {
      chain = with;
    }
  }
  return CostOf(costs, chain) + extra;
}

PlaceOrder GoodOrder(const OrderCosts& costs, std::int64_t* visited) {
  std::vector<int> order;
  const auto insert = [&](std::size_t position, int place) {
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(position), place);
    *visited += costs.places;
  };
  for (int place = 0; place < costs.places; ++place) insert(BestPosition(costs, order, place), place);
  double cost = CostOf(costs, order);
  while (true) {
    for (int place = 0; place < costs.places; ++place) {
      const auto found = std::ranges::find(order, place);
      const auto now = static_cast<std::size_t>(found - order.begin());
      order.erase(found);
      const std::size_t best = BestPosition(costs, order, place);
      insert(Extra(costs, order, best, place) < Extra(costs, order, now, place) ? best : now, place);
    }
    const double better = CostOf(costs, order);
    const bool done = better >= cost * (1 - 1e-9);
    cost = better;
    if (done) break;
  }
  std::vector<std::vector<int>> hanging(At(costs.places));
  if (costs.may_hang) cost = Hang(costs, order, hanging);
  return cost < kNoWay ? WithHanging(order, hanging, cost) : PlaceOrder();
}

// The least that it costs to reach all of `count` nodes from node 0 by edges of which each node but 0 is entered by one (Chu and Liu 1965,
// Edmonds 1967). `cost`: from * count + to.
double LeastArborescence(int count, std::vector<double> cost) {
  double sum = 0;
  while (count > 1) {
    std::vector<int> from(At(count), 0);
    for (int to = 1; to < count; ++to) {
      for (int i = 0; i < count; ++i) {
        if (i != to && (from[At(to)] == to || cost[At(i * count + to)] < cost[At(from[At(to)] * count + to)]))
          from[At(to)] = i;
      }
      sum += cost[At(from[At(to)] * count + to)];
    }
    // Nodes on a circle of such edges become one, and are entered for what that costs more.
    std::vector<int> group(At(count), -1), seen_by(At(count), -1);
    int groups = 0;
    group[0] = groups++;
    bool circles = false;
    for (int start = 1; start < count; ++start) {
      int node = start;
      while (group[At(node)] < 0 && seen_by[At(node)] < 0) {
        seen_by[At(node)] = start;
        node = from[At(node)];
      }
      if (group[At(node)] >= 0 || seen_by[At(node)] != start) continue;
      circles = true;
      for (int i = node; group[At(i)] < 0; i = from[At(i)]) group[At(i)] = groups;
      ++groups;
    }
    if (!circles) return sum;
    for (int& own : group) {
      if (own < 0) own = groups++;
    }
    std::vector<double> less(At(groups * groups), kNoWay);
    for (int a = 0; a < count; ++a) {
      for (int b = 1; b < count; ++b) {
        if (group[At(a)] == group[At(b)]) continue;
        double& there = less[At(group[At(a)] * groups + group[At(b)])];
        there = std::min(there, cost[At(a * count + b)] - cost[At(from[At(b)] * count + b)]);
      }
    }
    count = groups;
    cost = std::move(less);
  }
  return sum;
}

// From outside to one place, by `begin`, and from there to all. An edge from outside costs so much more that one is taken.
constexpr double kOnlyOnce = 1e6;  // more than an order costs that is worth anything
template <typename Between>
double ReachAll(int places, const std::vector<double>& begin, const Between& between) {
  const int count = places + 1;
  std::vector<double> cost(At(count * count), kNoWay);
  for (int to = 0; to < places; ++to) {
    cost[At(to + 1)] = begin[At(to)] + kOnlyOnce;
    for (int from = 0; from < places; ++from) cost[At((from + 1) * count + to + 1)] = between(from, to);
  }
  return LeastArborescence(count, std::move(cost)) - kOnlyOnce;
}

}  // namespace

PlaceOrder CheapestOrder(const OrderCosts& costs, std::int64_t* visited) {
  return costs.places <= kMostPlacesExactly ? ExactSearch(costs, visited).Result() : GoodOrder(costs, visited);
}

double LeastCost(const OrderCosts& costs, const PlaceOrder& found) {
  if (costs.places <= kMostPlacesExactly) return found.cost;
  const double first = *std::ranges::min_element(costs.first), last = *std::ranges::min_element(costs.last);
  const double onwards = ReachAll(costs.places, costs.first, [&](int from, int to) { return costs.Between(from, to); });
  const double back = ReachAll(costs.places, costs.last, [&](int from, int to) { return costs.Between(to, from); });
  return std::min(kNoWay, std::max(onwards + last, back + first));
}

}  // namespace tutti::topo
