// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/close_cards.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/words.h"
#include "comm/agree/host_graph.h"
#include "sys/os/text_file.h"
#include "topo/channels.h"
#include "topo/paths.h"
#include "topo/policy.h"

namespace tutti::comm {
namespace {

using topo::Graph;
using topo::NodeKind;

constexpr int kMostCpu = 65535;
constexpr int kBitsOfWord = 32;  // of a mask of CPUs

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// The CPUs of "ffff,ffffffff", of which the last word has the lowest.
std::set<int> CpusOfMask(std::string_view mask) {
  std::set<int> cpus;
  std::vector<std::string_view> words = Split(mask, ',');
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t bits = ParseNumber<std::uint32_t>(words[words.size() - 1 - i], 16).value_or(0);
    for (int bit = 0; bit < kBitsOfWord; ++bit) {
      if ((bits >> bit & 1) != 0) cpus.insert(static_cast<int>(i) * kBitsOfWord + bit);
    }
  }
  return cpus;
}

// The NUMA node that has all of these CPUs.
std::optional<int> NumaOf(const HostGraph& host, std::span<const int> cpus) {
  if (cpus.empty()) return std::nullopt;
  for (const int numa : host.graph.All(NodeKind::kNumaNode, host.host)) {
    const topo::Cpu* const cpu = host.graph.node(numa).cpu();
    if (cpu == nullptr) continue;
    const std::set<int> own = CpusOfMask(cpu->affinity);
    if (std::ranges::all_of(cpus, [&](int one) { return own.contains(one); })) return numa;
  }
  return std::nullopt;
}

std::string_view WithoutFunction(std::string_view bus_id) { return bus_id.substr(0, bus_id.find('.')); }

// The ports of a card: those of its PCI device, or those with its names.
std::vector<int> PortsOf(const HostGraph& host, const CardId& card) {
  const Graph& graph = host.graph;
  std::vector<int> ports;
  for (const int port : graph.All(NodeKind::kPort, host.host)) {
    for (const topo::Neighbour& neighbour : graph.NeighboursOf(port)) {
      const topo::Node& nic = graph.node(neighbour.node);
      if (nic.kind != NodeKind::kNic || card.bus_id.empty() || nic.pci.bus_id.empty()) continue;
      if (WithoutFunction(nic.pci.bus_id) == WithoutFunction(card.bus_id)) ports.push_back(port);
    }
  }
  if (!ports.empty()) return ports;
  for (const std::string_view name : Split(card.name, '+')) {
    for (const int port : graph.All(NodeKind::kPort, host.host)) {
      if (graph.node(port).port()->name == name) ports.push_back(port);
    }
  }
  return ports;
}

// By which port a GPU leaves the host in given rings, or comes in.
std::optional<int> GivenPort(const topo::Channels* given, int gpu) {
  if (given == nullptr) return std::nullopt;
  for (const topo::ChannelOrder& channel : given->channels) {
    if (channel.gpus.empty()) continue;
    if (channel.port_in && channel.gpus.front() == gpu) return channel.port_in;
    if (channel.port_out && channel.gpus.back() == gpu) return channel.port_out;
  }
  return std::nullopt;
}

// How close a card is: less is closer.
struct Rank {
  bool chosen = false;  // by NCCL's rule or a file
  double gb_per_s = 0;
  topo::PathType type = topo::PathType::kDis;

  bool operator<(const Rank& other) const {
    if (chosen != other.chosen) return chosen;
    if (gb_per_s != other.gb_per_s) return gb_per_s > other.gb_per_s;
    return type < other.type;
  }
};

CloseCards Sorted(std::span<const Rank> ranks) {
  CloseCards close;
  close.order.resize(ranks.size());
  std::iota(close.order.begin(), close.order.end(), 0);
  std::ranges::stable_sort(close.order, [&](int a, int b) {
    return ranks[static_cast<std::size_t>(a)] < ranks[static_cast<std::size_t>(b)];
  });
  for (const Rank& rank : ranks) close.types.emplace_back(topo::ToString(rank.type));
  return close;
}

CloseCards AsTheyAre(std::size_t cards) {
  CloseCards close;
  close.order.resize(cards);
  std::iota(close.order.begin(), close.order.end(), 0);
  return close;
}

}  // namespace

CloseCards OrderByCloseness(const Settings& settings, const HostGraph& host, std::span<const CardId> cards,
                            const DataPlace& place, const topo::Channels* given) {
  std::vector<std::vector<int>> ports;
  for (const CardId& card : cards) ports.push_back(PortsOf(host, card));
  if (std::ranges::any_of(ports, [](const auto& of_card) { return of_card.empty(); })) return AsTheyAre(cards.size());
  std::vector<Rank> ranks(cards.size());
  const std::optional<int> gpu = host.graph.FindBusId(host.host, place.gpu_bus_id);
  if (gpu && host.graph.node(*gpu).gpu() != nullptr) {
    const topo::HostPaths paths(host.graph, std::span(&host.host, 1), PolicyOf(settings, host));
    const std::optional<int> wanted = GivenPort(given, *gpu), usual = paths.PortOf(*gpu, 0);
    const auto has = [&](std::optional<int> port) {
      return port && std::ranges::any_of(ports, [&](const auto& own) { return std::ranges::count(own, *port) > 0; });
    };
    const std::optional<int> chosen = has(wanted) ? wanted : usual;
    for (std::size_t i = 0; i < cards.size(); ++i) {
      for (const int port : ports[i]) {
        const topo::Path& path = paths.Direct(*gpu, port);
        ranks[i] = std::min(ranks[i], Rank{chosen == port, path.gb_per_s, path.type});
      }
    }
    CloseCards close = Sorted(ranks);
    const std::vector<int>& first = ports[static_cast<std::size_t>(close.order.front())];
    close.reads = paths.DirectToNetwork(*gpu, first.front(), topo::Direction::kSend);
    close.writes = paths.DirectToNetwork(*gpu, first.front(), topo::Direction::kReceive);
    return close;
  }
  const std::optional<int> numa = place.gpu_bus_id.empty() ? NumaOf(host, place.cpus) : std::nullopt;
  if (!numa) return AsTheyAre(cards.size());
  const topo::Paths paths(host.graph, *numa);
  for (std::size_t i = 0; i < cards.size(); ++i) {
    for (const int port : ports[i]) ranks[i].type = std::min(ranks[i].type, paths.type(port));
  }
  return Sorted(ranks);
}

int ShareOf(const CloseCards& close, const DataPlace& place) {
  std::size_t alike = close.order.size();
  if (!close.types.empty()) {
    if (!place.gpu_bus_id.empty()) return close.order.front();
    const std::string& closest = close.types[static_cast<std::size_t>(close.order.front())];
    alike = static_cast<std::size_t>(std::ranges::count(close.types, closest));
  }
  return close.order[static_cast<std::size_t>(place.index) % alike];
}

std::vector<int> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  for (const std::string_view part : Split(Trim(text), ',')) {
    const std::size_t dash = part.find('-');
    const std::optional<int> first = ParseNumber<int>(Trim(part.substr(0, dash)));
    const std::optional<int> last =
        dash == std::string_view::npos ? first : ParseNumber<int>(Trim(part.substr(dash + 1)));
    if (!first || !last || *first < 0) continue;
    for (int cpu = *first; cpu <= std::min(*last, kMostCpu); ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> OwnCpus() {
  constexpr std::string_view kLine = "Cpus_allowed_list:";
  const Result<std::string> status = sys::ReadFile("/proc/thread-self/status");
  std::string_view rest = status.ok() ? std::string_view(*status) : std::string_view();
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    if (line.starts_with(kLine)) return ParseCpuList(line.substr(kLine.size()));
  }
  return {};
}

}  // namespace tutti::comm
