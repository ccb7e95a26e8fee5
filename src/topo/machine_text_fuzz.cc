// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary text to the reader of machines. What is taken must become graphs in which every link joins two nodes and has a rate,
// and about which can be decided and found what there is; what is refused needs a sentence of one line and bounded length.
//
// Canary: a planted fault (GPUs of another compute capability than the seeds' "crash") must be found.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "topo/findings.h"
#include "topo/machine_text.h"
#include "topo/policy.h"

namespace tutti::topo {
namespace {

constexpr std::size_t kMostSentence = 900;
constexpr std::size_t kMostEnds = 24;  // GPUs and ports of a host about which is decided: their number counts squared

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckSentence(const Status& status) {
  const std::string& sentence = status.message();
  Require(!sentence.empty() && sentence.size() < kMostSentence && sentence.find('\n') == std::string::npos);
}

void CheckGraph(const Graph& graph, int hosts) {
  const int nodes = static_cast<int>(graph.nodes().size());
  Require(static_cast<int>(graph.hosts().size()) == hosts);
  for (const Link& link : graph.links()) {
    Require(link.from >= 0 && link.from < nodes && link.to >= 0 && link.to < nodes && link.from != link.to);
    Require(std::isfinite(link.gb_per_s()) && link.gb_per_s() > 0 && link.count >= 1);
    Require(std::isfinite(link.latency_us) && link.latency_us >= 0);
  }
  std::set<std::pair<int, int>> gpus, ports;
  for (const Node& node : graph.nodes()) {
    Require(!node.name.empty() && node.host >= -1 && node.host < hosts);
    if (node.gpu() != nullptr) Require(gpus.emplace(node.host, node.gpu()->dev).second);
    if (node.port() != nullptr) Require(ports.emplace(node.host, node.port()->dev).second);
  }
}

void CheckDecisions(const Graph& graph) {
  if (graph.All(NodeKind::kGpu, 0).size() + graph.All(NodeKind::kPort, 0).size() > kMostEnds) return;
  const HostPaths paths(graph, std::array{0});
  for (const int gpu : paths.gpus()) {
    Require(paths.PeerToPeer(gpu, gpu));
    if (const std::optional<int> port = paths.PortOf(gpu, 3)) {
      Require(paths.ToPort(gpu, *port, Direction::kSend).path.gb_per_s > 0);
    }
  }
  for (const Finding& finding : FindingsOf(graph, 0, paths)) {
    Require(!finding.text.empty() && finding.text.find('\n') == std::string::npos);
    Require(finding.gb_per_s <= finding.expected_gb_per_s && finding.gb_per_s >= 0);
  }
}

void Check(std::string_view text) {
  const Result<Machine> machine = ReadMachineText(text, "the text");
  if (!machine.ok()) {
    CheckSentence(machine.status());
    return;
  }
#ifdef TUTTI_FUZZ_CANARY
  Require(machine->sm == 90);
#endif
  for (const int hosts : {1, 5}) {
    const Result<Graph> graph = BuildGraph(*machine, hosts);
    if (!graph.ok()) {
      CheckSentence(graph.status());
      continue;
    }
    CheckGraph(*graph, hosts);
    CheckDecisions(*graph);
  }
}

}  // namespace
}  // namespace tutti::topo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::topo::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
