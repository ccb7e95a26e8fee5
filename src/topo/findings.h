// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOPO_FINDINGS_H_
#define TUTTI_TOPO_FINDINGS_H_

// What is bad about a host, or may be, in one line each for people. Every line names what it is about, what is there and what could be,
// in GB/s, and what to do. Rates are rated ones: what a program gets is less on both sides.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/graph.h"
#include "topo/policy.h"

namespace tutti::topo {

enum class FindingKind : std::uint8_t {
  kNvLinksMissing,  // a GPU has fewer NVLinks than it should
  kPciSlowNow,      // a PCI link runs below its best: it is asleep, or bad
  kPciSlowAtBest,   // the best of a PCI link is below what a GPU of its kind, or what hangs on it, has as a rule
  kNicRemote,       // on another socket than every GPU
  kNicsUnequal,     // slower than the others
  kNicStarved,      // its PCI link carries less than its ports
  kFewNics,         // fewer than one port for two GPUs
  kNoGpuDirect,     // GPUs send and receive through host memory
  kNoPeerToPeer,    // GPUs exchange data through host memory
};

// "NVLinks missing", "PCI slow now", ...
std::string_view ToString(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::kNvLinksMissing;
  std::string text;
  double expected_gb_per_s = 0;
  double gb_per_s = 0;
  int node = 0;  // what it is about, the first of several
};

// All findings of one host, in the order of their kinds. Nodes about which the same is to be said are in one. `paths` are of this host,
// perhaps with others.
std::vector<Finding> FindingsOf(const Graph& graph, int host, const HostPaths& paths);

}  // namespace tutti::topo

#endif  // TUTTI_TOPO_FINDINGS_H_
