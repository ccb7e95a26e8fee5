// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_DISCOVERED_H_
#define TUTTI_TESTS_SUPPORT_DISCOVERED_H_

// What tests compare of a graph that was drawn of a rendered host.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/rendered_host.h"
#include "topo/discover.h"
#include "topo/paths.h"

namespace tutti::topo {

using Lines = std::vector<std::string>;

// `nvml_library`: where the library of tests/topo/fake_nvml.c lies.
inline Discovery DiscoverIt(const tests::RenderedHost& host, const std::string& nvml_library) {
  Result<Discovery> found = Discover({.root = host.root(), .nvml_library = nvml_library});
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? std::move(*found) : Discovery();
}

inline std::string Joined(const Lines& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

inline bool HasNote(const Discovery& found, std::string_view text) {
  return Joined(found.notes).find(text) != std::string::npos;
}

// "GPU 0 - NVSwitch: NVLink 370.8 x18"
inline std::string LinkLine(const std::string& from, const std::string& to, const std::string& kind, double gb_per_s,
                            int count = 1) {
  return fmt::format("{} - {}: {} {:.6g} x{}", from, to, kind, gb_per_s, count);
}

inline Lines LinksOf(const Graph& graph) {
  Lines lines;
  for (const Link& link : graph.links()) {
    lines.push_back(LinkLine(graph.node(link.from).name, graph.node(link.to).name, std::string(ToString(link.kind)),
                             link.rated_gb_per_s, link.count));
  }
  std::ranges::sort(lines);
  return lines;
}

inline void ExpectLinks(const Graph& graph, Lines expected) {
  std::ranges::sort(expected);
  EXPECT_EQ(Joined(LinksOf(graph)), Joined(expected));
}

inline int NodeOf(const Graph& graph, std::string_view name) {
  const auto found = std::ranges::find(graph.nodes(), name, &Node::name);
  EXPECT_NE(found, graph.nodes().end()) << name;
  return static_cast<int>(found - graph.nodes().begin());
}

inline PathType TypeBetween(const Graph& graph, const std::string& from, const std::string& to) {
  return Paths(graph, NodeOf(graph, from)).type(NodeOf(graph, to));
}

inline Lines operator+(Lines lines, const std::string& line) {
  lines.push_back(line);
  return lines;
}

// Those of rendered_machines.h.
inline Lines TwoSocketLinks() {
  return {LinkLine("NUMA node 0", "NUMA node 1", "socket", 22), LinkLine("NUMA node 0", "CPU 0", "socket", 22),
          LinkLine("NUMA node 1", "CPU 1", "socket", 22)};
}
inline Lines PcieBoxLinks(double gpu_1_gb_per_s) {
  return {LinkLine("NUMA node 0", "CPU 0", "socket", 24), LinkLine("NUMA node 0", "GPU 0", "PCI", 24),
          LinkLine("NUMA node 0", "GPU 1", "PCI", gpu_1_gb_per_s)};
}

}  // namespace tutti::topo

#endif  // TUTTI_TESTS_SUPPORT_DISCOVERED_H_
