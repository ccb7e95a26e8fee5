// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/fabric.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topo/paths.h"

namespace tutti::topo {
namespace {

// Ports of hosts, and the network that joins them.
struct Network {
  Graph graph;
  std::vector<FabricPort> ports;
  Status status;

  Network(const Fabric& fabric, int hosts, int ports_per_host) {
    for (int host = 0; host < hosts; ++host) {
      for (int i = 0; i < ports_per_host; ++i) {
        const int node = graph.AddNode({.kind = NodeKind::kPort, .host = host});
        ports.push_back(
            {.node = node, .host = host, .rail = i / fabric.planes, .plane = i % fabric.planes, .gb_per_s = 50});
      }
    }
    status = AddFabric(fabric, ports, hosts, graph);
  }

  int switches() const { return static_cast<int>(graph.All(NodeKind::kNetworkSwitch).size()); }
  // Switches on the way between two ports; -1: there is none.
  int Passed(std::size_t from, std::size_t to) const {
    return static_cast<int>(Paths(graph, ports[from].node).To(ports[to].node).hops.size()) - 1;
  }
  double LatencyUs(std::size_t from, std::size_t to) const {
    return Paths(graph, ports[from].node).latency_us(ports[to].node);
  }
  // Lines of a switch, by its name, to other switches.
  int LinesOf(std::string_view name) const {
    int lines = 0;
    for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
      if (graph.nodes()[i].name != name) continue;
      for (const Neighbour& n : graph.NeighboursOf(static_cast<int>(i))) {
        if (graph.node(n.node).kind == NodeKind::kNetworkSwitch) lines += graph.link(n.link).count;
      }
    }
    return lines;
  }
};

TEST(Fabric, OneSwitchJoinsAll) {
  const Network network({.hop_us = 0.5}, 3, 2);
  ASSERT_TRUE(network.status.ok());
  EXPECT_EQ(network.switches(), 1);
  EXPECT_EQ(network.Passed(0, 5), 1);
  EXPECT_DOUBLE_EQ(network.LatencyUs(0, 5), 0.5);
  EXPECT_EQ(Network({.levels = 0}, 3, 2).switches(), 0);
  EXPECT_EQ(Network({.ports = 6}, 3, 2).status.message(), "");
  EXPECT_EQ(Network({.ports = 5}, 3, 2).status.message(),
            "the network cannot join the hosts: a switch of 5 ports is to have 6; write 2 levels or more ports");
}

TEST(Fabric, RailsByThemselvesHaveNothingBetween) {
  const Network network({.places = PortPlaces::kByRail}, 3, 2);
  EXPECT_EQ(network.switches(), 2);
  EXPECT_EQ(network.Passed(0, 4), 1);  // port 0 of hosts 0 and 2
  EXPECT_EQ(network.Passed(0, 5), -1);
}

// Four hosts at a leaf of 8 ports: two each. Rails are one switch apart within 4 hosts, else three.
TEST(Fabric, RailOptimisedIsCloseOnARail) {
  const Network network({.levels = 2, .places = PortPlaces::kByRail, .ports = 8, .hop_us = 0.2}, 8, 2);
  ASSERT_TRUE(network.status.ok()) << network.status.message();
  EXPECT_EQ(network.switches(), 4 + 2);
  EXPECT_EQ(network.Passed(0, 6), 1);  // hosts 0 and 3, rail 0
  EXPECT_EQ(network.Passed(0, 7), 3);  // rail 1
  EXPECT_EQ(network.Passed(0, 8), 3);  // hosts 0 and 4
  EXPECT_NEAR(network.LatencyUs(0, 8), 0.6, 1e-12);
  EXPECT_EQ(network.LinesOf("leaf 0"), 4);
  EXPECT_EQ(network.LinesOf("spine 1"), 8);
}

TEST(Fabric, FatTreeKeepsAHostTogether) {
  const Network network({.levels = 2, .ports = 8}, 8, 2);  // two hosts at a leaf
  EXPECT_EQ(network.switches(), 4 + 2);
  EXPECT_EQ(network.Passed(0, 3), 1);  // both ports of the neighbour
  EXPECT_EQ(network.Passed(0, 4), 3);
}

TEST(Fabric, OversubscriptionLeavesFewerLinesUpwards) {
  const Network network({.levels = 2, .ports = 8, .oversubscription = 3}, 12, 1);  // 6 down, 2 up
  EXPECT_EQ(network.LinesOf("leaf 0"), 2);
  EXPECT_EQ(network.switches(), 2 + 1);
  const std::vector<int> switches = network.graph.All(NodeKind::kNetworkSwitch);
  EXPECT_EQ(Paths(network.graph, switches[0]).gb_per_s(switches[1]), 100);
  const Network faster({.levels = 2, .ports = 8, .oversubscription = 3, .uplink_gbit_per_s = 800}, 12, 1);
  EXPECT_EQ(Paths(faster.graph, switches[0]).gb_per_s(switches[1]), 200);
}

TEST(Fabric, LeavesPerRailAndSpinesCanBeGiven) {
  const Network network({.levels = 2, .places = PortPlaces::kByRail, .leaves_per_rail = 2, .spines = 3}, 10, 2);
  ASSERT_TRUE(network.status.ok()) << network.status.message();
  EXPECT_EQ(network.switches(), 4 + 3);
  EXPECT_EQ(network.LinesOf("leaf 3"), 5);  // as many as hosts
  EXPECT_EQ(network.Passed(0, 8), 1);       // hosts 0 and 4 share a leaf
  EXPECT_EQ(network.Passed(0, 10), 3);      // 0 and 5 do not
  EXPECT_EQ(Network({.levels = 2, .hosts_per_leaf = 2, .spines = 3}, 10, 1).status.message(),
            "the network cannot join the hosts: 3 spines are more than the 2 lines of a leaf upwards; write fewer "
            "spines, or more "
            "hosts per leaf");
}

// Switches of 4 ports make a tree of up to 16 hosts in 3 levels, of 8 in 2.
TEST(Fabric, TheThirdLevelComesWhereTheHostsTakeIt) {
  const Fabric fabric{.levels = kTwoOrThree, .ports = 4};
  EXPECT_EQ(Network(fabric, 2, 1).switches(), 1);
  EXPECT_EQ(Network(fabric, 8, 1).switches(), 4 + 2);
  const Network sixteen(fabric, 16, 1);
  ASSERT_TRUE(sixteen.status.ok()) << sixteen.status.message();
  EXPECT_EQ(sixteen.switches(), 8 + 8 + 4);
  EXPECT_EQ(sixteen.Passed(0, 1), 1);
  EXPECT_EQ(sixteen.Passed(0, 2), 3);
  EXPECT_EQ(sixteen.Passed(0, 15), 5);
  EXPECT_EQ(sixteen.LinesOf("core 3"), 4);
  EXPECT_EQ(sixteen.LinesOf("spine 7"), 4);
  EXPECT_EQ(Network(fabric, 17, 1).status.message(),
            "the network cannot join the hosts: 9 leaves are more than 3 levels of switches with 4 ports hold; write "
            "more ports");
  EXPECT_EQ(Network({.levels = 2, .ports = 4}, 9, 1).status.message(),
            "the network cannot join the hosts: 5 leaves with 1 lines to each of 2 spines are more than a spine's 4 "
            "ports; write 3 "
            "levels, more spines or more ports");
}

TEST(Fabric, PlanesAreApart) {
  const Network network({.levels = 2, .ports = 8, .planes = 2}, 8, 2);
  ASSERT_TRUE(network.status.ok()) << network.status.message();
  EXPECT_EQ(network.Passed(0, 14), 3);
  EXPECT_EQ(network.Passed(0, 15), -1);  // the other plane
  EXPECT_EQ(network.switches(), 2 * (2 + 1));
  EXPECT_EQ(network.LinesOf("plane 1 leaf 1"), 4);
}

TEST(Fabric, SwitchesThatAreTooSmallAreNamed) {
  EXPECT_EQ(Network({.levels = 2, .ports = 4}, 4, 4).status.message(),
            "the network cannot join the hosts: a leaf of 4 ports has 2 for hosts, and a host needs 4 of them; write "
            "more ports");
  EXPECT_EQ(Network({.levels = 2, .ports = 4, .hosts_per_leaf = 4}, 4, 1).status.message(),
            "the network cannot join the hosts: 4 hosts take 4 of a leaf's 4 ports, and none is left upwards; write "
            "more ports, or "
            "fewer hosts per leaf");
  EXPECT_EQ(Network({.levels = 3}, 4, 1).status.message(),
            "the network cannot join the hosts: 3 levels follow from the ports of a switch, which are not given; write "
            "`N ports`");
}

}  // namespace
}  // namespace tutti::topo
