// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_PATHS_H_
#define TUTTI_TOPO_PATHS_H_

// How data gets from one node of a graph to another: over which links, of what kind, at what rate.

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "topo/graph.h"

namespace tutti::topo {

// Kinds of paths by NCCL's names, the closest first.
enum class PathType : std::uint8_t {
  kLoc,  // the node itself
  kNvl,  // NVLinks
  kNvb,  // NVLinks through one other GPU
  kC2c,  // NVLink between GPU and CPU
  kPix,  // at most one PCI switch
  kPxb,  // several PCI switches, no CPU
  kP2c,  // a GPU's C2C to its CPU, and PCI from there to a card
  kPxn,  // to a card through another GPU
  kPhb,  // a CPU
  kSys,  // from one NUMA node to another
  kNet,  // the network
  kDis,  // none
};
inline constexpr int kPathTypes = 12;

// "LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS".
std::string_view ToString(PathType type);
// Nothing where the text is none of these, in any case of letters.
std::optional<PathType> PathTypeFrom(std::string_view text);

// A link in the direction in which it is used.
struct Hop {
  int link = 0;
  int to = 0;  // the node where it arrives
};

struct Path {
  PathType type = PathType::kDis;
  double gb_per_s = 0;    // of its slowest link
  double latency_us = 0;  // of all its links
  std::vector<Hop> hops;  // in order; empty for kLoc and kDis
};

// Best paths from one node to all others: of the closest type, then the fastest, then of few hops, then over nodes with the lowest
// indices, so that everybody finds the same. Nothing goes through a GPU but NVLinks, and through one GPU at most. Links of rate 0 are
// no links.
class Paths {
 public:
  // Takes O(links * log(nodes)) for each path type.
  Paths(const Graph& graph, int from);
  int from() const { return from_; }
  PathType type(int to) const;
  double gb_per_s(int to) const;  // infinite to itself, 0 where there is no path
  double latency_us(int to) const;
  Path To(int to) const;

 private:
  // The best path of one type to a node.
  struct Label {
    double gb_per_s = 0;
    double latency_us = 0;
    int hops = -1;                          // -1: none
    int before = -1, link = -1;             // the last node before it, and the link from there
    PathType type_before = PathType::kLoc;  // of the path to that node
  };
  Label& LabelOf(int node, PathType type);
  const std::pair<PathType, Label>* BestOf(int node) const;

  int from_;
  std::vector<std::vector<std::pair<PathType, Label>>> labels_;  // by node
};

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_PATHS_H_
