// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/topo_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "topo/paths.h"

namespace tutti::tools {
namespace {

using topo::Graph;
using topo::Link;
using topo::LinkKind;
using topo::Node;
using topo::NodeKind;
using topo::Paths;
using topo::PathType;

// The order among nodes that hang below the same one.
int OrderOf(NodeKind kind) {
  constexpr std::array<int, topo::kNodeKinds> kOrder = {2, 4, 1, 0, 5, 3, 3, 6};
  return kOrder[static_cast<std::size_t>(kind)];
}

bool HangsBelow(const Link& link, const Node& below) {
  if (link.kind == LinkKind::kLocal) return below.kind == NodeKind::kPort;
  if (link.kind == LinkKind::kC2c) return below.kind == NodeKind::kGpu;
  return link.kind == LinkKind::kPci && below.kind != NodeKind::kNumaNode;
}

// NVLinks that lead from a GPU to another one, by themselves or by switches; 0: none.
int NvLinksBetween(const Graph& graph, int from, int to) {
  int direct = 0, up = 0, down = 0;
  for (const topo::Neighbour& neighbour : graph.NeighboursOf(from)) {
    const Link& link = graph.link(neighbour.link);
    if (link.kind != LinkKind::kNvLink || link.gb_per_s() <= 0) continue;
    if (neighbour.node == to) direct += link.count;
    if (graph.node(neighbour.node).kind != NodeKind::kNvSwitch) continue;
    for (const topo::Neighbour& end : graph.NeighboursOf(neighbour.node)) {
      if (end.node != to || graph.link(end.link).gb_per_s() <= 0) continue;
      up += link.count;
      down += graph.link(end.link).count;
    }
  }
  return direct + std::min(up, down);
}

std::string Relation(const Graph& graph, const Paths& paths, int from, int to) {
  if (from == to) return " X ";
  const bool gpus = graph.node(from).kind == NodeKind::kGpu && graph.node(to).kind == NodeKind::kGpu;
  if (const int links = gpus ? NvLinksBetween(graph, from, to) : 0; links > 0) return fmt::format("NV{}", links);
  const PathType type = paths.type(to);
  if (type != PathType::kPhb) return std::string(topo::ToString(type));
  const std::string &one = graph.node(from).pci.host_bridge, &other = graph.node(to).pci.host_bridge;
  return !one.empty() && !other.empty() && one != other ? "NODE" : "PHB";
}

std::string HeadOf(const Graph& graph, int node, int number) {
  const Node& n = graph.node(node);
  return n.gpu() != nullptr ? fmt::format("GPU{}", n.gpu()->dev) : fmt::format("NIC{}", number);
}

std::string RateOf(const Link& link) {
  const std::string count = link.count > 1 ? fmt::format("{} ", link.count) : "";
  return fmt::format("{}{} {:.4g} GB/s{}", count, topo::ToString(link.kind), link.gb_per_s(),
                     link.measured_gb_per_s > 0 ? " measured" : "");
}

std::string About(const Graph& graph, int node) {
  const Node& n = graph.node(node);
  std::string text = n.name.empty() ? std::string(topo::ToString(n.kind)) : n.name;
  if (!n.pci.bus_id.empty()) text += " " + n.pci.bus_id;
  if (n.gpu() != nullptr) {
    if (!n.gpu()->name.empty()) text += ", " + n.gpu()->name;
    if (n.gpu()->sm > 0) text += fmt::format(", compute capability {}.{}", n.gpu()->sm / 10, n.gpu()->sm % 10);
    for (const topo::Neighbour& neighbour : graph.NeighboursOf(node)) {
      const Link& link = graph.link(neighbour.link);
      if (link.kind != LinkKind::kNvLink) continue;
      const Node& end = graph.node(neighbour.node);
      text += fmt::format(", {} to {}", RateOf(link), end.name.empty() ? topo::ToString(end.kind) : end.name);
    }
  }
  if (n.port() != nullptr) {
    text += n.port()->gbit_per_s > 0 ? fmt::format(", {:g} Gbit/s", n.port()->gbit_per_s) : ", speed not known";
    if (n.port()->gdr) text += ", GPUDirect";
  }
  if (n.kind == NodeKind::kNumaNode && n.cpu() != nullptr) {
    const topo::Cpu& cpu = *n.cpu();
    if (!cpu.vendor.empty()) text += fmt::format(", {} {}/{}", cpu.vendor, cpu.family, cpu.model);
    if (!cpu.affinity.empty()) text += ", cores by mask " + cpu.affinity;
  }
  return text;
}

// GPUs, then cards, each in the order of their numbers.
std::vector<int> Shown(const Graph& graph, int host) {
  std::vector<int> shown = graph.All(NodeKind::kGpu, host);
  std::ranges::stable_sort(shown, {}, [&](int gpu) { return graph.node(gpu).gpu()->dev; });
  const std::vector<int> cards = graph.All(NodeKind::kNic, host);
  shown.insert(shown.end(), cards.begin(), cards.end());
  return shown;
}

std::string NumaOf(const Node& node) { return node.numa < 0 ? "N/A" : fmt::format("{}", node.numa); }

}  // namespace

std::vector<TreeEntry> TreeOf(const Graph& graph, int host) {
  std::vector<TreeEntry> tree;
  std::vector<bool> seen(graph.nodes().size(), false);
  const auto add = [&](const TreeEntry& root) {
    std::vector<TreeEntry> waiting = {root};
    while (!waiting.empty()) {
      const TreeEntry entry = waiting.back();
      waiting.pop_back();
      if (seen[static_cast<std::size_t>(entry.node)]) continue;
      seen[static_cast<std::size_t>(entry.node)] = true;
      const int place = static_cast<int>(tree.size());
      tree.push_back(entry);
      std::vector<TreeEntry> below;
      for (const topo::Neighbour& neighbour : graph.NeighboursOf(entry.node)) {
        if (!HangsBelow(graph.link(neighbour.link), graph.node(neighbour.node))) continue;
        below.push_back({.node = neighbour.node, .parent = place, .link = neighbour.link, .depth = entry.depth + 1});
      }
      std::ranges::stable_sort(below, std::ranges::greater(),
                               [&](const TreeEntry& e) { return std::pair(OrderOf(graph.node(e.node).kind), e.node); });
      waiting.insert(waiting.end(), below.begin(), below.end());
    }
  };
  for (const int numa : graph.All(NodeKind::kNumaNode, host)) add({.node = numa});
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    if (graph.node(static_cast<int>(i)).host == host) add({.node = static_cast<int>(i)});
  }
  return tree;
}

std::string FormatMatrix(const Graph& graph, int host) {
  const std::vector<int> shown = Shown(graph, host);
  if (shown.empty()) return "There is no GPU and no network card.\n";
  constexpr int kWidth = 8;
  std::string text = fmt::format("{:{}}", "", kWidth);
  std::vector<std::string> heads;
  for (int cards = 0; const int node : shown) {
    heads.push_back(HeadOf(graph, node, graph.node(node).gpu() != nullptr ? 0 : cards++));
    text += fmt::format("{:{}}", heads.back(), kWidth);
  }
  text += "NUMA node\n";
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Paths paths(graph, shown[i]);
    text += fmt::format("{:{}}", heads[i], kWidth);
    for (const int to : shown) text += fmt::format("{:{}}", Relation(graph, paths, shown[i], to), kWidth);
    text += NumaOf(graph.node(shown[i])) + "\n";
  }
  text +=
      "\nX  itself   NV#  so many NVLinks   PIX  at most one PCI switch   PXB  several PCI switches\n"
      "PHB  a host bridge, as a rule the CPU   NODE  host bridges of one NUMA node   SYS  from one NUMA node to "
      "another\n"
      "C2C  NVLink between GPU and CPU   NVB  NVLinks through another GPU   DIS  no way\n";
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Node& node = graph.node(shown[i]);
    if (node.kind == NodeKind::kNic) text += fmt::format("{}: {}\n", heads[i], About(graph, shown[i]));
  }
  return text;
}

std::string FormatTree(const Graph& graph, int host) {
  std::string text;
  for (const TreeEntry& entry : TreeOf(graph, host)) {
    const std::string above = entry.link >= 0 ? fmt::format("  [{}]", RateOf(graph.link(entry.link))) : "";
    text += fmt::format("{:{}}{}{}\n", "", 2 * entry.depth, About(graph, entry.node), above);
  }
  for (const Link& link : graph.links()) {
    const Node &from = graph.node(link.from), &to = graph.node(link.to);
    if (link.kind != LinkKind::kSocket || from.host != host) continue;
    text += fmt::format("{} - {}  [{}]\n", from.name, to.name, RateOf(link));
  }
  return text;
}

Json TopologyAsJson(const Graph& graph) {
  Json nodes = Json::Array(), links = Json::Array();
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.node(static_cast<int>(i));
    Json one = {{"node", i}, {"kind", topo::ToString(node.kind)}, {"name", node.name}, {"host", node.host}};
    if (node.numa >= 0) one["numa"] = node.numa;
    if (!node.pci.bus_id.empty()) one["bus_id"] = node.pci.bus_id;
    if (!node.pci.link_speed.empty()) one["link_speed"] = node.pci.link_speed;
    if (node.pci.link_width > 0) one["link_width"] = node.pci.link_width;
    if (const topo::Gpu* gpu = node.gpu()) {
      one["gpu"] =
          Json{{"dev", gpu->dev}, {"sm", gpu->sm}, {"model", gpu->name}, {"uuid", gpu->uuid}, {"gdr", gpu->gdr}};
    }
    if (const topo::Port* port = node.port()) {
      one["port"] = Json{
          {"dev", port->dev}, {"gbit_per_s", port->gbit_per_s}, {"latency_us", port->latency_us}, {"gdr", port->gdr}};
    }
    nodes.Append(std::move(one));
  }
  for (const Link& link : graph.links()) {
    links.Append(Json{{"from", link.from},
                      {"to", link.to},
                      {"kind", topo::ToString(link.kind)},
                      {"count", link.count},
                      {"rated_gb_per_s", link.rated_gb_per_s},
                      {"measured_gb_per_s", link.measured_gb_per_s},
                      {"latency_us", link.latency_us}});
  }
  std::vector<std::string> hosts(graph.hosts().begin(), graph.hosts().end());
  return Json{{"name", graph.name}, {"hosts", Json(hosts)}, {"nodes", std::move(nodes)}, {"links", std::move(links)}};
}

}  // namespace tutti::tools
