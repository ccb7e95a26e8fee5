// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "topo/channel_choice.h"

namespace tutti::topo {
namespace {

constexpr double kPays = 1.01;   // crossing rails has to be better by so much
constexpr int kNowhere = 1'000;  // stands for the links of a way that there is none of

std::size_t At(int index) { return static_cast<std::size_t>(index); }

// Of a box: its channels, and how a ring passes them.
struct Visit {
  int box = 0;
  std::vector<BoxOrder> channels;
};

int PortNode(const Placement& placement, int box, int port) {
  const Box& there = placement.boxes()[At(box)];
  return there.nodes[At(there.ports[At(port)])];
}

int HopsBetween(const Placement& placement, int from, int to) {
  return placement.network().Hops(from, to).value_or(kNowhere);
}

// Of the two ports that are closest.
int Distance(const Placement& placement, int box, int other) {
  int least = kNowhere;
  for (std::size_t a = 0; a < placement.boxes()[At(box)].ports.size(); ++a) {
    for (std::size_t b = 0; b < placement.boxes()[At(other)].ports.size(); ++b) {
      least = std::min(least, HopsBetween(placement, PortNode(placement, box, static_cast<int>(a)),
                                          PortNode(placement, other, static_cast<int>(b))));
      if (least <= 2) return least;
    }
  }
  return least;
}

// To the nearest boxes that are left, again and again: boxes at the same switches follow each other, and those of one pod.
std::vector<int> OrderBoxes(const Placement& placement) {
  std::map<std::vector<int>, std::size_t> group_of;  // by what the ports lead to
  std::vector<std::vector<int>> groups;
  for (int box = 0; box < static_cast<int>(placement.boxes().size()); ++box) {
    std::vector<int> next_to;
    for (std::size_t port = 0; port < placement.boxes()[At(box)].ports.size(); ++port) {
      for (const int node : placement.network().NextTo(PortNode(placement, box, static_cast<int>(port))))
        next_to.push_back(node);
    }
    const auto group = group_of.emplace(std::move(next_to), groups.size()).first->second;
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(box);
  }
  std::vector<int> order;
  while (!groups.empty()) {
    auto nearest = groups.begin();
    int least = order.empty() ? 0 : std::numeric_limits<int>::max();
    for (auto group = groups.begin(); group != groups.end() && least > 2; ++group) {
      const int distance = Distance(placement, order.back(), group->front());
      if (distance >= least) continue;
      least = distance;
      nearest = group;
    }
    order.insert(order.end(), nearest->begin(), nearest->end());
    groups.erase(nearest);
  }
  return order;
}

class Arrangement {
 public:
  // `order`: of boxes.
  Arrangement(const Placement& placement, const ChannelChoice& choice, const std::vector<int>& order)
      : placement_(placement), choice_(choice), order_(order) {}

  // Rings: each box's channels in the order, and the direction, that joins them best to those of the box before it.
  std::vector<Visit> Rings() const;
  // Trees: in the order that joins them best to those of the first box.
  std::vector<Visit> Trees() const;

 private:
  std::vector<BoxOrder> Match(const std::vector<int>& ports, int box, std::vector<BoxOrder> channels, int* hops) const;

  const Placement& placement_;
  const ChannelChoice& choice_;
  const std::vector<int>& order_;
};

// For each port in turn the channel that comes in closest to it.
std::vector<BoxOrder> Arrangement::Match(const std::vector<int>& ports, int box, std::vector<BoxOrder> channels,
                                         int* hops) const {
  std::vector<BoxOrder> matched;
  std::vector<bool> used(channels.size(), false);
  for (std::size_t own = 0; own < ports.size(); ++own) {
    std::size_t best = channels.size();
    int least = std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < channels.size() && least > 2; ++i) {
      const std::size_t candidate = (own + i) % channels.size();
      if (used[candidate]) continue;
      const int distance = HopsBetween(placement_, ports[own], PortNode(placement_, box, channels[candidate].port_in));
      if (distance >= least) continue;
      least = distance;
      best = candidate;
    }
    used[best] = true;
    *hops += least;
    matched.push_back(std::move(channels[best]));
  }
  return matched;
}

std::vector<Visit> Arrangement::Rings() const {
  std::vector<Visit> visits = {{.box = order_[0], .channels = choice_.ChannelsOf(order_[0])}};
  for (std::size_t i = 1; i < order_.size(); ++i) {
    std::vector<int> ports;
    for (const BoxOrder& channel : visits.back().channels) {
      ports.push_back(PortNode(placement_, visits.back().box, channel.port_out));
    }
    const std::vector<BoxOrder>& forward = choice_.ChannelsOf(order_[i]);
    std::vector<BoxOrder> reversed = forward;
    for (BoxOrder& channel : reversed) {
      std::ranges::reverse(channel.ranks);
      std::swap(channel.port_in, channel.port_out);
    }
    int hops_forward = 0, hops_reversed = 0;
    std::vector<BoxOrder> one = Match(ports, order_[i], forward, &hops_forward);
    std::vector<BoxOrder> other = Match(ports, order_[i], std::move(reversed), &hops_reversed);
    visits.push_back({.box = order_[i], .channels = hops_reversed < hops_forward ? std::move(other) : std::move(one)});
  }
  return visits;
}

std::vector<Visit> Arrangement::Trees() const {
  std::vector<Visit> visits = {{.box = order_[0], .channels = choice_.ChannelsOf(order_[0])}};
  std::vector<int> ports;
  for (std::size_t i = 1; i < order_.size(); ++i) {
    int hops = 0;
    if (i == 1) {
      for (const BoxOrder& channel : visits[0].channels)
        ports.push_back(PortNode(placement_, order_[0], channel.port_in));
    }
    visits.push_back({.box = order_[i], .channels = Match(ports, order_[i], choice_.ChannelsOf(order_[i]), &hops)});
  }
  return visits;
}

// What is known of a box's channels but their rates.
Channels Describe(const Placement& placement, const Visit& visit, GraphId id, Pattern pattern) {
  const Box& box = placement.boxes()[At(visit.box)];
  const Routes& routes = placement.RoutesOf(visit.box);
  Channels channels{.id = id, .pattern = pattern};
  channels.type_inside = channels.type_between = PathType::kLoc;
  const auto inside = [&](int from, int to) {
    channels.type_inside = std::max(channels.type_inside, routes.Between(from, to).type);
  };
  for (const BoxOrder& order : visit.channels) {
    ChannelOrder& channel = channels.channels.emplace_back();
    for (const int rank : order.ranks) channel.gpus.push_back(box.nodes[At(box.gpus[At(rank)])]);
    channel.parents = order.parents;
    for (std::size_t i = 1; i < order.ranks.size(); ++i) {
      inside(order.ranks[order.parents.empty() ? i - 1 : At(order.parents[i])], order.ranks[i]);
    }
    channels.same = channels.same && channel.gpus == channels.channels.front().gpus;
    if (order.port_in < 0) {
      if (pattern == Pattern::kRing) inside(order.ranks.back(), order.ranks.front());
      continue;
    }
    const int last = pattern == Pattern::kRing ? order.ranks.back() : order.ranks.front();
    channel.port_in = box.nodes[At(box.ports[At(order.port_in)])];
    channel.port_out = box.nodes[At(box.ports[At(order.port_out)])];
    channels.type_between = std::max({channels.type_between, routes.In(order.port_in, order.ranks.front()).type,
                                      routes.Out(last, order.port_out).type});
    channels.cross_nic = channels.cross_nic || order.port_in != order.port_out;
    if (const Port* port = placement.graph().node(*channel.port_out).port()) {
      channels.latency_between_us = std::max(channels.latency_between_us, port->latency_us);
    }
  }
  return channels;
}

// One search: for rings or for trees, with one use of ports.
class Attempt {
 public:
  // `order`: of boxes. `uses`: by box.
  Attempt(const Placement& placement, const std::vector<int>& order, const std::vector<OrderUse>& uses,
          TreesPerChannel trees)
      : placement_(placement), order_(order), use_(uses[0]), trees_(trees), choice_(placement, uses) {}

  // False, and why() says what is in the way.
  bool Run(const SearchOptions& options, std::int64_t budget);
  const SearchResult& result() const { return result_; }
  const std::string& why() const { return why_; }

 private:
  bool IsRing() const { return use_.kind != OrderUse::Kind::kChain; }
  void Explain(int box);
  void FindRates(std::span<const RankRing> rings, std::span<const RankTree> trees);

  const Placement& placement_;
  const std::vector<int>& order_;
  OrderUse use_;
  TreesPerChannel trees_;
  ChannelChoice choice_;
  SearchResult result_;
  std::string why_;
};

void Attempt::Explain(int box) {
  const Box& there = placement_.boxes()[At(box)];
  const Routes& routes = placement_.RoutesOf(box);
  for (int rank = 1; rank < routes.ranks(); ++rank) {
    if (routes.Between(0, rank).type != PathType::kDis) continue;
    why_ =
        fmt::format("No path leads from the GPU of rank {} to that of rank {}.", there.ranks[0], there.ranks[At(rank)]);
    return;
  }
  why_ = fmt::format("No order of the GPUs in the box of rank {} begins and ends at its ports.", there.ranks[0]);
}

// In GB/s for each channel: what the arcs allow that are used between GPUs, and those that are used between them and ports or beyond.
void Attempt::FindRates(std::span<const RankRing> rings, std::span<const RankTree> trees) {
  std::vector<double> inside(placement_.arcs(), 0), between(placement_.arcs(), 0);
  const auto charge = [&](int from, int to, const Crossing& crossing, double amount) {
    placement_.Charge(from, to, crossing, amount, crossing.out < 0 ? inside : between);
  };
  for (const RankRing& ring : rings) {
    for (std::size_t i = 0; i < ring.ranks.size(); ++i) {
      charge(ring.ranks[i], ring.ranks[(i + 1) % ring.ranks.size()], ring.crossings[i], 1);
    }
  }
  for (const RankTree& tree : trees) {
    for (std::size_t rank = 0; rank < tree.parents.size(); ++rank) {
      if (tree.parents[rank] < 0) continue;
      const Crossing& up = tree.crossings[rank];
      charge(static_cast<int>(rank), tree.parents[rank], up, 1.0 / static_cast<int>(trees_));
      charge(tree.parents[rank], static_cast<int>(rank), {.out = up.in, .in = up.out}, 1.0 / static_cast<int>(trees_));
    }
  }
  const double infinite = std::numeric_limits<double>::infinity();
  double least_inside = infinite, least_between = infinite;
  for (std::size_t arc = 0; arc < inside.size(); ++arc) {
    const double rate = placement_.RateOf(static_cast<Arc>(arc)) / (inside[arc] + between[arc]);
    if (inside[arc] > 0) least_inside = std::min(least_inside, rate);
    if (between[arc] > 0) least_between = std::min(least_between, rate);
  }
  for (BoxChannels& box : result_.boxes) {
    box.channels.gb_per_s_inside = least_inside < infinite ? least_inside : least_between;
    box.channels.gb_per_s_between = least_between < infinite ? least_between : least_inside;
  }
}

bool Attempt::Run(const SearchOptions& options, std::int64_t budget) {
  const int failed = choice_.Run(budget);
  result_.visited = choice_.visited();
  if (failed >= 0) {
    Explain(failed);
    return false;
  }
  choice_.Choose(options.min_channels, options.max_channels);
  const Arrangement arrangement(placement_, choice_, order_);
  for (const Visit& visit : IsRing() ? arrangement.Rings() : arrangement.Trees()) {
    const GraphId id = IsRing() ? GraphId::kRing : GraphId::kTree;
    result_.boxes.push_back(
        {.box = visit.box, .channels = Describe(placement_, visit, id, IsRing() ? Pattern::kRing : Pattern::kTree)});
  }
  const double ranks = placement_.ranks();
  result_.finished = choice_.finished();
  result_.visited = choice_.visited();
  result_.bound_gb_per_s = choice_.bound() * (IsRing() ? 1 : 2 * (ranks - 1) / ranks);
  std::vector<RankRing> rings;
  std::vector<RankTree> trees;
  if (IsRing()) {
    rings = *MakeRings(placement_, result_.boxes);
    result_.prediction = PredictRings(placement_, rings);
  } else {
    trees = *MakeTrees(placement_, result_.boxes, trees_, TreeShape::kChain);
    result_.prediction = PredictTrees(placement_, trees);
  }
  FindRates(rings, trees);
  if (placement_.ranks() == 1) {
    result_.bound_gb_per_s = 0;
    return true;
  }
  if (result_.prediction.gb_per_s <= 0) {
    why_ =
        "The network has no way between the ports of some hosts: look for a link that is down, or rails that nothing "
        "joins.";
  }
  return result_.prediction.gb_per_s > 0;
}

PathType FarthestPort(const SearchResult& result) {
  PathType farthest = PathType::kLoc;
  for (const BoxChannels& box : result.boxes) farthest = std::max(farthest, box.channels.type_between);
  return farthest;
}

// Than one whose rings use the same port in and out. What is nearly as fast is better where GPUs are closer to their ports.
bool IsBetter(const SearchResult& crossing, const SearchResult& same) {
  const double gain = crossing.prediction.gb_per_s / same.prediction.gb_per_s;
  return gain > kPays || (gain * kPays > 1 && FarthestPort(crossing) < FarthestPort(same));
}

Status CheckOptions(const SearchOptions& options) {
  if (options.min_channels >= 1 && options.max_channels >= options.min_channels &&
      options.max_channels <= kMostChannels) {
    return Status::Ok();
  }
  return Status(Code::kInvalidArgument,
                fmt::format("Channels from {} to {} are asked for: ask for 1 to {}, the lower number first.",
                            options.min_channels, options.max_channels, kMostChannels));
}

}  // namespace

Result<SearchResult> SearchRings(const Placement& placement, const SearchOptions& options) {
  TUTTI_RETURN_IF_ERROR(CheckOptions(options));
  using Ports = OrderUse::Ports;
  const std::vector<int> order = OrderBoxes(placement);
  const auto try_with = [&](Ports ports, std::int64_t budget) {
    const auto kind = ports == Ports::kNone ? OrderUse::Kind::kClosedRing : OrderUse::Kind::kRing;
    const std::vector<OrderUse> uses(order.size(), {.kind = kind, .ports = ports});
    Attempt attempt(placement, order, uses, TreesPerChannel::kOne);
    const bool found = attempt.Run(options, budget);
    return std::pair(found, std::move(attempt));
  };
  if (placement.boxes().size() == 1) {
    auto [found, attempt] = try_with(Ports::kNone, options.budget);
    return found ? Result<SearchResult>(attempt.result()) : Status(Code::kUnsupported, attempt.why());
  }
  std::optional<SearchResult> best;
  std::string why;
  std::int64_t visited = 0;
  for (const Ports ports : {Ports::kSame, Ports::kAny}) {
    if (ports == Ports::kSame && options.cross_nic == CrossNic::kAlways) continue;
    if (ports == Ports::kAny && options.cross_nic == CrossNic::kNever && best) continue;
    auto [found, attempt] = try_with(ports, options.budget / 2);
    visited += attempt.result().visited;
    if (!found) {
      why = attempt.why();
    } else if (!best || IsBetter(attempt.result(), *best)) {
      best = attempt.result();
    }
  }
  if (!best) return Status(Code::kUnsupported, why);
  best->visited = visited;
  return *best;
}

Result<SearchResult> SearchTrees(const Placement& placement, const SearchOptions& options, TreesPerChannel count) {
  TUTTI_RETURN_IF_ERROR(CheckOptions(options));
  const std::vector<int> order = OrderBoxes(placement);
  const int boxes = static_cast<int>(order.size());
  const auto ports = boxes > 1 ? OrderUse::Ports::kSame : OrderUse::Ports::kNone;
  std::vector<OrderUse> uses(order.size(), {.kind = OrderUse::Kind::kChain, .ports = ports, .at_port = 0});
  for (const std::vector<int>& parents : TreesOfBoxes(boxes, count)) {
    for (std::size_t position = 0; position < parents.size(); ++position) {
      if (parents[position] < 0) continue;
      for (const int end : {static_cast<int>(position), parents[position]}) {
        uses[At(order[At(end)])].at_port += 1.0 / static_cast<int>(count);
      }
    }
  }
  Attempt attempt(placement, order, uses, count);
  if (!attempt.Run(options, options.budget)) return Status(Code::kUnsupported, attempt.why());
  return attempt.result();
}

}  // namespace tutti::topo
