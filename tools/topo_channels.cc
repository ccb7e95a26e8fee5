// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/topo_channels.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "topo/channels_xml.h"
#include "topo/search.h"

namespace tutti::tools {
namespace {

struct Found {
  topo::SearchResult rings, trees;
};

Result<Found> Search(const topo::Graph& graph, const topo::PolicyOptions& policy) {
  const std::vector<int> gpus = graph.All(topo::NodeKind::kGpu);
  if (gpus.empty()) return Status(Code::kInvalidArgument, "there is no GPU, so there are no channels");
  const Result<topo::Placement> placement = topo::Placement::Make(graph, gpus, policy);
  if (!placement.ok()) return placement.status();
  Result<topo::SearchResult> rings = topo::SearchRings(*placement), trees = topo::SearchTrees(*placement);
  if (!rings.ok()) return rings.status();
  if (!trees.ok()) return trees.status();
  return Found{std::move(*rings), std::move(*trees)};
}

std::string NameOf(const topo::Graph& graph, int node) {
  const topo::Node& n = graph.node(node);
  return n.name.empty() ? std::string(topo::ToString(n.kind)) : n.name;
}

// One order of a host: "nic0 > 0 1 2 3 > nic3".
std::string OrderOf(const topo::Graph& graph, const topo::ChannelOrder& order) {
  std::string text;
  if (order.port_in) text += NameOf(graph, *order.port_in) + " > ";
  for (std::size_t i = 0; i < order.gpus.size(); ++i) {
    if (i > 0) text += " ";
    text += fmt::format("{}", graph.node(order.gpus[i]).gpu()->dev);
    if (!order.parents.empty() && order.parents[i] >= 0) {
      text += fmt::format("^{}", graph.node(order.gpus[static_cast<std::size_t>(order.parents[i])]).gpu()->dev);
    }
  }
  if (order.port_out) text += " > " + NameOf(graph, *order.port_out);
  return text;
}

std::string Describe(const topo::Graph& graph, const char* kind, const topo::SearchResult& result) {
  const std::size_t channels = result.boxes.front().channels.channels.size();
  std::string text =
      fmt::format("{}: {} channel{}; the links let a large all_reduce reach {:.4g} GB/s of bus bandwidth", kind,
                  channels, channels == 1 ? "" : "s", result.prediction.gb_per_s);
  if (std::isfinite(result.bound_gb_per_s)) text += fmt::format(", at most {:.4g}", result.bound_gb_per_s);
  if (!result.finished) text += " (the search has ended by its budget)";
  if (result.prediction.link >= 0) {
    const topo::Link& link = graph.link(result.prediction.link);
    text += fmt::format("\n  bound by {} - {} ({} {:.4g} GB/s)", NameOf(graph, link.from), NameOf(graph, link.to),
                        topo::ToString(link.kind), link.gb_per_s());
  }
  text += "\n";
  for (std::size_t c = 0; c < channels; ++c) {
    text += fmt::format("  {:>2}: {}\n", c, OrderOf(graph, result.boxes.front().channels.channels[c]));
  }
  return text;
}

}  // namespace

Result<std::string> FormatChannels(const topo::Graph& graph, const topo::PolicyOptions& policy) {
  const Result<Found> found = Search(graph, policy);
  if (!found.ok()) return found.status();
  return Describe(graph, "rings", found->rings) + Describe(graph, "trees", found->trees);
}

Result<std::string> ChannelsAsXml(const topo::Graph& graph, int host, const topo::PolicyOptions& policy) {
  const Result<Found> found = Search(graph, policy);
  if (!found.ok()) return found.status();
  std::vector<topo::Channels> channels;
  for (const topo::SearchResult* result : {&found->rings, &found->trees}) {
    for (const topo::BoxChannels& box : result->boxes) {
      if (graph.node(box.channels.channels.front().gpus.front()).host != host) continue;
      channels.push_back(topo::ForBlocks(box.channels));
      break;
    }
  }
  return topo::WriteChannelsXml(channels, graph);
}

}  // namespace tutti::tools
