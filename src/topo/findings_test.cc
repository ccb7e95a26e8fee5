// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "topo/findings.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "topo/machine_text.h"

namespace tutti::topo {
namespace {

Graph Build(const std::string& text, int hosts = 1) {
  const Result<Machine> machine = ReadMachineText(text, "the machine");
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  Result<Graph> graph = BuildGraph(*machine, hosts);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *graph;
}

std::vector<Finding> Find(const Graph& graph, int host = 0) {
  return FindingsOf(graph, host, HostPaths(graph, std::array{host}));
}

std::vector<Finding> Find(const std::string& text) { return Find(Build(text)); }

const std::string kSound = R"(
gpu H100
nvlink switch
cpu Intel 6/143
nic 400 Gbit/s
host
  2 sockets
    2 switches
      gpu
      nic
)";

// The only finding of a sound machine with these lines.
Finding OnlyWith(const std::string& lines) {
  const std::vector<Finding> findings = Find(kSound + lines);
  EXPECT_EQ(findings.size(), 1u) << lines;
  return findings.empty() ? Finding() : findings.front();
}

TEST(Findings, ASoundHostHasNone) {
  for (const Finding& finding : Find(kSound)) ADD_FAILURE() << finding.text;
}

TEST(Findings, NvLinksThatDoNotWork) {
  const std::vector<Finding> findings = Find(kSound + "but gpu 2: 0 nvlinks\n");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].kind, FindingKind::kNvLinksMissing);
  EXPECT_NEAR(findings[0].expected_gb_per_s, 370.8, 1e-9);
  EXPECT_EQ(findings[0].gb_per_s, 0);
  EXPECT_EQ(findings[1].kind, FindingKind::kNoPeerToPeer);
  EXPECT_TRUE(
      findings[1].text.starts_with("3 of 6 pairs of GPUs exchange data through host memory, GPU 0 and GPU 2 first"))
      << findings[1].text;
}

TEST(Findings, NvLinksThatTheOthersHave) {
  Graph graph = Build(kSound + "but gpu 2: 17 nvlinks\n");
  for (const int gpu : graph.All(NodeKind::kGpu))
    std::get<Gpu>(graph.node(gpu).is).nvlinks_expected = 0;  // as of an XML file
  const std::vector<Finding> findings = Find(graph);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].node, graph.GpuOf(0, 2));
  EXPECT_EQ(findings[0].text,
            "GPU 2: 17 of 18 NVLinks work, 350.2 instead of 370.8 GB/s; `nvidia-smi nvlink --status` shows which are "
            "down; reset the "
            "GPU, look at the fabric manager's log, or leave this GPU out");
}

TEST(Findings, PciThatRunsBelowItsBest) {
  const Finding asleep = OnlyWith("but gpu 0 1: now gen1\n");
  EXPECT_EQ(asleep.kind, FindingKind::kPciSlowNow);
  EXPECT_EQ(asleep.text,
            "GPU 0, GPU 1: the PCI link runs at 2.5 GT/s PCIe x16 of 32.0 GT/s PCIe x16, 3.0 instead of 48.0 GB/s; it "
            "may be asleep: "
            "look again while it is used; if it stays so, reseat the card or look for PCI errors in the kernel's log");
}

TEST(Findings, PciWhoseBestIsLow) {
  const Finding slot = OnlyWith("but gpu 3: x8\n");
  EXPECT_EQ(slot.kind, FindingKind::kPciSlowAtBest);
  EXPECT_EQ(slot.expected_gb_per_s, 48);
  EXPECT_EQ(slot.gb_per_s, 24);
  const Finding bridge = OnlyWith("but switch 1: gen1 x1\n");
  EXPECT_EQ(bridge.kind, FindingKind::kPciSlowAtBest);
  EXPECT_EQ(bridge.gb_per_s, 0.1875);
  EXPECT_TRUE(bridge.text.starts_with(
      "PCI switch 1: the link of this bridge towards the CPU is 2.5 GT/s PCIe x1, 0.2 instead of 48.0"))
      << bridge.text;
}

// The bridges above GPUs with C2C are for their start only.
TEST(Findings, ABridgeBesideC2cMayBeNarrow) {
  const std::string tray = "gpu GB300\ncpu arm64\nnic 800 Gbit/s\nhost\n socket\n  switch gen4 x1\n   gpu\n   nic\n";
  EXPECT_EQ(Find(tray).size(), 1u);
  EXPECT_EQ(Find(tray + "c2c 5 lines of 44712 MB/s\n").size(), 0u);
}

TEST(Findings, CardsOnTheWrongSocketAndUnequalOnes) {
  const std::vector<Finding> findings = Find(
      "gpu H100\ncpu Intel 6/143\nhost\n socket\n  switch\n   gpu\n   1 nic 400 Gbit/s\n socket\n  1 nic 400 Gbit/s\n");
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].text,
            "nic1: on another socket than every GPU, 22.0 instead of 50.0 GB/s; move the card to a socket that has "
            "GPUs, or use GPUs "
            "of its own socket");
  EXPECT_EQ(findings[1].kind, FindingKind::kNoGpuDirect);
  const Finding slow = OnlyWith("but nic 1: 100 Gbit/s\n");
  EXPECT_EQ(
      slow.text,
      "nic1: slower than other ports, 12.5 instead of 50.0 GB/s; check its cable and its switch port, or leave it out "
      "(NCCL_IB_HCA), for all wait for it");
}

TEST(Findings, CardsWithTooFewLanes) {
  const Finding starved = OnlyWith("but nic 2: x8\n");
  EXPECT_EQ(starved.kind, FindingKind::kNicStarved);
  EXPECT_EQ(starved.expected_gb_per_s, 50);
  EXPECT_EQ(starved.gb_per_s, 24);
}

TEST(Findings, FewPorts) {
  const std::string box = "gpu H100\nnvlink switch\nnic 400 Gbit/s\nhost\n socket\n  switch\n";
  EXPECT_TRUE(Find(box + "   4 gpus\n   2 nics\n").empty());
  EXPECT_TRUE(Find(box + "   4 gpus\n").empty());  // none is meant so
  const std::vector<Finding> findings = Find(box + "   5 gpus\n   2 nics\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].text,
            "2 ports for 5 GPUs: 100.0 instead of 250.0 GB/s with one for each; what leaves the host takes turns");
}

TEST(Findings, WhyThereIsNoGpuDirect) {
  const Finding network = OnlyWith("but nic 0 1 2 3: gpudirect off\n");
  EXPECT_EQ(network.text,
            "nic0, nic1, nic2, nic3: data go through host memory: the network does not reach GPU memory, 48.0 instead "
            "of 50.0 GB/s; "
            "load nvidia-peermem, or a driver and a network plugin with dma-buf");
  const Finding gpus = OnlyWith("but gpu 0 1 2 3: gpudirect off\n");
  EXPECT_NE(gpus.text.find("no GPU lets cards reach its memory"), std::string::npos) << gpus.text;
  const std::vector<Finding> far = Find("gpu H100\nnic 400 Gbit/s\nhost\n socket\n  gpu\n  nic\n");
  ASSERT_EQ(far.size(), 1u);
  EXPECT_EQ(far[0].text,
            "nic0: data go through host memory: the closest GPU is too far (PHB), 48.0 instead of 50.0 GB/s; move the "
            "card next to a "
            "GPU, say in a topology file where it is, or allow it by NCCL_NET_GDR_LEVEL=SYS");
}

TEST(Findings, GpusWithoutPeerToPeer) {
  const std::vector<Finding> findings =
      Find("gpu L40S\ncpu Intel 6/143\nhost\n socket\n  switch\n   2 gpus\n  2 gpus\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].text,
            "5 of 6 pairs of GPUs exchange data through host memory, GPU 0 and GPU 2 first: their path is PHB, 20.0 "
            "instead of 24.0 "
            "GB/s; where the driver allows more, NCCL_P2P_LEVEL=SYS does");
}

TEST(Findings, AreOfOneHostAndInOneLine) {
  const Graph graph = Build(kSound + "but host 1 gpu 0: 3 nvlinks\nbut host 1 nic 0: 100 Gbit/s\n", 2);
  EXPECT_TRUE(Find(graph, 0).empty());
  const std::vector<Finding> findings = Find(graph, 1);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].kind, FindingKind::kNvLinksMissing);
  EXPECT_EQ(findings[1].kind, FindingKind::kNicsUnequal);
  for (const Finding& finding : findings) {
    EXPECT_EQ(graph.node(finding.node).host, 1);
    EXPECT_EQ(finding.text.find('\n'), std::string::npos);
  }
}

TEST(Findings, ManyNamesAreCutShort) {
  const std::vector<Finding> findings = Find("gpu H100 gen3\nhost\n socket\n  switch\n   6 gpus\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(findings[0].text.starts_with("GPU 0, GPU 1, GPU 2, GPU 3 and 2 others: ")) << findings[0].text;
}

}  // namespace
}  // namespace tutti::topo
