// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_TEST_MACHINES_H_
#define TUTTI_SIM_TEST_MACHINES_H_

// Machines for the simulator's tests and benchmarks.

#include <vector>

#include "sim/simulator.h"
#include "topo/graph.h"

namespace tutti::sim {

struct TestMachine {
  topo::Graph graph;
  std::vector<int> gpus;      // nodes, host by host
  std::vector<int> cables;    // links from ports to switches, in the order of GPUs
  std::vector<int> switches;  // leaves, then spines
  std::vector<int> uplinks;   // links from leaves to spines, leaf by leaf
  Machine machine() const { return {.graph = &graph, .nodes = gpus}; }
};

struct TestShape {
  int hosts = 1, gpus = 8;  // of a host, each with a NIC where there are several hosts
  double nvlink_gb_per_s = 400, nvlink_latency_us = 0;
  double nic_gb_per_s = 50, nic_latency_us = 1;
  int hosts_per_leaf = 1 << 20;
  bool rails = false;  // the i-th GPUs of hosts hang on leaves of their own
  int spines = 0;      // joined with every leaf; none: leaves have no way to each other
  double uplink_gb_per_s = 50;
};

// GPUs on an NVSwitch; each one's PCI switch with its NIC; leaves, spines.
inline TestMachine MakeTestMachine(const TestShape& shape) {
  using topo::LinkKind;
  using topo::NodeKind;
  TestMachine made;
  topo::Graph& graph = made.graph;
  const auto join = [&](int from, int to, LinkKind kind, double gb_per_s, double latency_us) {
    return graph.AddLink({.from = from, .to = to, .kind = kind, .rated_gb_per_s = gb_per_s, .latency_us = latency_us});
  };
  const int groups = (shape.hosts + shape.hosts_per_leaf - 1) / shape.hosts_per_leaf;
  const int rails = shape.rails ? shape.gpus : 1;
  if (shape.hosts > 1) {
    for (int i = 0; i < groups * rails + shape.spines; ++i) {
      made.switches.push_back(graph.AddNode({.kind = NodeKind::kNetworkSwitch, .host = -1}));
    }
    for (int leaf = 0; leaf < groups * rails; ++leaf) {
      for (int spine = 0; spine < shape.spines; ++spine) {
        made.uplinks.push_back(join(made.switches[leaf], made.switches[groups * rails + spine], LinkKind::kNetwork,
                                    shape.uplink_gb_per_s, 0));
      }
    }
  }
  for (int host = 0; host < shape.hosts; ++host) {
    graph.AddHost("host");
    const int nvswitch = graph.AddNode({.kind = NodeKind::kNvSwitch, .host = host});
    for (int i = 0; i < shape.gpus; ++i) {
      const int gpu =
          graph.AddNode({.kind = NodeKind::kGpu, .host = host, .is = topo::Gpu{.dev = i, .sm = 90, .gdr = true}});
      made.gpus.push_back(gpu);
      join(gpu, nvswitch, LinkKind::kNvLink, shape.nvlink_gb_per_s, shape.nvlink_latency_us / 2);
      if (shape.hosts == 1) continue;
      const int pci = graph.AddNode({.kind = NodeKind::kPciSwitch, .host = host});
      const int nic = graph.AddNode({.kind = NodeKind::kNic, .host = host});
      const int port = graph.AddNode({.kind = NodeKind::kPort,
                                      .host = host,
                                      .is = topo::Port{.dev = i, .gbit_per_s = 8 * shape.nic_gb_per_s, .gdr = true}});
      join(gpu, pci, LinkKind::kPci, 55, 0);
      join(pci, nic, LinkKind::kPci, 55, 0);
      join(nic, port, LinkKind::kLocal, 1000, 0);
      const int leaf = host / shape.hosts_per_leaf * rails + (shape.rails ? i : 0);
      made.cables.push_back(
          join(port, made.switches[leaf], LinkKind::kNetwork, shape.nic_gb_per_s, shape.nic_latency_us / 2));
    }
  }
  return made;
}

}  // namespace tutti::sim

#endif  // TUTTI_SIM_TEST_MACHINES_H_
