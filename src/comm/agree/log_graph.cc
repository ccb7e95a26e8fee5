// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/log_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

#include "base/log.h"
#include "comm/agree/host_graph.h"
#include "topo/channels.h"
#include "topo/findings.h"
#include "topo/policy.h"

namespace tutti::comm {
namespace {

using topo::HostPaths;
using topo::NodeKind;
using topo::PathType;

constexpr std::size_t kMostNamed = 2;
constexpr std::size_t kMostOrders = 16;  // of channels

void SayOnce(const std::string& line) {
  if (log::FirstTime(line)) TUTTI_INFO(log::kGraph, "{}", line);
}

std::string Count(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "PIX to mlx5_0 and mlx5_1 (GDR), SYS to 4 ports"
std::string PortsFrom(const HostGraph& host, const HostPaths& paths, int gpu) {
  std::map<PathType, std::vector<int>> by_type;
  for (const int port : paths.ports()) by_type[paths.Direct(gpu, port).type].push_back(port);
  std::string text;
  for (const auto& [type, ports] : by_type) {
    const bool few = ports.size() <= kMostNamed;
    text += fmt::format("{}{} to ", text.empty() ? "" : ", ", topo::ToString(type));
    if (!few) text += Count(ports.size(), "port");
    for (std::size_t i = 0; few && i < ports.size(); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : " and ", host.graph.node(ports[i]).port()->name);
    }
    const bool writes = paths.DirectToNetwork(gpu, ports.front(), topo::Direction::kReceive);
    if (writes)
      text += paths.DirectToNetwork(gpu, ports.front(), topo::Direction::kSend) ? " (GDR)" : " (GDR but for reads)";
  }
  return text;
}

std::string PeersOf(const HostPaths& paths, int gpu) {
  std::map<PathType, std::size_t> counts;
  for (const int other : paths.gpus()) {
    if (other != gpu) ++counts[paths.Direct(gpu, other).type];
  }
  std::string text;
  for (const auto& [type, count] : counts) {
    text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", topo::ToString(type), Count(count, "GPU"));
  }
  return text;
}

void LogMachine(const HostGraph& host, const HostPaths& paths) {
  const auto count = [&](NodeKind kind) { return host.graph.All(kind, host.host).size(); };
  SayOnce(fmt::format("=== System : {}, {}, {}; from {} in {:.1f} ms ===", Count(count(NodeKind::kGpu), "GPU"),
                      Count(count(NodeKind::kPort), "port"), Count(count(NodeKind::kNumaNode), "NUMA node"),
                      host.source, host.found_in_ms));
  for (const int gpu : paths.gpus()) {
    const topo::Node& node = host.graph.node(gpu);
    const std::string peers = PeersOf(paths, gpu), ports = PortsFrom(host, paths, gpu);
    SayOnce(fmt::format("{} {} : {}{}{}", node.name, node.pci.bus_id, peers, peers.empty() || ports.empty() ? "" : "; ",
                        ports));
  }
  for (const std::string& note : host.notes) SayOnce("graph: " + note);
}

}  // namespace

void LogGraph(const Settings& settings, const HostGraph& host) {
  const HostPaths paths(host.graph, std::span(&host.host, 1), PolicyOf(settings, host));
  const bool informs = log::Enabled(log::Level::kInfo, log::kGraph);
  if (informs) LogMachine(host, paths);
  for (const topo::Finding& finding : topo::FindingsOf(host.graph, host.host, paths)) {
    const bool warns = finding.kind == topo::FindingKind::kNvLinksMissing;
    if ((!warns && !informs) || !log::FirstTime(finding.text)) continue;
    if (warns) {
      TUTTI_WARN("{}", finding.text);
    } else {
      TUTTI_INFO(log::kGraph, "{}: {}", topo::ToString(finding.kind), finding.text);
    }
  }
}

void LogChannelsOfGraph(const topo::Graph& graph, std::span<const topo::Channels> channels, std::string_view from) {
  if (!log::Enabled(log::Level::kInfo, log::kGraph)) return;
  for (const topo::Channels& one : channels) {
    TUTTI_INFO(log::kGraph,
               "Pattern {}, crossNic {}, nChannels {}, bw {:.4g}/{:.4g}, type {}/{}, sameChannels {}, from {}",
               static_cast<int>(one.pattern), one.cross_nic ? 1 : 0, one.channels.size(), one.gb_per_s_inside,
               one.gb_per_s_between, topo::ToString(one.type_inside), topo::ToString(one.type_between),
               one.same ? 1 : 0, from);
    for (std::size_t c = 0; c < std::min(one.channels.size(), kMostOrders); ++c) {
      std::vector<int> numbers;
      for (const int gpu : one.channels[c].gpus) numbers.push_back(graph.node(gpu).gpu()->dev);
      TUTTI_INFO(log::kGraph, "{:>2} : GPU/{}", c, fmt::join(numbers, " GPU/"));
    }
  }
}

}  // namespace tutti::comm
