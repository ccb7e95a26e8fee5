// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/costs.h"

#include <gtest/gtest.h>

#include "tune/gpu_machine.h"
#include "tune/machine.h"

namespace tutti::sim {
namespace {

using proto::Protocol;

TEST(WireBytes, AreThoseOfTheProtocolsLines) {
  EXPECT_EQ(WireBytes(Protocol::kSimple, 1000), 1000u);
  EXPECT_EQ(WireBytes(Protocol::kLl, 1), 64u);
  EXPECT_EQ(WireBytes(Protocol::kLl, 32), 64u);
  EXPECT_EQ(WireBytes(Protocol::kLl, 33), 128u);
  EXPECT_EQ(WireBytes(Protocol::kLl128, 120), 128u);
  EXPECT_EQ(WireBytes(Protocol::kLl128, 121), 256u);
}

TEST(Costs, AreThoseOfTheTables) {
  const tune::GpuMachine& gpu = tune::ShippedGpuTable("h200_4_ranks").machine;
  const Costs costs = CostsOf(gpu);
  EXPECT_EQ(costs.launch_us, gpu.start_us);
  EXPECT_EQ(costs.fold_gb_per_s, gpu.fold_gb_per_s);
  for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
    const WayCosts& way = costs.ways[static_cast<std::size_t>(protocol)];
    EXPECT_EQ(way.hop_us, gpu.ways[protocol].hop_us);
    EXPECT_EQ(way.network_hop_us, gpu.ways[protocol].hop_us);
    EXPECT_EQ(way.write_gb_per_s, gpu.ways[protocol].channel_gb_per_s);
    EXPECT_EQ(way.rank_gb_per_s, gpu.ways[protocol].link_gb_per_s);
  }
  EXPECT_FALSE(costs.shares_core);

  const tune::Machine machine;
  const Costs host = CostsOf(machine);
  EXPECT_TRUE(host.shares_core);
  const WayCosts& simple = host.ways[static_cast<std::size_t>(Protocol::kSimple)];
  EXPECT_DOUBLE_EQ(simple.write_gb_per_s, 1.024 / machine.simple.write_us_per_kib);
  EXPECT_DOUBLE_EQ(simple.end_us, machine.simple.message_us / 2);
  EXPECT_TRUE(simple.one_copy_for_all && simple.folds_in_place);
  EXPECT_FALSE(host.ways[static_cast<std::size_t>(Protocol::kLl)].one_copy_for_all);
  EXPECT_EQ(host.nic_message_us, machine.network.message_us);
  EXPECT_EQ(host.ways[0].network_hop_us, machine.network.hop_us);
}

}  // namespace
}  // namespace tutti::sim
