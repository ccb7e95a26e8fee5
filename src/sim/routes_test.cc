// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "sim/plans.h"
#include "sim/simulator.h"
#include "sim/test_machines.h"

namespace tutti::sim {
namespace {

using topo::LinkKind;
using topo::NodeKind;

// The nodes that a route passes, without its first one.
std::vector<int> NodesOf(const topo::Graph& graph, const Router& router, std::uint32_t index) {
  std::vector<int> nodes;
  const Route& route = router.route(index);
  for (std::uint32_t i = 0; i < route.count; ++i) {
    const topo::Arc hop = router.hop(route.first + i);
    const topo::Link& link = graph.link(topo::LinkOf(hop));
    nodes.push_back(hop % 2 == 0 ? link.to : link.from);
  }
  return nodes;
}

std::vector<NodeKind> KindsOf(const topo::Graph& graph, const std::vector<int>& nodes) {
  std::vector<NodeKind> kinds;
  for (const int node : nodes) kinds.push_back(graph.node(node).kind);
  return kinds;
}

TEST(Router, InsideAHostAndBetweenHosts) {
  const TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 2});
  Router router(machine.graph, machine.gpus, {});
  const std::uint32_t inside = router.Find({.from = machine.gpus[0], .to = machine.gpus[1]});
  EXPECT_EQ(KindsOf(machine.graph, NodesOf(machine.graph, router, inside)),
            (std::vector{NodeKind::kNvSwitch, NodeKind::kGpu}));
  EXPECT_FALSE(router.route(inside).network);
  const std::uint32_t between = router.Find({.from = machine.gpus[0], .to = machine.gpus[3]});
  EXPECT_EQ(KindsOf(machine.graph, NodesOf(machine.graph, router, between)),
            (std::vector{NodeKind::kPciSwitch, NodeKind::kNic, NodeKind::kPort, NodeKind::kNetworkSwitch,
                         NodeKind::kPort, NodeKind::kNic, NodeKind::kPciSwitch, NodeKind::kGpu}));
  EXPECT_EQ(NodesOf(machine.graph, router, between).back(), machine.gpus[3]);
  EXPECT_TRUE(router.route(between).network);
  EXPECT_EQ(router.Find({.from = machine.gpus[0], .to = machine.gpus[3]}), between);
  EXPECT_EQ(router.route(router.Find({.from = machine.gpus[0], .to = machine.gpus[0]})).count, 0u);
}

// Without a way from rail to rail over the network, and with a longer one, data go over NVLink to the GPU on the other rail.
TEST(Router, RailsAreCrossedOverNvLink) {
  for (const int spines : {0, 2}) {
    const TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 4, .rails = true, .spines = spines});
    for (const CrossRail cross : {CrossRail::kNetwork, CrossRail::kSenderCrosses}) {
      RoutingOptions options;
      options.cross_rail = cross;
      Router router(machine.graph, machine.gpus, options);
      const std::uint32_t index = router.Find({.from = machine.gpus[0], .to = machine.gpus[4 + 3]});
      ASSERT_NE(index, Router::kNoRoute);
      const std::vector<int> nodes = NodesOf(machine.graph, router, index);
      const bool over_spine = spines > 0 && cross == CrossRail::kNetwork;
      EXPECT_EQ(std::ranges::count(nodes, machine.gpus[3]), over_spine ? 0 : 1);
      EXPECT_EQ(std::ranges::count(KindsOf(machine.graph, nodes), NodeKind::kNetworkSwitch), over_spine ? 3 : 1);
      // The same rail needs neither.
      const auto same = NodesOf(machine.graph, router, router.Find({.from = machine.gpus[0], .to = machine.gpus[4]}));
      EXPECT_EQ(std::ranges::count(KindsOf(machine.graph, same), NodeKind::kNetworkSwitch), 1);
    }
  }
}

// A host with NICs at the CPU. Each GPU hangs on the NUMA node.
struct Plain {
  topo::Graph graph;
  int numa, leaf;
  std::vector<int> gpus, ports;
  Plain(int gpu_count, int nic_count, int hosts, bool gdr) {
    leaf = graph.AddNode({.kind = NodeKind::kNetworkSwitch, .host = -1});
    for (int host = 0; host < hosts; ++host) {
      graph.AddHost("host");
      numa = graph.AddNode({.kind = NodeKind::kNumaNode, .host = host});
      const int pci = graph.AddNode({.kind = NodeKind::kPciSwitch, .host = host});
      const auto join = [&](int from, int to, LinkKind kind) {
        graph.AddLink({.from = from, .to = to, .kind = kind, .rated_gb_per_s = 20});
      };
      join(numa, pci, LinkKind::kPci);
      for (int i = 0; i < gpu_count; ++i) {
        gpus.push_back(
            graph.AddNode({.kind = NodeKind::kGpu, .host = host, .is = topo::Gpu{.dev = i, .sm = 90, .gdr = gdr}}));
        join(gpus.back(), pci, LinkKind::kPci);
      }
      for (int i = 0; i < nic_count; ++i) {
        const int nic = graph.AddNode({.kind = NodeKind::kNic, .host = host});
        ports.push_back(graph.AddNode(
            {.kind = NodeKind::kPort, .host = host, .is = topo::Port{.dev = i, .gbit_per_s = 400, .gdr = true}}));
        join(nic, pci, LinkKind::kPci);
        join(nic, ports.back(), LinkKind::kLocal);
        join(ports.back(), leaf, LinkKind::kNetwork);
      }
    }
  }
};

TEST(Router, MemoryOfTheHostIsUsedWhereCardsDoNotReachTheGpu) {
  for (const bool gdr : {true, false}) {
    const Plain plain(1, 1, 2, gdr);
    Router router(plain.graph, plain.gpus, {});
    const auto nodes = NodesOf(plain.graph, router, router.Find({.from = plain.gpus[0], .to = plain.gpus[1]}));
    EXPECT_EQ(std::ranges::count(KindsOf(plain.graph, nodes), NodeKind::kNumaNode), gdr ? 0 : 2);
    // Where the level says so, they do not either.
    RoutingOptions options;
    options.policy.gdr_level = topo::PathType::kLoc;
    Router low(plain.graph, plain.gpus, options);
    const auto staged = NodesOf(plain.graph, low, low.Find({.from = plain.gpus[0], .to = plain.gpus[1]}));
    EXPECT_EQ(std::ranges::count(KindsOf(plain.graph, staged), NodeKind::kNumaNode), 2);
  }
}

TEST(Router, ChannelsTakeTurnsAmongPorts) {
  const Plain plain(1, 4, 2, true);
  Router router(plain.graph, plain.gpus, {});
  for (int channel = 0; channel < 8; ++channel) {
    const auto nodes =
        NodesOf(plain.graph, router, router.Find({.from = plain.gpus[0], .to = plain.gpus[1], .channel = channel}));
    EXPECT_EQ(std::ranges::count(nodes, plain.ports[static_cast<std::size_t>(channel % 4)]), 1);
    EXPECT_EQ(std::ranges::count(nodes, plain.ports[static_cast<std::size_t>(4 + channel % 4)]), 1);
  }
}

TEST(Router, DeadLinksAreNotUsed) {
  TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 1, .hosts_per_leaf = 1, .spines = 2});
  Router router(machine.graph, machine.gpus, {});
  const auto uses = [&](int link) {
    const std::uint32_t index = router.Find({.from = machine.gpus[0], .to = machine.gpus[1]});
    if (index == Router::kNoRoute) return -1;
    int uses = 0;
    for (std::uint32_t i = 0; i < router.route(index).count; ++i) {
      uses += topo::LinkOf(router.hop(router.route(index).first + i)) == link ? 1 : 0;
    }
    return uses;
  };
  const int used = uses(machine.uplinks[0]) > 0 ? machine.uplinks[0] : machine.uplinks[1];
  EXPECT_EQ(uses(used), 1);
  machine.graph.link(used).rated_gb_per_s = 0;
  router.Forget();
  EXPECT_EQ(uses(used), 0);
  machine.graph.link(machine.uplinks[0] + machine.uplinks[1] - used).rated_gb_per_s = 0;
  router.Forget();
  EXPECT_EQ(uses(used), -1);
}

// A rack whose hosts are joined by NVLinks is one box: no message between its hosts takes the network.
TEST(Router, NvLinksBetweenHostsComeBeforeTheNetwork) {
  TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 2});
  const std::vector<int> switches = machine.graph.All(NodeKind::kNvSwitch);
  machine.graph.AddLink({.from = switches[0], .to = switches[1], .kind = LinkKind::kNvLink, .rated_gb_per_s = 400});
  Router router(machine.graph, machine.gpus, {});
  const std::uint32_t index = router.Find({.from = machine.gpus[0], .to = machine.gpus[3]});
  ASSERT_NE(index, Router::kNoRoute);
  EXPECT_FALSE(router.route(index).network);
  EXPECT_EQ(KindsOf(machine.graph, NodesOf(machine.graph, router, index)),
            (std::vector{NodeKind::kNvSwitch, NodeKind::kNvSwitch, NodeKind::kGpu}));
}

// Ports that a plan names are taken, whatever the policy would take.
TEST(Router, NamedPortsAreTaken) {
  const TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 4});
  Router router(machine.graph, machine.gpus, {});
  const std::vector<int> ports = machine.graph.All(NodeKind::kPort);
  const auto nodes = NodesOf(
      machine.graph, router,
      router.Find({.from = machine.gpus[0], .to = machine.gpus[4], .from_port = ports[2], .to_port = ports[4]}));
  EXPECT_EQ(std::ranges::count(nodes, ports[2]), 1);
  EXPECT_EQ(std::ranges::count(nodes, ports[4]), 1);
  EXPECT_EQ(std::ranges::count(nodes, machine.gpus[2]), 1);  // the policy relays there
}

// Without network links in the graph ports are joined by nothing that could be shared.
TEST(Router, AnUnknownNetworkHasNoLinks) {
  TestMachine machine = MakeTestMachine({.hosts = 2, .gpus = 2});
  topo::Graph graph;
  for (std::size_t i = 0; i < machine.graph.hosts().size(); ++i) graph.AddHost({});
  for (const topo::Node& node : machine.graph.nodes()) graph.AddNode(node);
  for (const topo::Link& link : machine.graph.links()) {
    if (link.kind != LinkKind::kNetwork) graph.AddLink(link);
  }
  Router router(graph, machine.gpus, {});
  const std::uint32_t index = router.Find({.from = machine.gpus[0], .to = machine.gpus[3]});
  ASSERT_NE(index, Router::kNoRoute);
  EXPECT_TRUE(router.route(index).network);
  EXPECT_EQ(router.route(index).count, 6u);
}

// GPUs in the memory of their host, on Intel's CPUs: what they send each other is cut into small packets.
TEST(Router, PciTakesMoreBytesWhereTheCpuCutsThem) {
  Plain plain(2, 0, 1, true);
  const int other = plain.graph.AddNode({.kind = NodeKind::kPciSwitch, .host = 0});
  const int gpu = plain.graph.AddNode({.kind = NodeKind::kGpu, .host = 0, .is = topo::Gpu{.dev = 2, .sm = 90}});
  plain.graph.AddLink({.from = plain.numa, .to = other, .kind = LinkKind::kPci, .rated_gb_per_s = 20});
  plain.graph.AddLink({.from = other, .to = gpu, .kind = LinkKind::kPci, .rated_gb_per_s = 20});
  plain.graph.node(plain.numa).is = topo::Cpu{.arch = "x86_64", .vendor = "GenuineIntel"};
  RoutingOptions options;
  options.policy.peer_level = topo::PathType::kPhb;
  Router router(plain.graph, std::vector<int>{plain.gpus[0], plain.gpus[1], gpu}, options);
  EXPECT_FLOAT_EQ(router.route(router.Find({.from = plain.gpus[0], .to = gpu})).pci_charge, 1.2F);
  EXPECT_EQ(router.route(router.Find({.from = plain.gpus[0], .to = plain.gpus[1]})).pci_charge, 1);
  // Bytes count 6 for 5 on PCI: 1 MB at 20 GB/s takes 60 us on each of the links, which overlap.
  Job job;
  job.communicators = {{.ranks = {0, 1}}};
  AddOperation({.name = "send",
                .plans = std::make_shared<TransferPlans>(
                    2, std::vector<TransferPlans::Transfer>{{.from = 0, .to = 1, .bytes = 1000000}})},
               job);
  Options simulated;
  simulated.routing = options;
  const Result<Outcome> outcome = Simulate(job, {.graph = &plain.graph, .nodes = {plain.gpus[0], gpu}}, simulated);
  ASSERT_TRUE(outcome.ok());
  EXPECT_NEAR(ToUs(outcome->end), 60, 1e-3);
}

// Each line of a link of the network takes messages of its own, at its own rate.
TEST(Router, LinesOfANetworkLinkAreChosenOneByOne) {
  for (const Routing routing : {Routing::kHash, Routing::kAdaptive}) {
    TestMachine machine =
        MakeTestMachine({.hosts = 4, .gpus = 1, .nic_latency_us = 0, .hosts_per_leaf = 2, .spines = 1});
    for (const int uplink : machine.uplinks) {
      machine.graph.link(uplink).count = 2;
      machine.graph.link(uplink).rated_gb_per_s = 100;
    }
    Job job;
    job.communicators = {{.ranks = {0, 1, 2, 3}}};
    const std::vector<TransferPlans::Transfer> transfers = {{.from = 0, .to = 2, .bytes = 5000000},
                                                            {.from = 1, .to = 3, .bytes = 5000000}};
    AddOperation({.name = "send", .plans = std::make_shared<TransferPlans>(4, transfers)}, job);
    int apart = 0;
    for (int seed = 1; seed <= 32; ++seed) {
      Options options;
      options.routing.routing = routing;
      options.routing.seed = static_cast<std::uint64_t>(seed);
      const Result<Outcome> outcome = Simulate(job, machine.machine(), options);
      ASSERT_TRUE(outcome.ok() && outcome->stuck.ok());
      // Together on one line they take twice as long.
      EXPECT_TRUE(outcome->end == FromUs(100) || outcome->end == FromUs(200)) << ToUs(outcome->end);
      apart += outcome->end == FromUs(100) ? 1 : 0;
      EXPECT_EQ(outcome->links[static_cast<std::size_t>(machine.uplinks[0]) * 2].bytes, 10000000u);
    }
    EXPECT_TRUE(routing == Routing::kAdaptive ? apart == 32 : apart > 2 && apart < 20) << apart;
  }
}

// Equal flows from as many hosts under a leaf to as many under another one, over as many uplinks.
struct Leaves {
  explicit Leaves(int flows)
      : count(flows),
        machine(MakeTestMachine(
            {.hosts = 2 * flows, .gpus = 1, .nic_latency_us = 0, .hosts_per_leaf = flows, .spines = flows})) {}
  // Bytes on the uplink that has most, in units of a flow's.
  double Worst(const RoutingOptions& routing, int messages) const {
    constexpr std::size_t kBytes = 1 << 20;
    Job job;
    job.communicators.emplace_back().ranks.resize(static_cast<std::size_t>(2 * count));
    std::iota(job.communicators[0].ranks.begin(), job.communicators[0].ranks.end(), 0);
    std::vector<TransferPlans::Transfer> transfers;
    for (int i = 0; i < count; ++i) transfers.push_back({.from = i, .to = count + i, .bytes = kBytes});
    AddOperation({.name = "send",
                  .plans = std::make_shared<TransferPlans>(2 * count, transfers),
                  .chunk_bytes = kBytes / static_cast<std::size_t>(messages)},
                 job);
    Options options;
    options.routing = routing;
    const Result<Outcome> outcome = Simulate(job, machine.machine(), options);
    EXPECT_TRUE(outcome.ok() && outcome->stuck.ok());
    std::uint64_t most = 0;
    for (const int uplink : machine.uplinks)
      most = std::max(most, outcome->links[static_cast<std::size_t>(uplink) * 2].bytes);
    return static_cast<double>(most) / kBytes;
  }
  double MeanWorst(RoutingOptions routing, int messages) const {
    double sum = 0;
    constexpr int kSeeds = 1000;
    for (routing.seed = 1; routing.seed <= kSeeds; ++routing.seed) sum += Worst(routing, messages);
    return sum / kSeeds;
  }
  int count;
  TestMachine machine;
};

// Of n balls thrown into n bins, how many are in the fullest one on average: over all ways to share them out, by how many ways of
// throwing there are.
double BallsInBins(int n) {
  std::vector<double> factorial(static_cast<std::size_t>(n) + 1, 1);
  for (int i = 1; i <= n; ++i) factorial[static_cast<std::size_t>(i)] = factorial[static_cast<std::size_t>(i) - 1] * i;
  double mean = 0, at_most_before = 0;
  for (int most = 1; most <= n; ++most) {
    // ways[b]: to throw b balls into the bins so far with at most `most` in each, divided by b!.
    std::vector<double> ways(static_cast<std::size_t>(n) + 1, 0);
    ways[0] = 1;
    for (int bin = 0; bin < n; ++bin) {
      std::vector<double> next(ways.size(), 0);
      for (int b = 0; b <= n; ++b) {
        for (int k = 0; k <= std::min(most, n - b); ++k) {
          next[static_cast<std::size_t>(b + k)] +=
              ways[static_cast<std::size_t>(b)] / factorial[static_cast<std::size_t>(k)];
        }
      }
      ways = next;
    }
    double all = 1;
    for (int i = 0; i < n; ++i) all *= n;
    const double at_most = ways.back() * factorial.back() / all;
    mean += most * (at_most - at_most_before);
    at_most_before = at_most;
  }
  return mean;
}

TEST(Router, FlowsCollideLikeBallsInBins) {
  const Leaves leaves(8);
  EXPECT_NEAR(BallsInBins(8), 2.6, 0.06);
  RoutingOptions routing;
  EXPECT_NEAR(leaves.MeanWorst(routing, 1), BallsInBins(8), 0.1);
  routing.flows = 4;  // with queue pairs a flow is several smaller ones
  EXPECT_NEAR(leaves.MeanWorst(routing, 4), 1.76, 0.06);
  routing = {.routing = Routing::kAdaptive};
  EXPECT_EQ(leaves.MeanWorst(routing, 1), 1);
}

}  // namespace
}  // namespace tutti::sim
