// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_ROUTES_H_
#define TUTTI_SIM_ROUTES_H_

// Which links a message takes from the GPU or NUMA node of one rank to that of another one. Inside a box (topo/box.h) they are those that
// topo/policy.h decides on; between boxes
//
//   GPU --box--> port --network--> port --box--> GPU
//
// where the sender's and the receiver's port for the channel are those of the policy too, unless a plan names others, and the network's way
// is one of the shortest. Of several links that lead on equally well a switch takes
//
//   kHash      that of a hash of the flow, the switch and the seed, as ECMP does: the same for all messages of the flow. A wire has
//              `flows` of them (queue pairs), which its messages take in turn.
//   kAdaptive  that which is free first when the message is there.
//
// Where the ports have no way to each other, another port of the sender's box is taken that has one, the closest to the receiver's port.
// With kSenderCrosses that is also done where it is only closer, as ports of one rail are: GPUs pass data on to it over NVLinks, where the
// policy lets them (PXN), and no message goes through a spine to change its rail.
//
// Routes are found when they are first used, and kept.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/routing.h"
#include "topo/graph.h"
#include "topo/network_ways.h"

namespace tutti::sim {

class Boxes;
class Fabric;

struct Flow {
  int from = 0, to = 0;  // nodes of the graph
  int channel = 0;
  std::uint64_t number = 0;          // that tells it from others between these nodes
  int from_port = -1, to_port = -1;  // nodes; -1: as the policy has it
};

struct Route {
  std::uint32_t first = 0, count = 0;         // of its hops among all routes'
  bool network = false;                       // goes over the network
  float pci_charge = 1;                       // bytes that each byte takes on PCI links
  std::int32_t from_port = -1, to_port = -1;  // nodes, of a route over the network
};

class Router {
 public:
  static constexpr std::uint32_t kNoRoute = std::numeric_limits<std::uint32_t>::max();
  // A hop in whose place switches choose the way from Route::from_port to Route::to_port.
  static constexpr topo::Arc kChosen = -1;

  // `nodes`: those that flows may have. The graph must outlive it.
  Router(const topo::Graph& graph, std::vector<int> nodes, const RoutingOptions& options);
  ~Router();

  // kNoRoute: there is no way.
  std::uint32_t Find(const Flow& flow);
  const Route& route(std::uint32_t index) const { return routes_[index]; }
  topo::Arc hop(std::uint32_t index) const { return hops_[index]; }
  // A route of these links, one after the other, that Find does not find.
  std::uint32_t AddWay(std::span<const topo::Arc> arcs);
  // Fabric::Next.
  std::span<const topo::Neighbour> Next(int node, int to_port);
  const RoutingOptions& options() const { return options_; }

  // The graph has changed. Routes that were found before are there still, but not found any more.
  void Forget();

 private:
  struct Ports {
    int from = -1, to = -1;
  };
  std::uint32_t Add(const Flow& flow);
  std::optional<Ports> ChoosePorts(const Flow& flow);
  bool AppendNetwork(const Flow& flow, const Ports& ports);

  const topo::Graph& graph_;
  std::vector<int> nodes_;
  RoutingOptions options_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Boxes> boxes_;
  std::vector<Route> routes_;
  std::vector<topo::Arc> hops_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

// Spreads numbers evenly over 64 bits.
constexpr std::uint64_t Mix(std::uint64_t x) {  // the finalizer of splitmix64 (Steele, Lea, Flood 2014)
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace tutti::sim

#endif  // TUTTI_SIM_ROUTES_H_
