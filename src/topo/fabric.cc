// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "topo/rates.h"

namespace tutti::topo {
namespace {

constexpr std::int64_t kMostLinks = 1 << 24;

int RoundedUp(int a, int b) { return (a - 1) / b + 1; }

// The numbers that follow from a fabric and what it is to join.
struct Plan {
  int rails = 1;   // rows of leaves: 1 where ports go by host
  int blocks = 1;  // leaves of a rail
  int hosts_per_leaf = 0;
  int uplinks = 0;  // lines of a leaf upwards
  int spines = 0;   // of a plane, or of a pod
  int pod_leaves = 0;
  double line_gb_per_s = 0;  // between switches

  int leaves() const { return rails * blocks; }
  // Links between leaves and spines.
  std::int64_t links() const { return std::int64_t{leaves()} * std::min(uplinks, spines); }
};

Status TooSmall(std::string reason, std::string_view remedy) {
  return Status(Code::kInvalidArgument, fmt::format("the network cannot join the hosts: {}; {}", reason, remedy));
}

// Fills in how many hosts a leaf has, and its lines upwards. `width`: ports of a host at a leaf.
Status PlanLeaves(const Fabric& fabric, int width, int hosts, Plan& plan) {
  int down = 0;  // lines of a leaf towards hosts
  if (fabric.hosts_per_leaf > 0 || fabric.leaves_per_rail > 0) {
    plan.hosts_per_leaf = fabric.leaves_per_rail > 0 ? RoundedUp(hosts, fabric.leaves_per_rail) : fabric.hosts_per_leaf;
    down = plan.hosts_per_leaf * width;
  } else if (fabric.ports > 0) {
    down = static_cast<int>(std::floor(fabric.ports * fabric.oversubscription / (1 + fabric.oversubscription)));
    plan.hosts_per_leaf = down / width;
  } else {
    plan.hosts_per_leaf = hosts;
    down = hosts * width;
  }
  if (plan.hosts_per_leaf == 0) {
    return TooSmall(
        fmt::format("a leaf of {} ports has {} for hosts, and a host needs {} of them", fabric.ports, down, width),
        "write more ports");
  }
  plan.blocks = RoundedUp(hosts, plan.hosts_per_leaf);
  plan.uplinks = std::max(1, static_cast<int>(std::ceil(down / fabric.oversubscription)));
  if (fabric.ports > 0) plan.uplinks = std::min(plan.uplinks, fabric.ports - down);
  if (plan.uplinks < 1) {
    return TooSmall(fmt::format("{} hosts take {} of a leaf's {} ports, and none is left upwards", plan.hosts_per_leaf,
                                down, fabric.ports),
                    "write more ports, or fewer hosts per leaf");
  }
  return Status::Ok();
}

Status PlanSpines(const Fabric& fabric, int levels, Plan& plan) {
  if (levels == 3) {
    if (fabric.ports < 2)
      return TooSmall("3 levels follow from the ports of a switch, which are not given", "write `N ports`");
    plan.pod_leaves = fabric.ports / 2;
    plan.spines = plan.uplinks;
    if (RoundedUp(plan.leaves(), plan.pod_leaves) > fabric.ports) {
      return TooSmall(
          fmt::format("{} leaves are more than 3 levels of switches with {} ports hold", plan.leaves(), fabric.ports),
          "write more ports");
    }
    return Status::Ok();
  }
  plan.pod_leaves = plan.leaves();
  plan.spines = fabric.spines;
  // How many lines a spine has when each leaf shares out its own.
  const auto taken = [&](int spines) { return std::int64_t{plan.leaves()} * RoundedUp(plan.uplinks, spines); };
  if (plan.spines == 0) {
    plan.spines = 1;
    while (fabric.ports > 0 && plan.spines < plan.uplinks && taken(plan.spines) > fabric.ports) ++plan.spines;
  }
  if (plan.spines > plan.uplinks) {
    return TooSmall(fmt::format("{} spines are more than the {} lines of a leaf upwards", plan.spines, plan.uplinks),
                    "write fewer spines, or more hosts per leaf");
  }
  if (fabric.ports > 0 && taken(plan.spines) > fabric.ports) {
    return TooSmall(fmt::format("{} leaves with {} lines to each of {} spines are more than a spine's {} ports",
                                plan.leaves(), RoundedUp(plan.uplinks, plan.spines), plan.spines, fabric.ports),
                    "write 3 levels, more spines or more ports");
  }
  return Status::Ok();
}

class Builder {
 public:
  Builder(const Fabric& fabric, const Plan& plan, Graph& graph) : fabric_(fabric), plan_(plan), graph_(graph) {}

  void AddPlane(int plane, std::span<const FabricPort> ports) {
    const std::string prefix = fabric_.planes > 1 ? fmt::format("plane {} ", plane) : "";
    const bool by_rail = fabric_.places == PortPlaces::kByRail;
    std::vector<int> leaves;
    for (int leaf = 0; leaf < plan_.leaves(); ++leaf) {
      const std::string name = plan_.leaves() == 1 ? "switch" : fmt::format("leaf {}", leaf);
      leaves.push_back(AddSwitch(prefix + name));
    }
    for (const FabricPort& port : ports) {
      if (port.plane != plane) continue;
      const int block = port.host / plan_.hosts_per_leaf;
      const int leaf = leaves[static_cast<std::size_t>(block * plan_.rails + (by_rail ? port.rail : 0))];
      graph_.AddLink({.from = port.node,
                      .to = leaf,
                      .kind = LinkKind::kNetwork,
                      .rated_gb_per_s = port.gb_per_s,
                      .latency_us = fabric_.hop_us / 2});
    }
    if (fabric_.levels != 1 && leaves.size() > 1) AddUpperLevels(prefix, leaves);
  }

 private:
  int AddSwitch(std::string name) {
    return graph_.AddNode({.kind = NodeKind::kNetworkSwitch, .host = -1, .name = std::move(name)});
  }

  // Shares out `lines` lines of one switch evenly among those above it.
  void JoinUpwards(int from, std::span<const int> above, int lines) {
    const int others = static_cast<int>(above.size());
    for (int i = 0; i < others; ++i) {
      const int count = lines / others + (i < lines % others ? 1 : 0);
      if (count == 0) continue;
      graph_.AddLink({.from = from,
                      .to = above[static_cast<std::size_t>(i)],
                      .kind = LinkKind::kNetwork,
                      .count = count,
                      .rated_gb_per_s = count * plan_.line_gb_per_s,
                      .latency_us = fabric_.hop_us});
    }
  }

  void AddUpperLevels(const std::string& prefix, std::span<const int> leaves) {
    const int pods = RoundedUp(static_cast<int>(leaves.size()), plan_.pod_leaves);
    std::vector<std::vector<int>> spines(static_cast<std::size_t>(pods));
    int numbered = 0;
    for (std::vector<int>& of_pod : spines) {
      for (int i = 0; i < plan_.spines; ++i) of_pod.push_back(AddSwitch(fmt::format("{}spine {}", prefix, numbered++)));
    }
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      JoinUpwards(leaves[leaf], spines[leaf / static_cast<std::size_t>(plan_.pod_leaves)], plan_.uplinks);
    }
    if (pods == 1) return;
    const int lines = fabric_.ports / 2;
    const int cores_each = RoundedUp(pods * lines, fabric_.ports);
    for (int i = 0; i < plan_.spines; ++i) {
      std::vector<int> cores;
      for (int k = 0; k < cores_each; ++k)
        cores.push_back(AddSwitch(fmt::format("{}core {}", prefix, i * cores_each + k)));
      for (const std::vector<int>& of_pod : spines) JoinUpwards(of_pod[static_cast<std::size_t>(i)], cores, lines);
    }
  }

  const Fabric& fabric_;
  const Plan& plan_;
  Graph& graph_;
};

}  // namespace

Status AddFabric(const Fabric& fabric, std::span<const FabricPort> ports, int hosts, Graph& graph) {
  if (fabric.levels == 0 || ports.empty()) return Status::Ok();
  Plan plan;
  int rails = 0;
  double fastest = 0;
  for (const FabricPort& port : ports) {
    rails = std::max(rails, port.rail + 1);
    fastest = std::max(fastest, port.gb_per_s);
  }
  if (fabric.places == PortPlaces::kByRail) plan.rails = rails;
  const int width = fabric.places == PortPlaces::kByRail ? 1 : rails;  // ports of a host at a leaf
  plan.line_gb_per_s = fabric.uplink_gbit_per_s > 0 ? PortGbPerS(fabric.uplink_gbit_per_s) : fastest;
  if (fabric.levels == 1) {
    plan.hosts_per_leaf = hosts;
    if (fabric.ports > 0 && hosts * width > fabric.ports) {
      return TooSmall(fmt::format("a switch of {} ports is to have {}", fabric.ports, hosts * width),
                      "write 2 levels or more ports");
    }
  } else {
    TUTTI_RETURN_IF_ERROR(PlanLeaves(fabric, width, hosts, plan));
    const bool two = fabric.levels == kTwoOrThree && PlanSpines(fabric, 2, plan).ok();
    TUTTI_RETURN_IF_ERROR(PlanSpines(fabric, two ? 2 : fabric.levels == kTwoOrThree ? 3 : fabric.levels, plan));
    if (plan.links() > kMostLinks) {
      return TooSmall(fmt::format("its leaves and spines have more than {} links", kMostLinks), "write fewer spines");
    }
  }
  Builder builder(fabric, plan, graph);
  for (int plane = 0; plane < fabric.planes; ++plane) builder.AddPlane(plane, ports);
  return Status::Ok();
}

}  // namespace tutti::topo
