// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/nccl_choice.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace tutti::tune {
namespace {

using proto::Protocol;

constexpr double kMib = 1 << 20, kGib = 1 << 30;

NcclMachine H200(int gpus) { return {.hosts = 1, .gpus_per_host = gpus, .multicast = false, .nics_per_host = 0}; }
NcclMachine H100s(int hosts, int version) { return {.hosts = hosts, .version = version}; }

double FormulaUs(const NcclMachine& machine, Collective collective, double bytes) {
  return ChooseNccl(machine, GraphOf(machine), collective, bytes).formula_us;
}

// "LL Ring to 1M, ..." for powers of two: where the choice changes.
std::string Crossovers(const NcclMachine& machine, Collective collective) {
  std::string text, before;
  for (double bytes = 1024; bytes <= 16 * kGib; bytes *= 2) {
    const NcclWay way = ChooseNccl(machine, GraphOf(machine), collective, bytes).way;
    const std::string name = fmt::format("{} {}", Name(way.algorithm), proto::Name(way.protocol));
    if (name != before) text += fmt::format("{}{}K {}", text.empty() ? "" : ", ", bytes / 1024, name);
    before = name;
  }
  return text;
}

// What NCCL's own constants give for 2 and 4 H200, us, as it was worked out by hand from its sources.
TEST(NcclFormula, OneHost) {
  const struct {
    int gpus;
    Collective collective;
    double bytes, us;
  } kExpected[] = {
      {2, Collective::kAllReduce, 1024, 7.8},
      {2, Collective::kAllReduce, 64 * 1024, 8.3},
      {2, Collective::kAllReduce, kMib, 15.2},
      {2, Collective::kAllReduce, 4 * kMib, 26.9},
      {2, Collective::kAllReduce, 16 * kMib, 61.8},
      {2, Collective::kAllReduce, 512 * kMib, 1507},
      {4, Collective::kAllReduce, 1024, 10.2},
      {4, Collective::kAllReduce, kMib, 21.4},
      {4, Collective::kAllReduce, 4 * kMib, 44.4},
      {4, Collective::kAllReduce, 64 * kMib, 308},
      {2, Collective::kAllGather, 4 * kMib, 17.6},
      {4, Collective::kAllGather, 16 * kMib, 53.6},
      {4, Collective::kReduceScatter, 512 * kMib, 1137},
  };
  for (const auto& row : kExpected) {
    EXPECT_NEAR(FormulaUs(H200(row.gpus), row.collective, row.bytes), row.us, row.us * 0.01)
        << row.gpus << " GPUs, " << row.bytes;
  }
}

// Measured times have a knee at each of these: docs/planning.md.
TEST(NcclChoice, SeveralHosts) {
  EXPECT_EQ(Crossovers(H100s(2, 22602), Collective::kAllReduce), "1K Tree LL, 256K Tree LL128, 1024K NVLSTree Simple");
  EXPECT_EQ(Crossovers(H100s(4, 22602), Collective::kAllReduce),
            "1K Tree LL, 256K Tree LL128, 2048K NVLSTree Simple, 262144K Ring Simple");
  EXPECT_EQ(Crossovers(H100s(8, 22602), Collective::kAllReduce),
            "1K Tree LL, 256K Tree LL128, 8192K NVLSTree Simple, 1048576K Ring Simple");
}

TEST(NcclChoice, VersionsTakeMulticastDifferently) {
  const double bytes = kGib;
  const auto us = [&](int version) {
    const NcclMachine machine = H100s(4, version);
    return *NcclFormulaUs(machine, GraphOf(machine), Collective::kAllReduce, bytes,
                          {NcclAlgorithm::kNvlsTree, Protocol::kSimple});
  };
  EXPECT_NEAR(us(22602), 25 + 4 * 14 + bytes / 160e3, 1e-6);                       // 8 * 24 * 5/6
  EXPECT_NEAR(us(22803), 25 + 4 * 14 + bytes / (8 * 45.5 * 32 / 62 * 1e3), 1e-6);  // the cap per channel
  EXPECT_NEAR(us(22907), 25 + 4 * 20.9 + bytes / (8 * 45.5 * 32 / 62 * 1e3), 1e-6);
}

TEST(NcclChoice, ThePluginsLatencyCounts) {
  NcclMachine machine = H100s(2, 22602);
  const NcclGraph graph = GraphOf(machine);
  const NcclWay ll{NcclAlgorithm::kTree, Protocol::kLl}, simple{NcclAlgorithm::kTree, Protocol::kSimple};
  const double ll_us = *NcclFormulaUs(machine, graph, Collective::kAllReduce, 8, ll);
  const double simple_us = *NcclFormulaUs(machine, graph, Collective::kAllReduce, 8, simple);
  machine.reported_latency_us = 75;
  EXPECT_NEAR(*NcclFormulaUs(machine, graph, Collective::kAllReduce, 8, ll) - ll_us, 150, 1e-9);
  EXPECT_NEAR(*NcclFormulaUs(machine, graph, Collective::kAllReduce, 8, simple) - simple_us, 300, 1e-9);
}

TEST(NcclChoice, WhatNcclDoesNotHave) {
  const NcclMachine machine = H100s(2, 22602);
  const NcclGraph graph = GraphOf(machine);
  const auto has = [&](Collective collective, NcclAlgorithm algorithm, Protocol protocol) {
    return NcclFormulaUs(machine, graph, collective, kMib, {algorithm, protocol}).has_value();
  };
  EXPECT_FALSE(has(Collective::kAllGather, NcclAlgorithm::kTree, Protocol::kLl));
  EXPECT_FALSE(has(Collective::kAllReduce, NcclAlgorithm::kNvls, Protocol::kSimple));  // no switch reduces
  EXPECT_FALSE(has(Collective::kAllReduce, NcclAlgorithm::kNvlsTree, Protocol::kLl));
  EXPECT_FALSE(has(Collective::kBroadcast, NcclAlgorithm::kNvlsTree, Protocol::kSimple));
  EXPECT_TRUE(has(Collective::kBroadcast, NcclAlgorithm::kRing, Protocol::kLl128));
}

TEST(NcclChoice, SettingsSteer) {
  NcclMachine machine = H100s(2, 22602);
  machine.algorithm = NcclAlgorithm::kRing;
  EXPECT_EQ(ChooseNccl(machine, GraphOf(machine), Collective::kAllReduce, kGib).way,
            (NcclWay{NcclAlgorithm::kRing, Protocol::kSimple}));
  machine.protocol = Protocol::kLl;
  EXPECT_EQ(ChooseNccl(machine, GraphOf(machine), Collective::kAllReduce, kGib).way,
            (NcclWay{NcclAlgorithm::kRing, Protocol::kLl}));
  machine.algorithm = NcclAlgorithm::kNvlsTree;
  machine.protocol.reset();
  EXPECT_EQ(ChooseNccl(machine, GraphOf(machine), Collective::kAllGather, kGib).way.algorithm, NcclAlgorithm::kRing);
}

TEST(NcclChoice, FewBytesTakeFewChannels) {
  const NcclMachine machine = H200(4);
  const auto channels = [&](double bytes) {
    return ChooseNccl(machine, GraphOf(machine), Collective::kAllReduce, bytes).channels;
  };
  EXPECT_EQ(channels(8), 1);
  EXPECT_EQ(channels(64 * 1024), 4);
  EXPECT_EQ(channels(kMib), 24);
}

TEST(NcclChoice, SendsTakeMoreChannelsWhenTheyAreLong) {
  const auto choose = [](int gpus, double bytes) {
    const NcclMachine machine = H200(gpus);
    return ChooseNccl(machine, GraphOf(machine), Collective::kSendRecv, bytes);
  };
  EXPECT_EQ(choose(4, 128 * kMib).channels, 8);
  EXPECT_EQ(choose(4, 256 * kMib).channels, 16);
  EXPECT_EQ(choose(4, 512 * kMib).channels, 32);
  EXPECT_EQ(choose(2, 256 * kMib).channels, 16);
  EXPECT_EQ(choose(2, 512 * 1024).way.protocol, Protocol::kLl);
  EXPECT_EQ(choose(2, kMib).way.protocol, Protocol::kSimple);
}

TEST(ClosedForm, TheBusiestLinkAtItsRate) {
  // A ring between hosts sends 2 * 15/16 of the bytes by the cards, 400 GB/s; two hosts' trees by half of that, and NVLS bounds them.
  NcclMachine machine = H100s(2, 22602);
  EXPECT_NEAR(ClosedFormUs(machine, Collective::kAllReduce, kGib), kGib * 2 * 15 / 16 / 475e3, 1e-6);
  machine.hosts = 4;
  machine.multicast = false;
  machine.nvlink_gb_per_s = 900;
  EXPECT_NEAR(ClosedFormUs(machine, Collective::kAllReduce, kGib), kGib * 2 * 31 / 32 / 400e3, 1e-6);
  EXPECT_NEAR(ClosedFormUs(machine, Collective::kAllGather, kGib), kGib * 31 / 32 / 400e3, 1e-6);
  EXPECT_NEAR(ClosedFormUs(machine, Collective::kAllToAll, kGib), kGib * 24 / 32 * 8 / 400e3, 1e-6);
}

TEST(BusBandwidth, AsNcclTestsPrintIt) {
  EXPECT_NEAR(BusGbPerS(16, Collective::kAllReduce, kGib, 4484.9), 449, 0.5);
  EXPECT_NEAR(BusGbPerS(4, Collective::kAllGather, kGib, 2459.2), 327, 0.5);
  EXPECT_NEAR(BusGbPerS(4, Collective::kBroadcast, kGib, 2981.9), 360, 0.5);
  EXPECT_EQ(BusGbPerS(4, Collective::kBroadcast, kGib, 0), 0);
}

}  // namespace
}  // namespace tutti::tune
