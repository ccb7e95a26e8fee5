// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/routes.h"

#include <utility>

#include "sim/boxes.h"
#include "sim/fabric.h"

namespace tutti::sim {

Router::Router(const topo::Graph& graph, std::vector<int> nodes, const RoutingOptions& options)
    : graph_(graph), nodes_(std::move(nodes)), options_(options) {
  Forget();
}

Router::~Router() = default;

std::span<const topo::Neighbour> Router::Next(int node, int to_port) { return fabric_->Next(node, to_port); }

void Router::Forget() {
  fabric_ = std::make_unique<Fabric>(graph_);
  boxes_ = std::make_unique<Boxes>(graph_, nodes_, options_.policy);
  known_.clear();
}

std::uint32_t Router::Find(const Flow& flow) {
  const bool by_flow = options_.routing == Routing::kHash && boxes_->BoxOf(flow.from) != boxes_->BoxOf(flow.to);
  std::uint64_t key = 0;
  for (const int part : {flow.from, flow.to, flow.channel, flow.from_port, flow.to_port}) {
    key = Mix(key + static_cast<std::uint32_t>(part));
  }
  if (by_flow) key = Mix(key + flow.number);
  const auto [known, fresh] = known_.try_emplace(key, kNoRoute);
  if (fresh) known->second = Add(flow);
  return known->second;
}

std::uint32_t Router::Add(const Flow& flow) {
  Route route{.first = static_cast<std::uint32_t>(hops_.size())};
  const auto append = [this](const Boxes::Way& way) { hops_.insert(hops_.end(), way.arcs.begin(), way.arcs.end()); };
  if (const std::optional<Boxes::Way> inside = boxes_->Between(flow.from, flow.to)) {
    append(*inside);
    route.pci_charge = static_cast<float>(inside->pci_charge);
  } else {
    const std::optional<Ports> ports = ChoosePorts(flow);
    if (!ports) return kNoRoute;
    const std::optional<Boxes::Way> out = boxes_->ToPort(flow.from, ports->from, topo::Direction::kSend);
    const std::optional<Boxes::Way> in = boxes_->ToPort(flow.to, ports->to, topo::Direction::kReceive);
    if (!out || !in) return kNoRoute;
    append(*out);
    if (!AppendNetwork(flow, *ports)) return kNoRoute;
    append(*in);
    route.network = true;
    route.from_port = ports->from;
    route.to_port = ports->to;
  }
  route.count = static_cast<std::uint32_t>(hops_.size()) - route.first;
  routes_.push_back(route);
  return static_cast<std::uint32_t>(routes_.size()) - 1;
}

std::uint32_t Router::AddWay(std::span<const topo::Arc> arcs) {
  routes_.push_back(
      {.first = static_cast<std::uint32_t>(hops_.size()), .count = static_cast<std::uint32_t>(arcs.size())});
  hops_.insert(hops_.end(), arcs.begin(), arcs.end());
  return static_cast<std::uint32_t>(routes_.size()) - 1;
}

std::optional<Router::Ports> Router::ChoosePorts(const Flow& flow) {
  Ports ports{.from = flow.from_port >= 0 ? flow.from_port : boxes_->PortOf(flow.from, flow.channel).value_or(-1),
              .to = flow.to_port >= 0 ? flow.to_port : boxes_->PortOf(flow.to, flow.channel).value_or(-1)};
  if (ports.from < 0 || ports.to < 0) return std::nullopt;
  std::optional<int> distance = fabric_->Distance(ports.from, ports.to);
  const bool named = flow.from_port >= 0;
  if (distance && (named || options_.cross_rail == CrossRail::kNetwork)) return ports;
  // The receiver's own port first; others of its box only where there is no way otherwise.
  std::vector<int> receivers = {ports.to};
  for (const int port : boxes_->PortsOf(boxes_->BoxOf(flow.to))) receivers.push_back(port);
  for (const int to : receivers) {
    if (distance && to != ports.to) break;
    for (const int from : boxes_->PortsOf(boxes_->BoxOf(flow.from))) {
      const std::optional<int> found = fabric_->Distance(from, to);
      if (!found || (distance && *found >= *distance)) continue;
      if (!boxes_->ToPort(flow.from, from, topo::Direction::kSend)) continue;
      distance = found;
      ports = {.from = from, .to = to};
    }
  }
  return distance ? std::optional(ports) : std::nullopt;
}

bool Router::AppendNetwork(const Flow& flow, const Ports& ports) {
  if (!fabric_->known()) return true;
  if (options_.routing == Routing::kAdaptive) {
    hops_.push_back(kChosen);
    return true;
  }
  const std::uint64_t hash = Mix(Mix(Mix(flow.number + options_.seed) + static_cast<std::uint32_t>(ports.from)) +
                                 static_cast<std::uint32_t>(ports.to));
  for (int node = ports.from; node != ports.to;) {
    const std::span<const topo::Neighbour> next = fabric_->Next(node, ports.to);
    if (next.empty()) return false;
    const topo::Neighbour chosen = next[Mix(hash + static_cast<std::uint64_t>(node)) % next.size()];
    hops_.push_back(2 * chosen.link + (graph_.link(chosen.link).to == chosen.node ? 0 : 1));
    node = chosen.node;
  }
  return true;
}

}  // namespace tutti::sim
