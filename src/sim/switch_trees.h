// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_SWITCH_TREES_H_
#define TUTTI_SIM_SWITCH_TREES_H_

// Ways of values that switches copy and fold. All of a group go up a tree of switches to its root and down from there; where ways meet on
// the way up the switch folds and sends on one value, and where they part on the way down it copies. So a value takes each link of the
// tree once, whatever the number of ranks behind it.
//
// The switches are NVSwitches, where all of the group's GPUs hang on some that are joined. Otherwise they are those of the network, between
// the ports that the policy gives the ranks for the channel, if those ports say that it reduces (topo::Port::collectives). The root is the
// switch whose farthest port is nearest; of several that are equally good, and of several equal links, a hash of the group takes one.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/costs.h"
#include "topo/graph.h"
#include "topo/network_ways.h"
#include "topo/policy.h"
#include "tutti/status.h"

namespace tutti::sim {

class Boxes;
class Router;

// The ranks of a group, as nodes of the graph.
struct SwitchedFlow {
  std::vector<int> from, to;
  int channel = 0;
  std::uint64_t number = 0;  // that tells it from other groups
};

struct SwitchTree {
  // Links in a row between which nothing meets or parts. `next`: the segment that follows towards the root, -1: none, it ends there.
  struct Segment {
    std::uint32_t route = 0;  // of the Router; in the direction of its values
    std::int32_t next = -1;
    std::uint32_t joined = 0;  // on the way up: segments that end where it begins
  };
  std::vector<Segment> up;           // first those of SwitchedFlow::from, in their order
  std::vector<Segment> down;         // first those of SwitchedFlow::to
  std::uint32_t joined_at_root = 0;  // segments that end there on the way up
  // By segment of `down`, and for the root at the end: what is copied at its end.
  std::vector<std::vector<std::uint32_t>> parts;
  bool network = false;
  float charge = 1;  // bytes that each byte takes on links that are not PCI
};

class SwitchTrees {
 public:
  // `nodes`: those that ranks are on. Graph and router must outlive it.
  SwitchTrees(const topo::Graph& graph, std::span<const int> nodes, const topo::PolicyOptions& policy,
              const SwitchCosts& costs, Router& router);
  ~SwitchTrees();

  // Fails where no switch can do it, with a sentence that says what is missing.
  Result<std::uint32_t> Find(const SwitchedFlow& flow);
  const SwitchTree& tree(std::uint32_t index) const { return trees_[index]; }

  // The graph has changed. Trees that were found before are there still, but not found any more.
  void Forget();

 private:
  enum class Layer : std::uint8_t { kNvLink, kNetwork };
  // Where a rank hangs: the links to its first switch, upwards.
  struct Hook {
    int node = -1;  // that switch
    std::vector<topo::Arc> arcs;
  };
  using Distances = std::map<int, int>;  // by switch: links to it
  struct Key {
    std::vector<int> from, to;
    int channel;
    std::uint64_t number;
    auto operator<=>(const Key&) const = default;
  };

  std::optional<SwitchTree> Build(const SwitchedFlow& flow, Layer layer);
  std::optional<std::vector<Hook>> HooksOf(std::span<const int> nodes, const SwitchedFlow& flow, Layer layer,
                                           topo::Direction direction);
  std::optional<Hook> HookAtNvSwitch(int node) const;
  std::optional<Hook> HookAtNetwork(int node, const SwitchedFlow& flow, topo::Direction direction);
  bool IsStep(const topo::Neighbour& next, Layer layer) const;
  const Distances& From(int node, Layer layer);
  std::optional<int> RootOf(std::span<const Hook> hooks, const SwitchedFlow& flow, Layer layer);
  // The link from a switch towards the root.
  topo::Neighbour Towards(int root, int node, const SwitchedFlow& flow, Layer layer);
  topo::Arc ArcFrom(int node, int link) const { return 2 * link + (graph_.link(link).from == node ? 0 : 1); }
  // Segments from the hooks to the root. Returns how many end there.
  std::uint32_t Grow(std::span<const Hook> hooks, int root, const SwitchedFlow& flow, Layer layer,
                     topo::Direction direction, std::vector<SwitchTree::Segment>& segments);

  const topo::Graph& graph_;
  std::vector<int> nodes_;
  topo::PolicyOptions policy_;
  SwitchCosts costs_;
  Router& router_;
  std::unique_ptr<Boxes> boxes_;
  std::map<std::pair<int, Layer>, Distances> distances_;
  std::map<Key, std::uint32_t> known_;
  std::vector<SwitchTree> trees_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_SWITCH_TREES_H_
