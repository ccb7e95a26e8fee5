// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/policy.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/words.h"

namespace tutti::topo {
namespace {

constexpr int kMostChannels = 64;         // that NCCL tries to find the GPU that uses a port
constexpr int kFirstSmThatReads = 80;     // below it cards read GPU memory slowly while other PCI traffic goes on
constexpr double kIntelPeerCharge = 1.2;  // INTEL_P2P_OVERHEAD in topo.h: 6/5

// A part of a graph by itself, and what its nodes and links are in the whole.
struct SubGraph {
  Graph graph;
  std::vector<int> nodes, links;  // in the whole
  std::map<int, int> places;      // by node of the whole

  void Add(const Graph& whole, int node) {
    if (!places.emplace(node, static_cast<int>(nodes.size())).second) return;
    nodes.push_back(node);
    graph.AddNode({.kind = whole.node(node).kind});
  }
};

// The nodes of the hosts and the NVSwitches that several hosts share.
SubGraph SubGraphOf(const Graph& whole, std::span<const int> hosts) {
  SubGraph part;
  const std::set<int> wanted(hosts.begin(), hosts.end());
  for (std::size_t i = 0; i < whole.nodes().size(); ++i) {
    if (wanted.contains(whole.nodes()[i].host)) part.Add(whole, static_cast<int>(i));
  }
  const std::size_t own = part.nodes.size();
  for (std::size_t i = 0; i < own; ++i) {
    for (const Neighbour& neighbour : whole.NeighboursOf(part.nodes[i])) {
      if (whole.node(neighbour.node).kind == NodeKind::kNvSwitch) part.Add(whole, neighbour.node);
    }
  }
  for (std::size_t i = 0; i < part.nodes.size(); ++i) {
    for (const Neighbour& neighbour : whole.NeighboursOf(part.nodes[i])) {
      const auto other = part.places.find(neighbour.node);
      if (other == part.places.end() || other->second <= static_cast<int>(i)) continue;
      Link link = whole.link(neighbour.link);
      link.from = static_cast<int>(i);
      link.to = other->second;
      part.graph.AddLink(link);
      part.links.push_back(neighbour.link);
    }
  }
  return part;
}

Path InTheWhole(Path path, const SubGraph& part) {
  for (Hop& hop : path.hops) {
    hop.link = part.links[static_cast<std::size_t>(hop.link)];
    hop.to = part.nodes[static_cast<std::size_t>(hop.to)];
  }
  return path;
}

// One path after another one. A host bridge behind C2C is as good as the C2C allows.
Path Joined(const Path& first, const Path& second) {
  if (first.type == PathType::kDis || second.type == PathType::kDis) return {};
  Path path = first;
  const auto [near, far] = std::minmax(first.type, second.type);
  path.type = far == PathType::kPhb && near == PathType::kC2c ? PathType::kP2c : far;
  path.gb_per_s = std::min(first.gb_per_s, second.gb_per_s);
  path.latency_us += second.latency_us;
  path.hops.insert(path.hops.end(), second.hops.begin(), second.hops.end());
  return path;
}

// Of `candidates` the fastest, of these the closest ones.
template <typename PathOf>
std::vector<int> Nearest(std::span<const int> candidates, const PathOf& path_of) {
  std::vector<int> nearest;
  const Path* best = nullptr;
  for (const int candidate : candidates) {
    const Path& path = path_of(candidate);
    if (path.type == PathType::kDis) continue;
    if (best == nullptr || path.gb_per_s > best->gb_per_s ||
        (path.gb_per_s == best->gb_per_s && path.type < best->type)) {
      best = &path;
      nearest.clear();
    }
    if (path.gb_per_s == best->gb_per_s && path.type == best->type) nearest.push_back(candidate);
  }
  return nearest;
}

// The bits of a number below a power of two in reverse order, so that neighbours are spread far apart.
int MirrorBits(int number, int power_of_two) {
  int mirrored = 0;
  for (int bit = 1, other = power_of_two / 2; bit < power_of_two; bit *= 2, other /= 2) {
    if ((number & bit) != 0) mirrored |= other;
  }
  return mirrored;
}

}  // namespace

std::optional<PathType> LevelFrom(std::string_view text) {
  if (const std::optional<int> number = ParseNumber<int>(text); number && *number >= 0) {
    constexpr std::array kOld = {PathType::kLoc, PathType::kPix, PathType::kPxb, PathType::kPhb, PathType::kSys};
    return kOld[static_cast<std::size_t>(std::min(*number, 4))];
  }
  const std::optional<PathType> type = PathTypeFrom(text);
  return type && *type <= PathType::kSys ? type : std::nullopt;
}

HostPaths::HostPaths(const Graph& graph, std::span<const int> hosts, const PolicyOptions& options) : options_(options) {
  FindPaths(graph, hosts);
  MarkP2c();
  DecidePeers(graph);
  for (const int gpu : gpus_) {
    for (const int port : ports_) sends_[{gpu, port}] = receives_[{gpu, port}] = {.path = direct_.at({gpu, port})};
  }
  DecideRelays();
  DecideStaging();
}

void HostPaths::FindPaths(const Graph& graph, std::span<const int> hosts) {
  const SubGraph part = SubGraphOf(graph, hosts);
  for (const int node : part.nodes) {
    const Node& what = graph.node(node);
    if (const Gpu* gpu = what.gpu()) {
      gpus_.push_back(node);
      facts_[node] = {.host = what.host, .dev = gpu->dev, .sm = gpu->sm, .gdr = gpu->gdr};
    } else if (const Port* port = what.port()) {
      ports_.push_back(node);
      port_gdr_[node] = port->gdr;
    } else if (what.kind == NodeKind::kNumaNode) {
      numas_.push_back(node);
      if (what.cpu() != nullptr && what.cpu()->vendor == "GenuineIntel") intel_.insert(node);
    }
  }
  const auto add = [&](int from, std::span<const int> ends) {
    const Paths paths(part.graph, part.places.at(from));
    for (const int to : ends) direct_[{from, to}] = InTheWhole(paths.To(part.places.at(to)), part);
  };
  for (const int gpu : gpus_) {
    for (const std::vector<int>& ends : {gpus_, ports_, numas_}) add(gpu, ends);
  }
  for (const int numa : numas_) {
    for (const std::vector<int>& ends : {gpus_, ports_}) add(numa, ends);
  }
  for (const int link : part.links) {
    link_gb_per_s_[link] = graph.link(link).gb_per_s();
    if (graph.link(link).kind == LinkKind::kPci) pci_links_.insert(link);
  }
  for (const int gpu : gpus_) {
    GpuFacts& facts = facts_.at(gpu);
    std::size_t fewest = 0;
    for (const int numa : numas_) {
      const std::size_t hops = direct_.at({gpu, numa}).hops.size();
      if (hops == 0 || (fewest > 0 && hops >= fewest)) continue;
      fewest = hops;
      facts.numa = numa;
    }
    for (const int other : gpus_) {
      if (other != gpu && direct_.at({gpu, other}).type == PathType::kNvl) facts.has_nvlink = true;
    }
  }
}

DecidedPath HostPaths::Staged(int gpu, int to) const {
  // Data for another GPU waits in the memory next to that one, data for a port in the memory next to this one.
  const auto other = facts_.find(to);
  const int numa = other != facts_.end() ? other->second.numa : facts_.at(gpu).numa;
  DecidedPath way{.staged = true};
  if (numa >= 0) way.path = Joined(direct_.at({gpu, numa}), direct_.at({numa, to}));
  return way;
}

void HostPaths::DecidePeers(const Graph& graph) {
  const bool amd = std::ranges::any_of(numas_, [&](int numa) {
    const Cpu* cpu = graph.node(numa).cpu();
    return cpu != nullptr && cpu->vendor == "AuthenticAMD";
  });
  const PathType level = options_.peer_level.value_or(amd && gpus_.size() <= 2 ? PathType::kSys : PathType::kPxb);
  for (const int a : gpus_) {
    for (const int b : gpus_) {
      const Path& direct = direct_.at({a, b});
      const bool near =
          direct.type <= (facts_.at(a).host == facts_.at(b).host ? level : std::min(level, PathType::kNvl));
      const bool peers = near && !options_.peers_refused.contains(std::minmax(a, b));
      DecidedPath way = peers ? DecidedPath{.path = direct} : Staged(a, b);
      const bool intel = std::ranges::any_of(way.path.hops, [&](const Hop& hop) { return intel_.contains(hop.to); });
      if (intel && way.path.type == PathType::kPhb) {
        way.pci_charge = kIntelPeerCharge;
        for (const Hop& hop : way.path.hops) {
          const double charge = pci_links_.contains(hop.link) ? kIntelPeerCharge : 1;
          way.path.gb_per_s = std::min(way.path.gb_per_s, link_gb_per_s_.at(hop.link) / charge);
        }
      }
      peers_[{a, b}] = std::move(way);
    }
  }
}

void HostPaths::MarkP2c() {
  for (const int gpu : gpus_) {
    const int numa = facts_.at(gpu).numa;
    if (numa < 0 || direct_.at({gpu, numa}).type != PathType::kC2c) continue;
    for (const int port : PortsNextTo(gpu, Ways::kDirect)) {
      PathType& type = direct_.at({gpu, port}).type;
      if (direct_.at({numa, port}).type == PathType::kPhb) type = std::min(type, PathType::kP2c);
    }
  }
}

// A GPU next to a port relays for others that reach it by NVLinks, where the port is faster so, or without a CPU between.
void HostPaths::DecideRelays() {
  if (!options_.pxn) return;
  const PathType farthest = options_.pxn_c2c ? PathType::kP2c : PathType::kPxb;
  for (const int port : ports_) {
    const std::optional<int> relay = GpuNextTo(port);
    if (!relay || !AllowsGdr(*relay, port, Direction::kSend)) continue;
    const Path& last = direct_.at({*relay, port});
    if (last.type > farthest || !WithinGdrLevel(last.type)) continue;
    for (const int gpu : gpus_) {
      const Path& direct = direct_.at({gpu, port});
      const Path& first = peers_.at({gpu, *relay}).path;
      if (gpu == *relay || facts_.at(gpu).host != facts_.at(*relay).host || first.type > PathType::kNvl) continue;
      if (last.gb_per_s <= direct.gb_per_s && direct.type <= PathType::kPxn) continue;
      DecidedPath way{.path = Joined(first, last), .relay = *relay};
      way.path.type = PathType::kPxn;
      sends_.at({gpu, port}) = std::move(way);
    }
  }
}

// What cards do not reach themselves goes through host memory.
void HostPaths::DecideStaging() {
  for (const int gpu : gpus_) {
    for (const int port : ports_) {
      for (const Direction direction : {Direction::kSend, Direction::kReceive}) {
        DecidedPath& way = (direction == Direction::kSend ? sends_ : receives_).at({gpu, port});
        if (way.path.type == PathType::kDis || DirectToNetwork(gpu, port, direction)) continue;
        way = Staged(gpu, port);
      }
    }
  }
}

bool HostPaths::WithinGdrLevel(PathType type) const {
  return type <= options_.gdr_level.value_or(options_.gdr_c2c ? PathType::kP2c : PathType::kPxb);
}

bool HostPaths::AllowsGdr(int gpu, int port, Direction direction) const {
  const GpuFacts& facts = facts_.at(gpu);
  if (!facts.gdr || !port_gdr_.at(port)) return false;
  const bool reads_well = facts.sm >= kFirstSmThatReads || facts.has_nvlink || gpus_.size() == 1;
  return direction == Direction::kReceive || options_.gdr_read.value_or(reads_well);
}

std::vector<int> HostPaths::PortsNextTo(int gpu, Ways ways) const {
  return Nearest(ports_, [&](int port) -> const Path& {
    return ways == Ways::kDirect ? direct_.at({gpu, port}) : sends_.at({gpu, port}).path;
  });
}

std::vector<int> HostPaths::GpusNextTo(int port, Ways ways) const {
  return Nearest(gpus_, [&](int gpu) -> const Path& {
    return ways == Ways::kDirect ? direct_.at({gpu, port}) : receives_.at({gpu, port}).path;
  });
}

std::optional<int> HostPaths::ChoosePort(int gpu, int channel, Ways ways) const {
  const std::vector<int> ports = PortsNextTo(gpu, ways);
  if (ports.empty()) return std::nullopt;
  const int count = static_cast<int>(ports.size());
  const int sharers = static_cast<int>(GpusNextTo(ports.front(), ways).size());
  const int each = std::min(options_.ports_per_gpu.value_or((count - 1) / sharers + 1), count);
  int first = facts_.at(gpu).dev % sharers;
  if (std::has_single_bit(static_cast<unsigned>(count))) first = MirrorBits(first, count);
  return ports[static_cast<std::size_t>((first + channel % std::max(each, 1)) % count)];
}

// The first of the GPUs closest to a port that uses it for one of its channels.
std::optional<int> HostPaths::GpuNextTo(int port) const {
  const std::vector<int> gpus = GpusNextTo(port, Ways::kDirect);
  for (int channel = 0; channel < kMostChannels; ++channel) {
    for (const int gpu : gpus) {
      if (ChoosePort(gpu, channel, Ways::kDirect) == port) return gpu;
    }
  }
  return std::nullopt;
}

int HostPaths::NumaOf(int gpu) const { return facts_.at(gpu).numa; }

const Path& HostPaths::Direct(int from_gpu, int to) const { return direct_.at({from_gpu, to}); }

const DecidedPath& HostPaths::Between(int from_gpu, int to_gpu) const { return peers_.at({from_gpu, to_gpu}); }

const DecidedPath& HostPaths::ToPort(int gpu, int port, Direction direction) const {
  return (direction == Direction::kSend ? sends_ : receives_).at({gpu, port});
}

bool HostPaths::PeerToPeer(int a, int b) const {
  const DecidedPath& way = peers_.at({a, b});
  return !way.staged && way.path.type != PathType::kDis;
}

bool HostPaths::DirectToNetwork(int gpu, int port, Direction direction) const {
  const DecidedPath& way = ToPort(gpu, port, direction);
  return AllowsGdr(gpu, port, direction) && WithinGdrLevel(direct_.at({way.relay >= 0 ? way.relay : gpu, port}).type);
}

std::optional<int> HostPaths::PortOf(int gpu, int channel) const { return ChoosePort(gpu, channel, Ways::kDecided); }

std::vector<int> HostsJoinedByNvLinks(const Graph& graph, int host) {
  std::set<int> hosts = {host}, seen;
  std::vector<int> waiting = graph.All(NodeKind::kGpu, host);
  while (!waiting.empty()) {
    const int node = waiting.back();
    waiting.pop_back();
    for (const Neighbour& neighbour : graph.NeighboursOf(node)) {
      const Node& other = graph.node(neighbour.node);
      const Link& link = graph.link(neighbour.link);
      if (link.kind != LinkKind::kNvLink || link.gb_per_s() <= 0) continue;
      if (other.kind == NodeKind::kGpu) hosts.insert(other.host);
      if (other.kind == NodeKind::kNvSwitch && seen.insert(neighbour.node).second) waiting.push_back(neighbour.node);
    }
  }
  return {hosts.begin(), hosts.end()};
}

}  // namespace tutti::topo
