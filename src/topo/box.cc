// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/box.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "base/hash.h"

namespace tutti::topo {
namespace {

bool IsOfNetwork(const Graph& graph, const Link& link) {
  return link.kind == LinkKind::kNetwork || graph.node(link.from).kind == NodeKind::kNetworkSwitch ||
         graph.node(link.to).kind == NodeKind::kNetworkSwitch;
}

// By node: a number that is the same for all nodes of a box.
std::vector<int> Connect(const Graph& graph) {
  std::vector<int> before(graph.nodes().size());
  std::iota(before.begin(), before.end(), 0);
  const auto find = [&](int node) {
    while (before[static_cast<std::size_t>(node)] != node) {
      int& up = before[static_cast<std::size_t>(node)];
      up = before[static_cast<std::size_t>(up)];
      node = up;
    }
    return node;
  };
  for (const Link& link : graph.links()) {
    if (IsOfNetwork(graph, link) || link.gb_per_s() <= 0) continue;
    const int from = find(link.from), to = find(link.to);
    before[static_cast<std::size_t>(std::max(from, to))] = std::min(from, to);
  }
  std::vector<int> roots(before.size());
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i] = find(static_cast<int>(i));
  return roots;
}

// A text as a number, for comparisons.
double NumberOf(std::string_view text) { return static_cast<double>(Fnv1a(text) >> 16); }

// Everything that matters for a search, as numbers.
std::vector<double> Fingerprint(const Graph& graph, const NetworkWays& network, const Box& box,
                                const std::set<std::pair<int, int>>& refused) {
  std::vector<double> numbers;
  for (const int index : box.nodes) {
    const Node& node = graph.node(index);
    numbers.push_back(static_cast<double>(node.kind));
    if (const Gpu* gpu = node.gpu()) {
      numbers.insert(numbers.end(),
                     {gpu->gdr ? 1.0 : 0.0, static_cast<double>(gpu->sm), static_cast<double>(gpu->dev)});
    }
    if (const Cpu* cpu = node.cpu()) numbers.push_back(NumberOf(cpu->vendor));
    if (const Port* port = node.port()) {
      numbers.insert(numbers.end(), {network.gb_per_s(index), port->gdr ? 1.0 : 0.0, static_cast<double>(port->rail)});
    }
  }
  for (const int index : box.links) {
    const Link& link = graph.link(index);
    numbers.insert(numbers.end(),
                   {static_cast<double>(box.OwnNode(link.from)), static_cast<double>(box.OwnNode(link.to)),
                    static_cast<double>(link.kind), link.gb_per_s()});
  }
  for (const auto& [a, b] : refused) {
    if (box.OwnNode(a) < 0 || box.OwnNode(b) < 0) continue;
    numbers.insert(numbers.end(), {static_cast<double>(box.OwnNode(a)), static_cast<double>(box.OwnNode(b))});
  }
  numbers.insert(numbers.end(), box.gpus.begin(), box.gpus.end());
  return numbers;
}

}  // namespace

int Box::OwnNode(int node) const {
  const auto found = std::ranges::lower_bound(nodes, node);
  return found != nodes.end() && *found == node ? static_cast<int>(found - nodes.begin()) : -1;
}

std::vector<Box> FindBoxes(const Graph& graph, const NetworkWays& network, std::span<const int> gpus,
                           const std::set<std::pair<int, int>>& refused) {
  const std::vector<int> root_of = Connect(graph);
  std::vector<Box> boxes;
  std::vector<int> box_of(graph.nodes().size(), -1);  // by root
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    int& box = box_of[static_cast<std::size_t>(root_of[static_cast<std::size_t>(gpus[rank])])];
    if (box < 0) {
      box = static_cast<int>(boxes.size());
      boxes.emplace_back();
    }
    boxes[static_cast<std::size_t>(box)].ranks.push_back(static_cast<int>(rank));
  }
  std::vector<bool> has_rank(graph.nodes().size(), false);
  for (const int gpu : gpus) has_rank[static_cast<std::size_t>(gpu)] = true;
  for (std::size_t i = 0; i < root_of.size(); ++i) {
    const int box = box_of[static_cast<std::size_t>(root_of[i])];
    if (box < 0) continue;
    std::vector<int>& nodes = boxes[static_cast<std::size_t>(box)].nodes;
    const int node = static_cast<int>(i);
    if (graph.node(node).kind == NodeKind::kGpu && !has_rank[i]) continue;
    if (graph.node(node).port() != nullptr && graph.node(node).host >= 0 && network.gb_per_s(node) > 0) {
      boxes[static_cast<std::size_t>(box)].ports.push_back(static_cast<int>(nodes.size()));
    }
    nodes.push_back(node);
  }
  for (std::size_t i = 0; i < graph.links().size(); ++i) {
    const Link& link = graph.links()[i];
    const int box = box_of[static_cast<std::size_t>(root_of[static_cast<std::size_t>(link.from)])];
    if (box < 0 || IsOfNetwork(graph, link) || link.gb_per_s() <= 0) continue;
    Box& there = boxes[static_cast<std::size_t>(box)];
    if (there.OwnNode(link.from) >= 0 && there.OwnNode(link.to) >= 0) there.links.push_back(static_cast<int>(i));
  }
  std::map<std::vector<double>, int> firsts;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Box& box = boxes[i];
    for (const int rank : box.ranks) box.gpus.push_back(box.OwnNode(gpus[static_cast<std::size_t>(rank)]));
    box.first_alike = firsts.emplace(Fingerprint(graph, network, box, refused), static_cast<int>(i)).first->second;
  }
  return boxes;
}

Graph Extract(const Graph& graph, const Box& box) {
  Graph own;
  for (const std::string& host : graph.hosts()) own.AddHost(host);
  for (const int node : box.nodes) own.AddNode(graph.node(node));
  for (const int index : box.links) {
    Link link = graph.link(index);
    link.from = box.OwnNode(link.from);
    link.to = box.OwnNode(link.to);
    own.AddLink(link);
  }
  return own;
}

}  // namespace tutti::topo
