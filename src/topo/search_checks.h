// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_SEARCH_CHECKS_H_
#define TUTTI_TOPO_SEARCH_CHECKS_H_

// For tests of the search: checks what it finds by other means than its own. At the predicted rate the fullest link is exactly full.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
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

inline Graph BuildText(std::string_view text, int hosts) {
  const Result<Machine> machine = ReadMachineText(text, "test");
  EXPECT_TRUE(machine.ok()) << machine.status().ToString();
  return *BuildGraph(*machine, hosts);
}

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

  // Of the fullest link or port: how many times what it can carry.
  double Fullest() const {
    double most = 0;
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
    ASSERT_NE(decided.path.type, PathType::kDis);
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
  std::map<int, HostPaths> paths_;                       // by host
  std::map<std::pair<int, int>, double> links_, ports_;  // by link or port, and direction
};

inline void CheckRings(const Graph& graph, const std::vector<int>& gpus, const Placement& placement,
                       const SearchResult& result) {
  const Result<std::vector<RankRing>> rings = MakeRings(placement, result.boxes);
  ASSERT_TRUE(rings.ok()) << rings.status().ToString();
  LinkLoads loads(graph, gpus);
  for (const RankRing& ring : *rings) {
    std::vector<int> ranks = ring.ranks;
    std::ranges::sort(ranks);
    std::vector<int> all(gpus.size());
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(ranks, all);
    for (std::size_t i = 0; i < ring.ranks.size() && gpus.size() > 1; ++i) {
      loads.Add(ring.ranks[i], ring.ranks[(i + 1) % ring.ranks.size()], ring.crossings[i],
                result.prediction.gb_per_s / static_cast<double>(rings->size()));
    }
  }
  EXPECT_NEAR(loads.Fullest(), gpus.size() > 1 ? 1 : 0, 1e-9);
}

inline void CheckTrees(const Graph& graph, const std::vector<int>& gpus, const Placement& placement,
                       const SearchResult& result) {
  for (const TreeShape shape : {TreeShape::kChain, TreeShape::kBinary}) {
    const Result<std::vector<RankTree>> trees = MakeTrees(placement, result.boxes, TreesPerChannel::kTwo, shape);
    ASSERT_TRUE(trees.ok()) << trees.status().ToString();
    const double gb_per_s = PredictTrees(placement, *trees).gb_per_s;
    if (shape == TreeShape::kChain) {
      EXPECT_EQ(gb_per_s, result.prediction.gb_per_s);
    } else if (gb_per_s == 0) {
      continue;  // not every pair of GPUs can be joined, and a binary tree joins others than a chain
    }
    LinkLoads loads(graph, gpus);
    for (const RankTree& tree : *trees) {
      EXPECT_EQ(std::ranges::count(tree.parents, -1), 1);
      for (int rank = 0; rank < placement.ranks(); ++rank) {
        int root = rank, steps = 0;
        while (tree.parents[static_cast<std::size_t>(root)] >= 0) {
          root = tree.parents[static_cast<std::size_t>(root)];
          ASSERT_LT(++steps, placement.ranks());
        }
        const int parent = tree.parents[static_cast<std::size_t>(rank)];
        if (parent < 0) continue;
        const double n = placement.ranks(), part = gb_per_s / static_cast<double>(trees->size()) / (2 * (n - 1) / n);
        const Crossing& up = tree.crossings[static_cast<std::size_t>(rank)];
        loads.Add(rank, parent, up, part);
        loads.Add(parent, rank, {.out = up.in, .in = up.out}, part);
      }
    }
    EXPECT_NEAR(loads.Fullest(), gpus.size() > 1 ? 1 : 0, 1e-9);
  }
}

struct Both {
  SearchResult rings, trees;
};

// Searches for rings and trees, and checks what is found.
inline Both SearchAndCheck(const Graph& graph, const std::vector<int>& gpus, const SearchOptions& options = {}) {
  const Result<Placement> placement = Placement::Make(graph, gpus);
  EXPECT_TRUE(placement.ok()) << placement.status().ToString();
  const Result<SearchResult> rings = SearchRings(*placement, options), trees = SearchTrees(*placement, options);
  EXPECT_TRUE(rings.ok()) << rings.status().ToString();
  EXPECT_TRUE(trees.ok()) << trees.status().ToString();
  CheckRings(graph, gpus, *placement, *rings);
  CheckTrees(graph, gpus, *placement, *trees);
  for (const SearchResult& result : {*rings, *trees}) {
    const int channels = static_cast<int>(result.boxes[0].channels.channels.size());
    EXPECT_GE(channels, options.min_channels);
    EXPECT_LE(channels, options.max_channels);
    EXPECT_LE(result.prediction.gb_per_s, result.bound_gb_per_s * (1 + 1e-6));
  }
  return {.rings = *rings, .trees = *trees};
}

inline Both SearchAll(const Graph& graph, const SearchOptions& options = {}) {
  return SearchAndCheck(graph, graph.All(NodeKind::kGpu), options);
}

inline std::size_t ChannelsOf(const SearchResult& result) { return result.boxes[0].channels.channels.size(); }

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_SEARCH_CHECKS_H_
