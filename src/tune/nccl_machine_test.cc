// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/nccl_machine.h"

#include <gtest/gtest.h>

namespace tutti::tune {
namespace {

constexpr NcclMachine kH200{.hosts = 1, .gpus_per_host = 4, .nics_per_host = 0};

NcclMachine H100s(int hosts) { return {.hosts = hosts, .version = 22602}; }

// As NCCL's log says it for such machines: "Pattern 4, ..., nChannels 12, bw 30.000000/30.000000", 24 channels when it runs.
TEST(NcclGraph, InsideOneHost) {
  const NcclGraph graph = GraphOf(kH200);
  EXPECT_EQ(graph.ring_channels, 12);
  EXPECT_EQ(graph.ring_gb_per_s, 30);
  EXPECT_EQ(graph.tree_intra_gb_per_s, 30);
  EXPECT_EQ(graph.channels, 24);
  const NcclGraph a100 =
      GraphOf({.generation = GpuGeneration::kAmpere, .hosts = 1, .gpus_per_host = 8, .nvlink_gb_per_s = 240});
  EXPECT_EQ(a100.ring_channels, 12);
  EXPECT_EQ(a100.ring_gb_per_s, 20);
  EXPECT_EQ(a100.channels, 24);
  EXPECT_EQ(a100.heads, 0);  // no multicast
}

// "Pattern 4, crossNic 2, nChannels 8, bw 48.000000/48.000000, type NVL/PIX" and 16 channels.
TEST(NcclGraph, EightCardsOf400Gbit) {
  const NcclGraph graph = GraphOf(H100s(2));
  EXPECT_EQ(graph.ring_channels, 8);
  EXPECT_EQ(graph.ring_gb_per_s, 48);
  EXPECT_EQ(graph.channels, 16);
  EXPECT_EQ(graph.heads, 8);
  EXPECT_EQ(graph.nvls_intra_gb_per_s, 40);
  EXPECT_EQ(graph.nvls_inter_gb_per_s, 48);
  EXPECT_EQ(graph.nvls_channels, 16);
  EXPECT_EQ(graph.nvls_tree_chunk_bytes, 128u << 10);
  EXPECT_EQ(GraphOf(H100s(4)).nvls_tree_chunk_bytes, 64u << 10);
}

TEST(NcclGraph, FewCardsAreSplitWhereTheyAreFast) {
  NcclMachine machine = H100s(5);
  machine.nics_per_host = 4;
  const NcclGraph graph = GraphOf(machine);
  EXPECT_EQ(graph.ring_channels, 8);
  EXPECT_EQ(graph.ring_gb_per_s, 24);
  EXPECT_EQ(graph.channels, 16);
  const NcclGraph p4d = GraphOf({.generation = GpuGeneration::kAmpere,
                                 .hosts = 2,
                                 .nvlink_gb_per_s = 240,
                                 .nics_per_host = 4,
                                 .nic_gb_per_s = 12.5,
                                 .pci_gb_per_s = 24});
  EXPECT_EQ(p4d.ring_channels, 4);
  EXPECT_EQ(p4d.ring_gb_per_s, 12);
  EXPECT_EQ(p4d.tree_intra_gb_per_s, 40);
  EXPECT_EQ(p4d.channels, 8);
}

TEST(NcclGraph, NvlinkBoundsTheCards) {
  NcclMachine machine{.generation = GpuGeneration::kBlackwell,
                      .hosts = 2,
                      .nvlink_gb_per_s = 721.8,
                      .nic_gb_per_s = 100,
                      .pci_gb_per_s = 96,
                      .version = 23102};
  NcclGraph graph = GraphOf(machine);
  EXPECT_EQ(graph.ring_channels, 16);  // 8 of 96 would be more than NVLink carries, so 8 of 86, and these split
  EXPECT_EQ(graph.ring_gb_per_s, 43);
  EXPECT_EQ(graph.nvls_channels, 32);
  EXPECT_EQ(graph.nvls_tree_chunk_bytes, 128u << 10);
  machine.hosts = 3;
  graph = GraphOf(machine);
  EXPECT_EQ(graph.nvls_channels, 24);
  EXPECT_EQ(graph.nvls_tree_chunk_bytes, 256u << 10);
  machine.gpus_per_host = machine.nics_per_host = 72;
  EXPECT_EQ(GraphOf(machine).heads, 32);
}

TEST(NcclGraph, SettingsCount) {
  NcclMachine machine = H100s(8);
  machine.min_ctas = 24;
  EXPECT_EQ(GraphOf(machine).channels, 24);
  EXPECT_EQ(GraphOf(machine).nvls_channels, 24);
  machine.multicast = false;
  EXPECT_EQ(GraphOf(machine).heads, 0);
}

TEST(NcclGraph, WithoutNvlinkThePciLinkCounts) {
  const NcclGraph graph = GraphOf({.generation = GpuGeneration::kAmpere,
                                   .hosts = 1,
                                   .gpus_per_host = 2,
                                   .nvlink_gb_per_s = 0,
                                   .multicast = false,
                                   .pci_gb_per_s = 24});
  EXPECT_EQ(graph.ring_channels * graph.ring_gb_per_s, 24);
}

TEST(NcclAlgorithm, NamesParseAsTheyArePrinted) {
  for (int a = 0; a < kNcclAlgorithms; ++a) {
    const auto algorithm = static_cast<NcclAlgorithm>(a);
    EXPECT_EQ(ParseNcclAlgorithm(Name(algorithm)), algorithm);
  }
  EXPECT_FALSE(ParseNcclAlgorithm("ring").has_value());
  EXPECT_FALSE(ParseNcclAlgorithm("").has_value());
}

}  // namespace
}  // namespace tutti::tune
