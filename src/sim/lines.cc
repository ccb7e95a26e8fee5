// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/lines.h"

#include <algorithm>
#include <utility>

namespace tutti::sim {
namespace {

// What decides ways.
topo::Node WithoutTexts(const topo::Node& node) {
  topo::Node bare{.kind = node.kind, .host = node.host, .numa = node.numa, .is = node.is};
  if (auto* gpu = std::get_if<topo::Gpu>(&bare.is)) gpu->name = gpu->uuid = {};
  if (auto* port = std::get_if<topo::Port>(&bare.is)) port->name = {};
  if (auto* cpu = std::get_if<topo::Cpu>(&bare.is)) cpu->affinity = {};
  return bare;
}

}  // namespace

Lines::Lines(const topo::Graph& machine) {
  for (std::size_t i = 0; i < machine.hosts().size(); ++i) graph.AddHost({});
  for (const topo::Node& node : machine.nodes()) graph.AddNode(WithoutTexts(node));
  for (topo::Link link : machine.links()) {
    first_.push_back(static_cast<int>(graph.links().size()));
    const int lines = link.kind == topo::LinkKind::kNetwork ? std::max(link.count, 1) : 1;
    link.count /= lines;
    link.rated_gb_per_s /= lines;
    link.measured_gb_per_s /= lines;
    for (int line = 0; line < lines; ++line) graph.AddLink(link);
  }
  first_.push_back(static_cast<int>(graph.links().size()));
}

}  // namespace tutti::sim
