// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/graph.h"

#include <array>
#include <utility>

namespace tutti::topo {

std::string_view ToString(NodeKind kind) {
  constexpr std::array<std::string_view, kNodeKinds> kNames = {"GPU", "NVSwitch", "PCI switch", "NUMA node",
                                                               "CPU", "NIC",      "port",       "network switch"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view ToString(LinkKind kind) {
  constexpr std::array<std::string_view, kLinkKinds> kNames = {"local", "NVLink", "C2C", "PCI", "socket", "network"};
  return kNames[static_cast<std::size_t>(kind)];
}

int Graph::AddNode(Node node) {
  nodes_.push_back(std::move(node));
  neighbours_.emplace_back();
  return static_cast<int>(nodes_.size()) - 1;
}

int Graph::AddLink(const Link& link) {
  const int index = static_cast<int>(links_.size());
  links_.push_back(link);
  neighbours_[static_cast<std::size_t>(link.from)].push_back({.node = link.to, .link = index});
  neighbours_[static_cast<std::size_t>(link.to)].push_back({.node = link.from, .link = index});
  return index;
}

int Graph::AddHost(std::string name) {
  hosts_.push_back(std::move(name));
  return static_cast<int>(hosts_.size()) - 1;
}

std::vector<int> Graph::All(NodeKind kind, std::optional<int> host) const {
  std::vector<int> all;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].kind == kind && (!host || nodes_[i].host == *host)) all.push_back(static_cast<int>(i));
  }
  return all;
}

std::optional<int> Graph::GpuOf(int host, int dev) const {
  for (const int gpu : All(NodeKind::kGpu, host)) {
    if (node(gpu).gpu()->dev == dev) return gpu;
  }
  return std::nullopt;
}

std::optional<int> Graph::PortOf(int host, int dev) const {
  for (const int port : All(NodeKind::kPort, host)) {
    if (node(port).port()->dev == dev) return port;
  }
  return std::nullopt;
}

std::optional<int> Graph::FindBusId(int host, std::string_view bus_id) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].host == host && !bus_id.empty() && nodes_[i].pci.bus_id == bus_id) return static_cast<int>(i);
  }
  return std::nullopt;
}

int Append(const Graph& part, Graph& graph) {
  const int first_node = static_cast<int>(graph.nodes().size());
  const int first_host = static_cast<int>(graph.hosts().size());
  for (const std::string& host : part.hosts()) graph.AddHost(host);
  for (Node node : part.nodes()) {
    if (node.host >= 0) node.host += first_host;
    graph.AddNode(std::move(node));
  }
  for (Link link : part.links()) {
    link.from += first_node;
    link.to += first_node;
    graph.AddLink(link);
  }
  return first_node;
}

}  // namespace tutti::topo
