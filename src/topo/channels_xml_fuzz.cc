// Copyright 2026 The Tutti Authors SPDX-License-Identifier: Apache-2.0 Feeds arbitrary text to the reader of graph
// files, for a machine of two hosts with two GPUs and two ports each. What is taken must name nodes of the machine, and
// say the same when it is written and read again; what is refused needs a sentence of one line and bounded length.
//
// Canary: a planted fault (a channel that begins with another GPU than those of the seeds "crashes") must be found.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "topo/channels_xml.h"

namespace tutti::topo {
namespace {

constexpr std::size_t kMostSentence = 500;

void Require(bool condition) {
  if (!condition) std::abort();
}

Graph TwoHosts() {
  Graph graph;
  for (int host = 0; host < 2; ++host) {
    graph.AddHost("");
    for (int dev = 0; dev < 2; ++dev) {
      graph.AddNode({.kind = NodeKind::kGpu, .host = host, .is = Gpu{.dev = dev, .rank = 2 * host + dev}});
      graph.AddNode({.kind = NodeKind::kPort, .host = host, .is = Port{.dev = dev}});
    }
  }
  return graph;
}

void Check(std::string_view text) {
  static const Graph graph = TwoHosts();
  const Result<std::vector<Channels>> read = ReadChannelsXml(text, "file", graph);
  if (!read.ok()) {
    const std::string& sentence = read.status().message();
    Require(sentence.starts_with("file") && sentence.size() < kMostSentence &&
            sentence.find('\n') == std::string::npos);
    return;
  }
  for (const Channels& channels : *read) {
    for (const ChannelOrder& order : channels.channels) {
      Require(!order.gpus.empty());
      for (const int gpu : order.gpus) Require(graph.node(gpu).gpu() != nullptr);
      Require(!order.port_in || graph.node(*order.port_in).port() != nullptr);
      Require(!order.port_out || graph.node(*order.port_out).port() != nullptr);
#ifdef TUTTI_FUZZ_CANARY
      Require(graph.node(order.gpus.front()).gpu()->rank != 3);
#endif
    }
  }
  const std::string written = WriteChannelsXml(*read, graph);
  const Result<std::vector<Channels>> again = ReadChannelsXml(written, "file", graph);
  Require(again.ok() && WriteChannelsXml(*again, graph) == written);
}

}  // namespace
}  // namespace tutti::topo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::topo::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
