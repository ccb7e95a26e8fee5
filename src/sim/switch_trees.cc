// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/switch_trees.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "sim/boxes.h"
#include "sim/routes.h"

namespace tutti::sim {
namespace {

void Turn(std::vector<topo::Arc>& arcs) {
  std::ranges::reverse(arcs);
  for (topo::Arc& arc : arcs) arc = topo::Reverse(arc);
}

bool HasTwice(std::vector<int> nodes) {
  std::ranges::sort(nodes);
  return std::ranges::adjacent_find(nodes) != nodes.end();
}

}  // namespace

SwitchTrees::SwitchTrees(const topo::Graph& graph, std::span<const int> nodes, const topo::PolicyOptions& policy,
                         const SwitchCosts& costs, Router& router)
    : graph_(graph), nodes_(nodes.begin(), nodes.end()), policy_(policy), costs_(costs), router_(router) {
  Forget();
}

SwitchTrees::~SwitchTrees() = default;

void SwitchTrees::Forget() {
  boxes_ = std::make_unique<Boxes>(graph_, nodes_, policy_);
  distances_.clear();
  known_.clear();
}

Result<std::uint32_t> SwitchTrees::Find(const SwitchedFlow& flow) {
  const Key key{.from = flow.from, .to = flow.to, .channel = flow.channel, .number = flow.number};
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  if (HasTwice(flow.from) || HasTwice(flow.to)) {
    return Status(Code::kUnsupported,
                  "two of the ranks whose values a switch is to copy or fold share a GPU; put each on one of its own");
  }
  std::optional<SwitchTree> tree = Build(flow, Layer::kNvLink);
  if (!tree) tree = Build(flow, Layer::kNetwork);
  if (!tree) {
    return Status(
        Code::kUnsupported,
        "no switch that all ranks of a group reach copies and folds: their GPUs are not at one NVSwitch of Hopper's "
        "generation or a later one, and no network that reduces joins them (write `reduces` into the fabric line of "
        "the "
        "machine's text where switches do that)");
  }
  trees_.push_back(std::move(*tree));
  const auto index = static_cast<std::uint32_t>(trees_.size()) - 1;
  known_.emplace(key, index);
  return index;
}

std::optional<SwitchTree> SwitchTrees::Build(const SwitchedFlow& flow, Layer layer) {
  const double share = layer == Layer::kNvLink ? costs_.nvlink_share : costs_.network_share;
  if (share <= 0) return std::nullopt;
  const auto from = HooksOf(flow.from, flow, layer, topo::Direction::kSend);
  const auto to = HooksOf(flow.to, flow, layer, topo::Direction::kReceive);
  if (!from || !to) return std::nullopt;
  std::vector<Hook> all = *from;
  all.insert(all.end(), to->begin(), to->end());
  const std::optional<int> root = RootOf(all, flow, layer);
  if (!root) return std::nullopt;
  SwitchTree tree{.network = layer == Layer::kNetwork, .charge = static_cast<float>(1 / share)};
  tree.joined_at_root = Grow(*from, *root, flow, layer, topo::Direction::kSend, tree.up);
  Grow(*to, *root, flow, layer, topo::Direction::kReceive, tree.down);
  tree.parts.resize(tree.down.size() + 1);
  for (std::uint32_t i = 0; i < tree.down.size(); ++i) {
    const std::int32_t next = tree.down[i].next;
    tree.parts[next < 0 ? tree.down.size() : static_cast<std::size_t>(next)].push_back(i);
  }
  return tree;
}

std::optional<std::vector<SwitchTrees::Hook>> SwitchTrees::HooksOf(std::span<const int> nodes, const SwitchedFlow& flow,
                                                                   Layer layer, topo::Direction direction) {
  std::vector<Hook> hooks;
  for (const int node : nodes) {
    std::optional<Hook> hook = layer == Layer::kNvLink ? HookAtNvSwitch(node) : HookAtNetwork(node, flow, direction);
    if (!hook) return std::nullopt;
    hooks.push_back(std::move(*hook));
  }
  return hooks;
}

std::optional<SwitchTrees::Hook> SwitchTrees::HookAtNvSwitch(int node) const {
  for (const topo::Neighbour& next : graph_.NeighboursOf(node)) {
    if (IsStep(next, Layer::kNvLink)) return Hook{.node = next.node, .arcs = {ArcFrom(node, next.link)}};
  }
  return std::nullopt;
}

std::optional<SwitchTrees::Hook> SwitchTrees::HookAtNetwork(int node, const SwitchedFlow& flow,
                                                            topo::Direction direction) {
  const std::optional<int> port = boxes_->PortOf(node, flow.channel);
  if (!port || !graph_.node(*port).port()->collectives) return std::nullopt;
  std::optional<Boxes::Way> way = boxes_->ToPort(node, *port, direction);
  if (!way) return std::nullopt;
  if (direction == topo::Direction::kReceive) Turn(way->arcs);
  std::vector<topo::Neighbour> lines;
  for (const topo::Neighbour& next : graph_.NeighboursOf(*port)) {
    if (IsStep(next, Layer::kNetwork)) lines.push_back(next);
  }
  if (lines.empty()) return std::nullopt;
  const topo::Neighbour line = lines[Mix(flow.number + static_cast<std::uint64_t>(*port)) % lines.size()];
  way->arcs.push_back(ArcFrom(*port, line.link));
  return Hook{.node = line.node, .arcs = std::move(way->arcs)};
}

bool SwitchTrees::IsStep(const topo::Neighbour& next, Layer layer) const {
  const topo::Link& link = graph_.link(next.link);
  const bool nvlink = layer == Layer::kNvLink;
  return link.gb_per_s() > 0 && link.kind == (nvlink ? topo::LinkKind::kNvLink : topo::LinkKind::kNetwork) &&
         graph_.node(next.node).kind == (nvlink ? topo::NodeKind::kNvSwitch : topo::NodeKind::kNetworkSwitch);
}

// Breadth first.
const SwitchTrees::Distances& SwitchTrees::From(int node, Layer layer) {
  const auto [known, fresh] = distances_.try_emplace({node, layer});
  Distances& distances = known->second;
  if (!fresh) return distances;
  std::vector<int> queue = {node};
  distances[node] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const int distance = distances[queue[i]];
    for (const topo::Neighbour& next : graph_.NeighboursOf(queue[i])) {
      if (IsStep(next, layer) && distances.try_emplace(next.node, distance + 1).second) queue.push_back(next.node);
    }
  }
  return distances;
}

std::optional<int> SwitchTrees::RootOf(std::span<const Hook> hooks, const SwitchedFlow& flow, Layer layer) {
  std::set<int> hung_on;
  for (const Hook& hook : hooks) hung_on.insert(hook.node);
  std::vector<int> best;
  std::pair<int, int> least;  // to the farthest one, and to all
  for (const auto& [node, distance] : From(*hung_on.begin(), layer)) {
    std::pair<int, int> far = {0, 0};
    bool reaches_all = true;
    for (const int hook : hung_on) {
      const Distances& distances = From(hook, layer);
      const auto found = distances.find(node);
      reaches_all &= found != distances.end();
      if (!reaches_all) break;
      far = {std::max(far.first, found->second), far.second + found->second};
    }
    if (!reaches_all || (!best.empty() && far > least)) continue;
    if (!best.empty() && far < least) best.clear();
    least = far;
    best.push_back(node);
  }
  if (best.empty()) return std::nullopt;
  return best[Mix(flow.number) % best.size()];
}

topo::Neighbour SwitchTrees::Towards(int root, int node, const SwitchedFlow& flow, Layer layer) {
  const Distances& distances = From(root, layer);
  std::vector<topo::Neighbour> nearer;
  for (const topo::Neighbour& next : graph_.NeighboursOf(node)) {
    if (IsStep(next, layer) && distances.at(next.node) < distances.at(node)) nearer.push_back(next);
  }
  return nearer[Mix(flow.number + static_cast<std::uint64_t>(node)) % nearer.size()];
}

std::uint32_t SwitchTrees::Grow(std::span<const Hook> hooks, int root, const SwitchedFlow& flow, Layer layer,
                                topo::Direction direction, std::vector<SwitchTree::Segment>& segments) {
  std::map<int, std::uint32_t> joined;  // by switch: ways that come to it from below
  std::map<int, topo::Neighbour> towards;
  for (const Hook& hook : hooks) {
    ++joined[hook.node];
    for (int node = hook.node; node != root && !towards.contains(node);) {
      const topo::Neighbour next = Towards(root, node, flow, layer);
      towards.emplace(node, next);
      node = next.node;
      ++joined[node];
    }
  }
  std::map<int, std::int32_t> begins;  // by switch: the segment that begins there
  const auto add = [&](std::vector<topo::Arc> arcs, int node) {
    while (node != root && joined[node] == 1) {
      const topo::Neighbour next = towards.at(node);
      arcs.push_back(ArcFrom(node, next.link));
      node = next.node;
    }
    if (direction == topo::Direction::kReceive) Turn(arcs);
    segments.push_back({.route = router_.AddWay(arcs)});
    return node;
  };
  std::vector<int> ends;
  for (const Hook& hook : hooks) ends.push_back(add(hook.arcs, hook.node));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const int node = ends[i];
    if (node == root) continue;
    const auto [known, fresh] = begins.try_emplace(node, static_cast<std::int32_t>(segments.size()));
    segments[i].next = known->second;
    if (!fresh) continue;
    const topo::Neighbour next = towards.at(node);
    ends.push_back(add({ArcFrom(node, next.link)}, next.node));
    segments.back().joined = joined[node];
  }
  return joined[root];
}

}  // namespace tutti::sim
