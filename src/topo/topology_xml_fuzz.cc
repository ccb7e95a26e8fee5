// Copyright 2026 The Tutti Authors SPDX-License-Identifier: Apache-2.0 Feeds arbitrary text to the reader of topology
// files. What is taken must be a sane graph, say the same when it is written and read again, and lead to paths without
// a fault; what is refused, and what is noted, needs a sentence of one line and bounded length.
//
// Canary: a planted fault (an NVLink of a count that the seeds do not have "crashes") must be found.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "topo/paths.h"
#include "topo/topology_xml.h"

namespace tutti::topo {
namespace {

constexpr std::size_t kMostSentence = 500;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckSentence(const std::string& sentence) {
  Require(sentence.starts_with("file") && sentence.size() < kMostSentence && sentence.find('\n') == std::string::npos);
}

void CheckGraph(const Graph& graph) {
  const int nodes = static_cast<int>(graph.nodes().size()), hosts = static_cast<int>(graph.hosts().size());
  for (const Node& node : graph.nodes()) Require(node.host >= 0 && node.host < hosts);
  for (const Link& link : graph.links()) {
    Require(link.from >= 0 && link.from < nodes && link.to >= 0 && link.to < nodes && link.from != link.to);
    Require(std::isfinite(link.rated_gb_per_s) && link.rated_gb_per_s >= 0 && link.count >= 0);
#ifdef TUTTI_FUZZ_CANARY
    Require(link.kind != LinkKind::kNvLink || link.count == 12 || link.count == 0);
#endif
  }
  if (nodes > 0 && nodes < 100) Require(Paths(graph, 0).type(0) == PathType::kLoc);
}

// Whether GPUs of a host are partitions of one device: a file does not say to which of them a link of another GPU leads.
bool HasPartitions(const Graph& graph, int host) {
  std::set<std::string> bus_ids;
  return std::ranges::any_of(graph.All(NodeKind::kGpu, host),
                             [&](int gpu) { return !bus_ids.insert(graph.node(gpu).pci.bus_id).second; });
}

void Check(std::string_view text) {
  const Result<TopologyXml> read = ReadTopologyXml(text, "file");
  if (!read.ok()) return CheckSentence(read.status().message());
  for (const std::string& note : read->notes) CheckSentence(note);
  CheckGraph(read->graph);
  for (int host = 0; host < static_cast<int>(read->graph.hosts().size()) && host < 3; ++host) {
    const std::string written = WriteTopologyXml(read->graph, host);
    const Result<TopologyXml> again = ReadTopologyXml(written, "file");
    Require(again.ok() && again->graph.All(NodeKind::kGpu).size() == read->graph.All(NodeKind::kGpu, host).size());
    Require(again->graph.hosts().size() == 1);
    Require(HasPartitions(read->graph, host) || WriteTopologyXml(again->graph, 0) == written);
  }
}

}  // namespace
}  // namespace tutti::topo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::topo::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
