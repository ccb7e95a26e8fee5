// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/complete.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/discovered.h"
#include "tests/support/rendered_machines.h"
#include "topo/paths.h"
#include "topo/topology_xml.h"

namespace tutti::topo {
namespace {

using tests::RenderedHost;

// So many switches of an HGX as a cloud describes them: bus ids, classes and what hangs below what.
std::string CloudFile(int count = 2) {
  std::string switches;
  for (int s = 1; s <= count; ++s) {
    std::string devices;
    for (int i = 0; i < 4; ++i) {
      devices +=
          fmt::format("<pci busid=\"0000:{}{}:00.0\" class=\"{}\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"/>\n",
                      s, i + 3, i < 2 ? "0x030200" : "0x020700");
    }
    switches += fmt::format(
        "<pci busid=\"ffff:ff:0{}.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n{}</pci>\n",
        s, devices);
  }
  return "<system version=\"1\">\n<cpu numaid=\"0\" affinity=\"f\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
         "familyid=\"6\" "
         "modelid=\"143\">\n" +
         switches + "</cpu>\n</system>\n";
}

Graph Read(const std::string& text) {
  Result<TopologyXml> read = ReadTopologyXml(text, "cloud.xml");
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? std::move(read->graph) : Graph();
}

TEST(Complete, WhatAFileLeavesOutComesFromTheSystem) {
  RenderedHost host;
  tests::AddHgx(host);
  const Discovery found = DiscoverIt(host, TUTTI_FAKE_NVML);
  Graph graph = Read(CloudFile());
  ASSERT_TRUE(IsIncomplete(graph, 0));
  EXPECT_EQ(graph.node(*graph.FindBusId(0, "0000:13:00.0")).gpu()->sm, 0);
  EXPECT_NE(Paths(graph, *graph.GpuOf(0, 0)).type(*graph.GpuOf(0, 1)), PathType::kNvl);
  EXPECT_EQ(
      Joined(Complete(found, 0, graph)),
      "what the file does not say of 4 GPUs comes from NVML\nthe file names cards without ports: 4 ports found\n");
  EXPECT_FALSE(IsIncomplete(graph, 0));
  const Gpu& gpu = *graph.node(*graph.FindBusId(0, "0000:24:00.0")).gpu();
  EXPECT_EQ(gpu.sm, 90);
  EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(gpu.gdr);
  EXPECT_EQ(gpu.dev, 3) << "as the file counts";
  const Paths paths(graph, *graph.GpuOf(0, 0));
  EXPECT_EQ(paths.type(*graph.GpuOf(0, 3)), PathType::kNvl);
  EXPECT_EQ(paths.gb_per_s(*graph.GpuOf(0, 3)), 18 * 20.6);
  EXPECT_EQ(graph.All(NodeKind::kNvSwitch, 0).size(), 1u);
  // What hangs where stays as the file says it: a switch for four devices.
  const int port = NodeOf(graph, "mlx5_1");
  EXPECT_EQ(paths.type(port), PathType::kPix);
  EXPECT_EQ(graph.node(port).port()->gbit_per_s, 400);
  EXPECT_EQ(graph.node(port).host, 0);
  EXPECT_EQ(paths.type(NodeOf(graph, "mlx5_3")), PathType::kPhb);
  EXPECT_EQ(graph.All(NodeKind::kGpu, 0).size(), 4u) << "nothing that the file does not have";
  // And again it has nothing to add.
  EXPECT_EQ(Joined(Complete(found, 0, graph)), "");
}

TEST(Complete, WhatAFileSaysStays) {
  RenderedHost host;
  tests::AddHgx(host);
  const Discovery found = DiscoverIt(host, TUTTI_FAKE_NVML);
  const std::string before =
      "<pci busid=\"0000:13:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"/>";
  const std::string dead =
      "<pci busid=\"0000:13:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" "
      "sm=\"89\" "
      "rank=\"0\" gdr=\"0\"/></pci>";
  std::string text = CloudFile();
  ASSERT_NE(text.find(before), std::string::npos);
  text.replace(text.find(before), before.size(), dead);
  Graph graph = Read(text);
  Complete(found, 0, graph);
  EXPECT_EQ(graph.node(*graph.GpuOf(0, 0)).gpu()->sm, 89);
  EXPECT_FALSE(graph.node(*graph.GpuOf(0, 0)).gpu()->gdr);
  EXPECT_GT(Paths(graph, *graph.GpuOf(0, 0)).type(*graph.GpuOf(0, 1)), PathType::kNvl);
  EXPECT_EQ(Paths(graph, *graph.GpuOf(0, 1)).type(*graph.GpuOf(0, 2)), PathType::kNvl);
}

TEST(Complete, WhatNobodyKnowsIsSaid) {
  RenderedHost host;
  tests::AddTwoSockets(host);
  host.SetNvml("");
  const Discovery found = DiscoverIt(host, "no-such-library.so");
  Graph graph = Read(CloudFile());
  EXPECT_EQ(Joined(Complete(found, 0, graph)),
            "neither the file nor the system says what 4 GPUs of it are: NVLinks there may be missing\n");
}

TEST(Complete, RefusedPeersHaveTheirNodes) {
  RenderedHost host;
  tests::AddHgx(host, "p2p 6 4\n");
  const Discovery found = DiscoverIt(host, TUTTI_FAKE_NVML);
  ASSERT_EQ(found.peers_refused.size(), 1u);
  Graph graph = Read(CloudFile(4));
  Complete(found, 0, graph);
  const std::set<std::pair<int, int>> expected = {std::minmax(*graph.GpuOf(0, 3), *graph.GpuOf(0, 6))};
  EXPECT_EQ(RefusedPeersIn(graph, 0, found), expected);
}

}  // namespace
}  // namespace tutti::topo
