// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/box_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace tutti::topo {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kWorthIt = 1 - 1e-6;  // an order that costs less is added
constexpr int kFirstChoices = 4;       // of Divide

std::size_t At(int index) { return static_cast<std::size_t>(index); }

// Of which both are multiples, by Euclid.
double CommonGrain(double a, double b) {
  while (b > 1e-6) a = std::exchange(b, a - b * std::floor(a / b + 1e-6));
  return a;
}

BoxOrder ReverseOf(BoxOrder order) {
  std::ranges::reverse(order.ranks);
  std::swap(order.port_in, order.port_out);
  return order;
}

}  // namespace

// What it costs to begin and to end at each rank, with which ports.
struct BoxSearch::Ends {
  std::vector<double> first, last;
  std::vector<int> port_in, port_out;  // by rank
};

BoxSearch::BoxSearch(const Routes& routes, const OrderUse& use) : routes_(routes), use_(use) { FindResources(); }

void BoxSearch::FindResources() {
  std::vector<std::vector<std::pair<int, double>>> users(
      routes_.rates().size());  // by arc: routes, by number, and what they take
  int number = 0;
  const double at_port = use_.kind == OrderUse::Kind::kChain ? use_.at_port : 1;
  const auto use = [&](const Route& route, double amount) {
    for (const auto& [arc, bytes] : route.arcs) users[At(arc)].emplace_back(number, amount * bytes);
    ++number;
  };
  for (int a = 0; a < routes_.ranks(); ++a) {
    for (int b = 0; b < routes_.ranks(); ++b) use(routes_.Between(a, b), 1);
    for (int p = 0; p < (use_.ports == OrderUse::Ports::kNone ? 0 : routes_.ports()); ++p) {
      use(routes_.In(p, a), at_port);
      use(routes_.Out(a, p), at_port);
    }
  }
  std::map<std::vector<std::pair<int, double>>, int> firsts;
  for (std::size_t arc = 0; arc < users.size(); ++arc) {
    const double rate = routes_.rates()[arc];
    resource_of_.push_back(-1);
    if (users[arc].empty() || rate == kInfinite) continue;
    double grain = users[arc].front().second;
    for (const auto& [route, amount] : users[arc]) grain = CommonGrain(grain, amount);
    const auto [found, is_new] = firsts.emplace(std::move(users[arc]), static_cast<int>(supplies_.size()));
    if (is_new) {
      resource_of_.back() = found->second;
      supplies_.push_back(rate);
      grains_.push_back(grain);
    } else {
      supplies_[At(found->second)] = std::min(supplies_[At(found->second)], rate);
    }
  }
}

void BoxSearch::Append(const Route& route, double amount, std::vector<Need>& needs) const {
  for (const auto& [arc, bytes] : route.arcs) {
    if (resource_of_[At(arc)] >= 0) needs.push_back({.resource = resource_of_[At(arc)], .amount = amount * bytes});
  }
}

std::vector<Need> BoxSearch::NeedsOf(const BoxOrder& order) const {
  std::vector<Need> needs;
  for (std::size_t i = 1; i < order.ranks.size(); ++i) {
    const int before = order.ranks[order.parents.empty() ? i - 1 : At(order.parents[i])];
    Append(routes_.Between(before, order.ranks[i]), 1, needs);
    if (use_.kind == OrderUse::Kind::kChain) Append(routes_.Between(order.ranks[i], before), 1, needs);
  }
  const int first = order.ranks.front(), last = order.ranks.back();
  if (use_.kind == OrderUse::Kind::kClosedRing) {
    Append(routes_.Between(last, first), 1, needs);
  } else if (use_.kind == OrderUse::Kind::kRing) {
    Append(routes_.In(order.port_in, first), 1, needs);
    Append(routes_.Out(last, order.port_out), 1, needs);
  } else if (order.port_in >= 0) {
    Append(routes_.In(order.port_in, first), use_.at_port, needs);
    Append(routes_.Out(first, order.port_in), use_.at_port, needs);
  }
  std::ranges::sort(needs, {}, &Need::resource);
  std::vector<Need> sums;
  for (const Need& need : needs) {
    if (sums.empty() || sums.back().resource != need.resource) sums.push_back({.resource = need.resource, .amount = 0});
    sums.back().amount += need.amount;
  }
  return sums;
}

double BoxSearch::PriceOf(const Route& route, std::span<const double> prices) const {
  if (route.type == PathType::kDis) return kNoWay;
  double price = 0;
  for (const auto& [arc, bytes] : route.arcs) {
    if (resource_of_[At(arc)] >= 0) price += bytes * prices[At(resource_of_[At(arc)])];
  }
  return price;
}

OrderCosts BoxSearch::CostsInside(std::span<const double> prices) const {
  OrderCosts costs{.places = routes_.ranks(), .between = {}, .first = {}, .last = {}};
  for (int a = 0; a < costs.places; ++a) {
    for (int b = 0; b < costs.places; ++b) {
      double price = PriceOf(routes_.Between(a, b), prices);
      if (use_.kind == OrderUse::Kind::kChain) price += PriceOf(routes_.Between(b, a), prices);
      costs.between.push_back(price);
    }
  }
  return costs;
}

// All ways to begin and end that have to be tried one by one.
std::vector<BoxSearch::Ends> BoxSearch::ChoosePorts(std::span<const double> prices, const OrderCosts& inside) const {
  const int ranks = routes_.ranks(), ports = routes_.ports();
  const Ends free{.first = std::vector<double>(At(ranks), 0),
                  .last = std::vector<double>(At(ranks), 0),
                  .port_in = std::vector<int>(At(ranks), -1),
                  .port_out = std::vector<int>(At(ranks), -1)};
  if (use_.kind == OrderUse::Kind::kClosedRing) {
    Ends ends = free;
    for (int rank = 1; rank < ranks; ++rank) ends.first[At(rank)] = kNoWay;
    if (ranks > 1) ends.last[0] = kNoWay;
    for (int rank = 1; rank < ranks; ++rank) ends.last[At(rank)] = inside.Between(rank, 0);
    return {ends};
  }
  if (use_.ports == OrderUse::Ports::kNone) return {free};
  std::vector<Ends> choices;
  Ends any = free;
  for (int port = 0; port < ports; ++port) {
    Ends ends = free;
    for (int rank = 0; rank < ranks; ++rank) {
      const double in = PriceOf(routes_.In(port, rank), prices), out = PriceOf(routes_.Out(rank, port), prices);
      const bool chain = use_.kind == OrderUse::Kind::kChain;
      ends.first[At(rank)] = chain ? use_.at_port * (in + out) : in;
      ends.last[At(rank)] = chain ? 0 : out;
      ends.port_in[At(rank)] = ends.port_out[At(rank)] = port;
      if (port == 0 || ends.first[At(rank)] < any.first[At(rank)]) {
        any.first[At(rank)] = ends.first[At(rank)];
        any.port_in[At(rank)] = port;
      }
      if (port == 0 || ends.last[At(rank)] < any.last[At(rank)]) {
        any.last[At(rank)] = ends.last[At(rank)];
        any.port_out[At(rank)] = port;
      }
    }
    choices.push_back(std::move(ends));
  }
  // A chain has one end at a port, so any of them is the same one.
  if (use_.ports == OrderUse::Ports::kAny || use_.kind == OrderUse::Kind::kChain) return {any};
  return choices;
}

BoxOrder BoxSearch::FindCheapest(std::span<const double> prices, Shape shape, double* least_cost) {
  OrderCosts costs = CostsInside(prices);
  costs.may_hang = shape == Shape::kHanging;
  std::vector<Ends> choices = ChoosePorts(prices, costs);
  double open_cost = 0;  // of all ranks without ports, which no choice can go below
  if (choices.size() > 1) {
    costs.first = costs.last = std::vector<double>(At(costs.places), 0);
    open_cost = LeastCost(costs, CheapestOrder(costs, &visited_));
  }
  const auto least_of = [&](const Ends& ends) {
    return open_cost + *std::ranges::min_element(ends.first) + *std::ranges::min_element(ends.last);
  };
  std::ranges::stable_sort(choices, {}, least_of);
  BoxOrder best;
  double best_cost = kNoWay;
  if (least_cost != nullptr) *least_cost = kNoWay;
  for (Ends& ends : choices) {
    if (least_of(ends) >= best_cost) break;
    costs.first = std::move(ends.first);
    costs.last = std::move(ends.last);
    PlaceOrder order = CheapestOrder(costs, &visited_);
    if (least_cost != nullptr) *least_cost = std::min(*least_cost, LeastCost(costs, order));
    if (order.cost >= best_cost) continue;
    best_cost = order.cost;
    best.port_in = ends.port_in[At(order.places.front())];
    best.port_out = use_.kind == OrderUse::Kind::kChain ? best.port_in : ends.port_out[At(order.places.back())];
    best.ranks = std::move(order.places);
    best.parents = std::move(order.parents);
  }
  return best;
}

// What orders use of a supply of 0 costs too much. Orders may be added to orders_ that have no amount.
BoxSearch::Solution BoxSearch::Solve(const std::vector<double>& supplies, std::span<const std::size_t> known,
                                     std::int64_t budget) {
  const double least = *std::ranges::min_element(supplies_);
  std::vector<double> taste;  // so low that it only decides between equals: for fast links, and few of them
  for (const double supply : supplies_) taste.push_back(1e-9 * (least / supply + 0.01));
  const auto fits = [&](const std::vector<Need>& needs) {
    return std::ranges::none_of(needs, [&](const Need& need) { return supplies[At(need.resource)] <= 0; });
  };
  Packing packing(supplies);
  std::vector<std::size_t> orders;  // of the packing's patterns
  const std::int64_t step = static_cast<std::int64_t>(supplies.size() * supplies.size() / 16) + 1;
  const auto add = [&](std::size_t order) {
    packing.Add(needs_[order]);
    orders.push_back(order);
  };
  for (const std::size_t order : known) {
    if (fits(needs_[order])) add(order);
  }
  visited_ += step * packing.Solve();
  const auto cost_of = [&](const std::vector<Need>& needs) {
    double cost = 0;
    for (const Need& need : needs) cost += need.amount * packing.prices()[At(need.resource)];
    return fits(needs) ? cost : kNoWay;
  };
  const auto is_known = [&](const BoxOrder& order) {
    return std::ranges::any_of(orders, [&](std::size_t i) { return orders_[i] == order; });
  };
  bool finished = false;
  Shape shape = Shape::kLine;
  while (orders.empty() || visited_ < budget) {
    std::vector<double> prices = packing.prices();
    for (std::size_t i = 0; i < prices.size(); ++i) prices[i] = supplies[i] > 0 ? prices[i] + taste[i] : kNoWay;
    const BoxOrder order = FindCheapest(prices, shape, nullptr);
    const std::vector<Need> needs = order.ranks.empty() ? std::vector<Need>() : NeedsOf(order);
    if (needs.empty() || cost_of(needs) >= kWorthIt || is_known(order)) {
      finished = shape == Shape::kHanging || use_.kind != OrderUse::Kind::kChain;
      if (finished) break;
      shape = Shape::kHanging;
      continue;
    }
    add(NumberOf(order));
    // Links are alike in both directions, so what has served for one is likely to serve for the other.
    const BoxOrder back = ReverseOf(order);
    const bool serves = use_.kind != OrderUse::Kind::kChain && cost_of(NeedsOf(back)) < kWorthIt;
    if (serves && !is_known(back)) add(NumberOf(back));
    visited_ += step * packing.Solve();
  }
  Solution solution{.amounts = std::vector<double>(orders_.size(), 0),
                    .total = packing.total(),
                    .prices = packing.prices(),
                    .finished = finished};
  for (std::size_t i = 0; i < orders.size(); ++i) solution.amounts[orders[i]] = packing.AmountOf(static_cast<int>(i));
  return solution;
}

std::size_t BoxSearch::NumberOf(const BoxOrder& order) {
  const auto found = std::ranges::find(orders_, order);
  const auto number = static_cast<std::size_t>(found - orders_.begin());
  if (found != orders_.end()) return number;
  orders_.push_back(order);
  needs_.push_back(NeedsOf(order));
  return number;
}

bool BoxSearch::Run(std::int64_t budget) {
  double least_cost = 0;
  const bool chain = use_.kind == OrderUse::Kind::kChain;
  const BoxOrder any = FindCheapest(std::vector<double>(supplies_.size(), 0), Shape::kLine, nullptr);
  if (any.ranks.empty()) return false;
  if (NeedsOf(any).empty()) {
    orders_ = {any};
    needs_ = {{}};
    best_ = {.amounts = {1}, .total = kInfinite, .prices = {}, .finished = true};
    bound_ = kInfinite;
    return true;
  }
  best_ = Solve(supplies_, {}, budget);
  FindCheapest(best_.prices, chain ? Shape::kHanging : Shape::kLine, &least_cost);
  bound_ = least_cost > 0 ? best_.total / std::min(1.0, least_cost) : kInfinite;
  return true;
}

std::vector<double> BoxSearch::PartsOf(double rate) const {
  std::vector<double> parts;
  for (std::size_t i = 0; i < supplies_.size(); ++i) {
    parts.push_back(grains_[i] * std::floor(supplies_[i] / rate / grains_[i] + 1e-9));
  }
  return parts;
}

// A channel takes whole grains of a resource. At the prices of the best amounts it costs at least 1, so that the grains that there are must
// cost as much as all channels: that limits the rate.
double BoxSearch::BoundOf(int channels) const {
  if (bound_ == kInfinite) return kInfinite;
  std::vector<double> rates;  // at which a resource has one more grain
  for (std::size_t i = 0; i < supplies_.size(); ++i) {
    if (best_.prices[i] <= 0) continue;
    for (int grains = 1; grains * grains_[i] <= 2 * channels; ++grains)
      rates.push_back(supplies_[i] / grains_[i] / grains);
  }
  std::ranges::sort(rates, std::greater());
  const auto enough = [&](double rate) {
    const std::vector<double> parts = PartsOf(rate);
    return std::inner_product(parts.begin(), parts.end(), best_.prices.begin(), 0.0) * bound_ >=
           channels * best_.total * (1 - 1e-6);
  };
  const auto found = std::ranges::partition_point(rates, [&](double rate) { return !enough(rate); });
  return found == rates.end() ? 0 : std::min(bound_, channels * *found);
}

std::vector<BoxOrder> BoxSearch::Divide(int channels, std::int64_t budget) {
  const double rate = BoundOf(channels) / channels;
  if (rate <= 0 || rate == kInfinite) return {};
  for (int first = 0; first < kFirstChoices && visited_ < budget; ++first) {
    std::vector<BoxOrder> chosen = DivideAt(rate, channels, first, budget);
    if (!chosen.empty()) return chosen;
  }
  return {};
}

// Where no order has an amount of a whole channel, one is rounded up: the first time that with the `first` largest amount.
std::vector<BoxOrder> BoxSearch::DivideAt(double rate, int channels, int first, std::int64_t budget) {
  std::vector<double> left = PartsOf(rate);
  std::vector<BoxOrder> chosen;
  std::vector<std::size_t> known;  // orders that have served before
  for (std::size_t i = 0; i < best_.amounts.size(); ++i) {
    if (best_.amounts[i] > 0) known.push_back(i);
  }
  const auto take = [&](std::size_t order, int copies) {
    chosen.insert(chosen.end(), At(copies), orders_[order]);
    for (const Need& need : needs_[order]) {
      double& there = left[At(need.resource)];
      there -= copies * need.amount;
      if (there < 1e-6) there = 0;  // an error of rounding
    }
  };
  const auto fits = [&](std::size_t order) {
    return std::ranges::all_of(needs_[order],
                               [&](const Need& need) { return left[At(need.resource)] >= need.amount - 1e-9; });
  };
  while (static_cast<int>(chosen.size()) < channels) {
    const int missing = channels - static_cast<int>(chosen.size());
    const Solution now = Solve(left, known, budget);
    if (now.total < missing * (1 - 1e-6)) return {};
    std::vector<std::size_t> parts;
    known.clear();
    bool whole = false;
    for (std::size_t i = 0; i < now.amounts.size(); ++i) {
      const int copies = std::min(static_cast<int>(now.amounts[i] + 1e-4), channels - static_cast<int>(chosen.size()));
      if (copies > 0) take(i, copies);
      whole = whole || copies > 0;
      if (now.amounts[i] > 0) known.push_back(i);
      if (now.amounts[i] > 0 && fits(i)) parts.push_back(i);
    }
    if (whole) continue;
    if (static_cast<int>(parts.size()) <= first) return {};
    std::ranges::stable_sort(parts, std::greater(), [&](std::size_t i) { return now.amounts[i]; });
    const std::size_t next = parts[At(std::exchange(first, 0))];
    take(next, 1);
    // What is left of a link stays alike in both directions, if an order goes with its reverse.
    const std::size_t back = use_.kind == OrderUse::Kind::kChain ? next : NumberOf(ReverseOf(orders_[next]));
    if (back != next && missing > 1 && fits(back)) take(back, 1);
  }
  return chosen;
}

double BoxSearch::RateOf(std::span<const BoxOrder> channels) const {
  std::vector<double> loads(supplies_.size(), 0);
  for (const BoxOrder& order : channels) {
    for (const Need& need : NeedsOf(order)) loads[At(need.resource)] += need.amount;
  }
  double rate = kInfinite;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i] > 0) rate = std::min(rate, supplies_[i] / loads[i]);
  }
  return rate;
}

// Each order gets its part of the channels, rounded down; those that are left go where the fullest link has most room after it.
std::vector<BoxOrder> BoxSearch::Round(int channels) const {
  const double sum = std::accumulate(best_.amounts.begin(), best_.amounts.end(), 0.0);
  std::vector<int> copies(orders_.size(), 0);
  std::vector<double> loads(supplies_.size(), 0);
  int left = channels;
  const auto add = [&](std::size_t order, int times) {
    copies[order] += times;
    left -= times;
    for (const Need& need : needs_[order]) loads[At(need.resource)] += times * need.amount;
  };
  for (std::size_t i = 0; i < orders_.size() && i < best_.amounts.size(); ++i) {
    add(i, std::min(left, static_cast<int>(channels * best_.amounts[i] / sum + 1e-4)));
  }
  while (left > 0) {
    std::size_t best = 0;
    double least = kInfinite;
    for (std::size_t i = 0; i < best_.amounts.size(); ++i) {
      double fullest = 0;  // of the resources that it needs; the others are as full with any order
      for (const Need& need : needs_[i]) {
        fullest = std::max(fullest, (loads[At(need.resource)] + need.amount) / supplies_[At(need.resource)]);
      }
      if (fullest >= least) continue;
      least = fullest;
      best = i;
    }
    add(best, 1);
  }
  std::vector<BoxOrder> result;
  for (std::size_t i = 0; i < orders_.size(); ++i) result.insert(result.end(), At(copies[i]), orders_[i]);
  return result;
}

}  // namespace tutti::topo
