// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_FABRIC_H_
#define TUTTI_TOPO_FABRIC_H_

// The network between hosts: switches in up to three levels, in one plane or in several that nothing joins.
//
//   1 level     all ports at one switch; by rail: a switch for each rail, and nothing between rails
//   2 levels    leaves, each joined to every spine
//   3 levels    pods of leaves and spines of their own; the i-th spines of all pods are joined by cores of their own (a fat tree)
//
// Where ports go: by host, all ports of a host go to one leaf; by rail (rail-optimised), the ports with one number in their hosts do.
// Source of the layouts: the fat tree of Al-Fares et al. (SIGCOMM 2008); the rail-optimised one of NVIDIA's DGX SuperPOD.

#include <cstdint>
#include <span>

#include "topo/graph.h"
#include "tutti/status.h"

namespace tutti::topo {

// How a switch chooses among links that lead equally far.
enum class Routing : std::uint8_t {
  kHash,      // once for each flow, by a hash of its addresses (ECMP)
  kAdaptive,  // for each packet, by which link is free
};

enum class PortPlaces : std::uint8_t { kByHost, kByRail };

inline constexpr int kTwoOrThree = -1;  // levels: as many as the hosts take

struct Fabric {
  int levels = 1;  // 0: there is no network
  PortPlaces places = PortPlaces::kByHost;
  int ports = 0;                 // of each switch; 0: as many as it takes
  int hosts_per_leaf = 0;        // 0: as many as the ports allow
  int leaves_per_rail = 0;       // by rail, instead of hosts_per_leaf: the hosts are shared out evenly; 0: not given
  int spines = 0;                // of a plane, where there are 2 levels; 0: as few as the leaves' lines need
  double oversubscription = 1;   // lines of a leaf towards hosts for each one upwards
  double uplink_gbit_per_s = 0;  // of a line between switches; 0: as the fastest port
  int planes = 1;                // the n-th port of a card belongs to plane n modulo planes
  // Of one switch. The default is that of an InfiniBand switch (Quantum-2: 0.15 to 0.24 by its maker); Ethernet takes 0.25 to 0.5.
  double hop_us = 0.2;
  Routing routing = Routing::kHash;
  bool reduces = false;  // switches fold and copy for collectives (SHARP); ports say so (Port::collectives)
};

// A port that the network is to join.
struct FabricPort {
  int node = 0;  // in the graph
  int host = 0;
  int rail = 0;
  int plane = 0;
  double gb_per_s = 0;
};

// Adds switches, which belong to no host, and links. Several parallel lines between two switches are one link with their count. Fails
// where the switches have too few ports for so many hosts.
Status AddFabric(const Fabric& fabric, std::span<const FabricPort> ports, int hosts, Graph& graph);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_FABRIC_H_
