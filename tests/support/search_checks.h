// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_SEARCH_CHECKS_H_
#define TUTTI_TESTS_SUPPORT_SEARCH_CHECKS_H_

// For tests of the search: checks what it finds by other means than its own. At the predicted rate the fullest link is exactly full.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topo/machine.h"
#include "topo/machine_text.h"
#include "topo/named_machines.h"
#include "topo/policy.h"
#include "topo/search.h"

namespace tutti::topo {

inline Graph BuildNamed(std::string_view name, int hosts) { return *BuildGraph(*FindMachine(name), hosts); }

inline Graph BuildText(std::string_view text, int hosts) { return *BuildGraph(*ReadMachineText(text, "test"), hosts); }

// Adds up what all links carry, from the decisions for each host alone and the ports' own links, and not as the search does.
class LinkLoads {
 public:
  LinkLoads(const Graph& graph, const std::vector<int>& gpus) : graph_(graph), gpus_(gpus) {}

  void Add(int from, int to, const Crossing& crossing, double amount) {
    const int source = GpuOf(from), target = GpuOf(to);
    if (crossing.out < 0) {
      AddDecided(source, PathsOf(source).Between(source, target), amount, 1);
      return;
    }
    AddDecided(source, PathsOf(source).ToPort(source, crossing.out, Direction::kSend), amount, 1);
    AddDecided(target, PathsOf(target).ToPort(target, crossing.in, Direction::kReceive), amount, -1);
    ports_[{crossing.out, 1}] += amount;
    ports_[{crossing.in, -1}] += amount;
  }

  // Of the fullest link or port: how many times what it can carry. Infinite where something went where no path leads.
  double Fullest() const {
    double most = lost_ ? std::numeric_limits<double>::infinity() : 0;
    for (const auto& [key, load] : links_) most = std::max(most, load / graph_.link(key.first).gb_per_s());
    for (const auto& [key, load] : ports_) {
      double network = 0;
      for (const Neighbour& neighbour : graph_.NeighboursOf(key.first)) {
        const Link& link = graph_.link(neighbour.link);
        if (link.kind == LinkKind::kNetwork) network += link.gb_per_s();
      }
      most = std::max({most, load / (graph_.node(key.first).port()->gbit_per_s / 8), load / network});
    }
    return most;
  }

 private:
  int GpuOf(int rank) const { return gpus_[static_cast<std::size_t>(rank)]; }
  const HostPaths& PathsOf(int gpu) {
    const int host = graph_.node(gpu).host;
    auto found = paths_.find(host);
    if (found == paths_.end())
      found = paths_.emplace(host, HostPaths(graph_, HostsJoinedByNvLinks(graph_, host))).first;
    return found->second;
  }
  // Towards the GPU where `sign` is -1.
  void AddDecided(int gpu, const DecidedPath& decided, double amount, int sign) {
    lost_ = lost_ || decided.path.type == PathType::kDis;
    int from = gpu;
    for (const Hop& hop : decided.path.hops) {
      const Link& link = graph_.link(hop.link);
      const double bytes = link.kind == LinkKind::kPci ? decided.pci_charge : 1;
      links_[{hop.link, link.from == from ? sign : -sign}] += amount * bytes;
      from = hop.to;
    }
  }

  const Graph& graph_;
  const std::vector<int>& gpus_;
  bool lost_ = false;
  std::map<int, HostPaths> paths_;                       // by host
  std::map<std::pair<int, int>, double> links_, ports_;  // by link or port, and direction
};

// The fullest link has to be exactly full.
inline std::string WrongWith(const LinkLoads& loads, int ranks) {
  const double wanted = ranks > 1 ? 1 : 0, fullest = loads.Fullest();
  return std::abs(fullest - wanted) < 1e-9 ? "" : fmt::format("the fullest link carries {} of what it can; ", fullest);
}

// What is wrong with rings, in words; empty: nothing.
inline std::string WrongWithRings(const Graph& graph, const std::vector<int>& gpus, const Placement& placement,
                                  const SearchResult& result) {
  const Result<std::vector<RankRing>> rings = MakeRings(placement, result.boxes);
  if (!rings.ok()) return rings.status().ToString();
  std::vector<int> all(gpus.size());
  std::iota(all.begin(), all.end(), 0);
  LinkLoads loads(graph, gpus);
  for (const RankRing& ring : *rings) {
    std::vector<int> ranks = ring.ranks;
    std::ranges::sort(ranks);
    if (ranks != all) return "a ring does not visit every rank once; ";
    for (std::size_t i = 0; i < ranks.size() && ranks.size() > 1; ++i) {
      loads.Add(ring.ranks[i], ring.ranks[(i + 1) % ranks.size()], ring.crossings[i],
                result.prediction.gb_per_s / static_cast<double>(rings->size()));
    }
  }
  return WrongWith(loads, placement.ranks());
}

inline bool IsTree(const std::vector<int>& parents) {
  for (int rank : parents) {
    for (std::size_t steps = 0; rank >= 0; ++steps) {
      if (steps == parents.size()) return false;
      rank = parents[static_cast<std::size_t>(rank)];
    }
  }
  return std::ranges::count(parents, -1) == 1;
}

inline std::string WrongWithTrees(const Graph& graph, const std::vector<int>& gpus, const Placement& placement,
                                  const SearchResult& result) {
  std::string wrong;
  for (const TreeShape shape : {TreeShape::kChain, TreeShape::kBinary}) {
    const Result<std::vector<RankTree>> trees = MakeTrees(placement, result.boxes, TreesPerChannel::kTwo, shape);
    if (!trees.ok()) return trees.status().ToString();
    const double gb_per_s = PredictTrees(placement, *trees).gb_per_s;
    if (shape == TreeShape::kChain && gb_per_s != result.prediction.gb_per_s) wrong += "another prediction; ";
    // Not every pair of GPUs can be joined, and a binary tree joins others than a chain.
    if (shape == TreeShape::kBinary && gb_per_s == 0) continue;
    LinkLoads loads(graph, gpus);
    const double n = placement.ranks(), part = gb_per_s / static_cast<double>(trees->size()) / (2 * (n - 1) / n);
    for (const RankTree& tree : *trees) {
      if (!IsTree(tree.parents)) return "parents that make no tree; ";
      for (int rank = 0; rank < placement.ranks(); ++rank) {
        const int parent = tree.parents[static_cast<std::size_t>(rank)];
        if (parent < 0) continue;
        const Crossing& up = tree.crossings[static_cast<std::size_t>(rank)];
        loads.Add(rank, parent, up, part);
        loads.Add(parent, rank, {.out = up.in, .in = up.out}, part);
      }
    }
    wrong += WrongWith(loads, placement.ranks());
  }
  return wrong;
}

struct Both {
  SearchResult rings, trees;
  std::string wrong;  // with them, in words
};

// Searches for rings and trees, and checks what is found. REQUIRES: the ranks can be joined.
inline Both SearchBoth(const Graph& graph, const std::vector<int>& gpus, const SearchOptions& options) {
  const Placement placement = *Placement::Make(graph, gpus);
  Both both{.rings = *SearchRings(placement, options), .trees = *SearchTrees(placement, options), .wrong = {}};
  both.wrong = WrongWithRings(graph, gpus, placement, both.rings) + WrongWithTrees(graph, gpus, placement, both.trees);
  for (const SearchResult& result : {both.rings, both.trees}) {
    const int channels = static_cast<int>(result.boxes[0].channels.channels.size());
    if (channels < options.min_channels || channels > options.max_channels) both.wrong += "number of channels; ";
    if (result.prediction.gb_per_s > result.bound_gb_per_s * (1 + 1e-6)) both.wrong += "more than the bound; ";
  }
  return both;
}

// The same, and nothing is wrong.
inline Both SearchAndCheck(const Graph& graph, const std::vector<int>& gpus, const SearchOptions& options = {}) {
  Both found = SearchBoth(graph, gpus, options);
  EXPECT_EQ(found.wrong, "");
  return found;
}

inline Both SearchAll(const Graph& graph, const SearchOptions& options = {}) {
  return SearchAndCheck(graph, graph.All(NodeKind::kGpu), options);
}

inline std::size_t ChannelsOf(const SearchResult& result) { return result.boxes[0].channels.channels.size(); }

}  // namespace tutti::topo

#endif  // TUTTI_TESTS_SUPPORT_SEARCH_CHECKS_H_
