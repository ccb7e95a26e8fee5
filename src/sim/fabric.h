// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_FABRIC_H_
#define TUTTI_SIM_FABRIC_H_

// Shortest ways through the network, from port to port over switches. Data passes no port but the first and the last.
//
// Distances are found from a destination outwards, once for all ports that hang on the same switches: 2 bytes for each switch of the
// network, and time for each of its links.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "topo/graph.h"

namespace tutti::sim {

class Fabric {
 public:
  // Links of rate 0 are no links. `graph` must outlive it, unchanged.
  explicit Fabric(const topo::Graph& graph);

  // False: the graph has no network links, so it says nothing of the network. Every port reaches every other one then, and no link
  // is between them.
  bool known() const { return !ends_.empty(); }
  // Links on a shortest way from one port to another one; nothing: there is no way. Where the graph says nothing, 2 between ports of one
  // rail, or without one of the same number, and 4 between others.
  std::optional<int> Distance(int from_port, int to_port);
  // The links out of `node`, a port or a switch, on all shortest ways to the port: equal ones are equally good. Empty: there is no
  // way, or this is the port. Valid until the next call.
  std::span<const topo::Neighbour> Next(int node, int to_port);

 private:
  static constexpr std::uint16_t kFar = 0xffff;
  std::span<const topo::Neighbour> LinksOf(int node) const;
  const std::vector<std::uint16_t>& DistancesTo(int port);
  std::vector<std::uint16_t> Search(std::span<const int> from) const;
  int From(int node, int to_port, const std::vector<std::uint16_t>& distances) const;

  int RailOf(int port) const;

  const topo::Graph& graph_;
  std::vector<std::uint32_t> first_;                // by node: its part of `ends_`, up to that of the next one
  std::vector<topo::Neighbour> ends_;               // network links
  std::vector<std::int32_t> switch_of_;             // by node: its number among switches, -1: it is none
  std::vector<int> switches_;                       // their nodes
  std::vector<std::int32_t> table_of_;              // by node: of a port, its place in `tables_`, -1: not known
  std::map<std::vector<int>, int> shared_;          // switches that ports hang on -> place in `tables_`
  std::vector<std::vector<std::uint16_t>> tables_;  // links from each switch to the ports
  std::vector<topo::Neighbour> next_;
};

}  // namespace tutti::sim

#endif  // TUTTI_SIM_FABRIC_H_
