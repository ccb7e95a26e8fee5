// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/paths.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tutti::topo {
namespace {

int Add(Graph& graph, NodeKind kind, int host = 0) { return graph.AddNode({.kind = kind, .host = host}); }

int Join(Graph& graph, int from, int to, LinkKind kind, double gb_per_s) {
  return graph.AddLink({.from = from, .to = to, .kind = kind, .rated_gb_per_s = gb_per_s, .latency_us = 1});
}

// Two sockets. On the first one a switch with a GPU and a card, behind a second switch another GPU; on the other a GPU.
struct Box {
  Graph graph;
  int numa0, numa1, outer, inner, gpu0, gpu1, gpu2, nic, port;
  Box() {
    graph.AddHost("box");
    numa0 = Add(graph, NodeKind::kNumaNode);
    numa1 = Add(graph, NodeKind::kNumaNode);
    outer = Add(graph, NodeKind::kPciSwitch);
    inner = Add(graph, NodeKind::kPciSwitch);
    gpu0 = Add(graph, NodeKind::kGpu);
    gpu1 = Add(graph, NodeKind::kGpu);
    gpu2 = Add(graph, NodeKind::kGpu);
    nic = Add(graph, NodeKind::kNic);
    port = Add(graph, NodeKind::kPort);
    Join(graph, numa0, numa1, LinkKind::kSocket, 10);
    Join(graph, numa0, outer, LinkKind::kPci, 24);
    Join(graph, outer, inner, LinkKind::kPci, 20);
    Join(graph, outer, gpu0, LinkKind::kPci, 24);
    Join(graph, outer, nic, LinkKind::kPci, 24);
    Join(graph, inner, gpu1, LinkKind::kPci, 24);
    Join(graph, numa1, gpu2, LinkKind::kPci, 24);
    Join(graph, nic, port, LinkKind::kLocal, 25);
  }
};

TEST(Paths, TypesAreThoseOfNccl) {
  const Box box;
  const Paths paths(box.graph, box.gpu0);
  EXPECT_EQ(paths.type(box.gpu0), PathType::kLoc);
  EXPECT_EQ(paths.gb_per_s(box.gpu0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(paths.type(box.nic), PathType::kPix);
  EXPECT_EQ(paths.type(box.port), PathType::kPix);
  EXPECT_EQ(paths.type(box.gpu1), PathType::kPxb);
  EXPECT_EQ(paths.gb_per_s(box.gpu1), 20);
  EXPECT_EQ(paths.type(box.numa0), PathType::kPhb);
  EXPECT_EQ(paths.type(box.gpu2), PathType::kSys);
  EXPECT_EQ(paths.gb_per_s(box.gpu2), 10);
  EXPECT_EQ(paths.latency_us(box.gpu2), 4);
  const Path way = paths.To(box.gpu2);
  ASSERT_EQ(way.hops.size(), 4u);
  EXPECT_EQ(way.hops.front().to, box.outer);
  EXPECT_EQ(way.hops.back().to, box.gpu2);
}

TEST(Paths, NvLinksComeFirstAndGoThroughOneGpuAtMost) {
  Box box;
  const int gpu3 = Add(box.graph, NodeKind::kGpu);
  Join(box.graph, box.gpu0, box.gpu1, LinkKind::kNvLink, 40);
  Join(box.graph, box.gpu1, box.gpu2, LinkKind::kNvLink, 40);
  Join(box.graph, box.gpu2, gpu3, LinkKind::kNvLink, 40);
  Join(box.graph, box.numa1, gpu3, LinkKind::kPci, 24);
  const Paths paths(box.graph, box.gpu0);
  EXPECT_EQ(paths.type(box.gpu1), PathType::kNvl);
  EXPECT_EQ(paths.type(box.gpu2), PathType::kNvb);
  EXPECT_EQ(paths.gb_per_s(box.gpu2), 40);
  EXPECT_EQ(paths.type(gpu3), PathType::kSys);                           // two GPUs would be between
  EXPECT_EQ(Paths(box.graph, box.port).type(box.gpu1), PathType::kPxb);  // and no card goes through a GPU
}

// Of a type the fastest, although it is longer, and of equal rates the one with fewer hops.
TEST(Paths, TheWidestOfATypeIsTaken) {
  Graph graph;
  const int a = Add(graph, NodeKind::kGpu), b = Add(graph, NodeKind::kGpu), one = Add(graph, NodeKind::kNvSwitch),
            two = Add(graph, NodeKind::kNvSwitch), three = Add(graph, NodeKind::kNvSwitch);
  Join(graph, a, b, LinkKind::kNvLink, 20);
  Join(graph, a, one, LinkKind::kNvLink, 30);
  Join(graph, one, two, LinkKind::kNvLink, 30);
  Join(graph, two, b, LinkKind::kNvLink, 30);
  Join(graph, a, three, LinkKind::kNvLink, 30);
  Join(graph, three, b, LinkKind::kNvLink, 30);
  const Path path = Paths(graph, a).To(b);
  EXPECT_EQ(path.gb_per_s, 30);
  ASSERT_EQ(path.hops.size(), 2u);
  EXPECT_EQ(path.hops[0].to, three);
}

TEST(Paths, TheNetworkAndWhatCannotBeReached) {
  Box first;
  const Box second;
  const int offset = Append(second.graph, first.graph);
  EXPECT_EQ(first.graph.hosts().size(), 2u);
  EXPECT_EQ(first.graph.node(second.gpu0 + offset).host, 1);
  const int far = second.gpu0 + offset;
  EXPECT_EQ(Paths(first.graph, first.gpu0).type(far), PathType::kDis);
  EXPECT_TRUE(Paths(first.graph, first.gpu0).To(far).hops.empty());
  const int leaf = Add(first.graph, NodeKind::kNetworkSwitch, -1);
  Join(first.graph, first.port, leaf, LinkKind::kNetwork, 12);
  const int dead = Join(first.graph, second.port + offset, leaf, LinkKind::kNetwork, 0);
  EXPECT_EQ(Paths(first.graph, first.gpu0).type(far), PathType::kDis);
  first.graph.link(dead).measured_gb_per_s = 11;
  EXPECT_EQ(Paths(first.graph, first.gpu0).type(far), PathType::kNet);
  EXPECT_EQ(Paths(first.graph, first.gpu0).gb_per_s(far), 11);
}

TEST(Paths, NamesAreReadInAnyLetters) {
  for (int t = 0; t < kPathTypes; ++t) {
    const auto type = static_cast<PathType>(t);
    EXPECT_EQ(PathTypeFrom(ToString(type)), type);
  }
  EXPECT_EQ(PathTypeFrom("pix"), PathType::kPix);
  EXPECT_EQ(PathTypeFrom("PI"), std::nullopt);
}

}  // namespace
}  // namespace tutti::topo
