// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks pay for bytes that go over a network, beside its links.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sim/costs.h"
#include "sim/plans.h"
#include "sim/simulator.h"
#include "sim/test_machines.h"
#include "tune/machine.h"

namespace tutti::sim {
namespace {

constexpr double kCard = 50, kLatencyUs = 1, kHopUs = 3, kMessageUs = 0.5;  // GB/s, us

Costs NetworkCosts(double send_gb_per_s, double receive_gb_per_s, bool shares_core) {
  Costs costs;
  for (WayCosts& way : costs.ways) way.network_hop_us = kHopUs;
  costs.nic_message_us = kMessageUs;
  costs.network_send_gb_per_s = send_gb_per_s;
  costs.network_receive_gb_per_s = receive_gb_per_s;
  costs.shares_core = shares_core;
  costs.link_messages = 2;
  return costs;
}

// Two hosts with a rank each.
double Us(const Costs& costs, std::vector<TransferPlans::Transfer> transfers) {
  const TestMachine machine =
      MakeTestMachine({.hosts = 2, .gpus = 1, .nic_gb_per_s = kCard, .nic_latency_us = kLatencyUs});
  Job job;
  job.communicators.push_back({.ranks = {0, 1}});
  AddOperation({.name = "operation", .plans = std::make_shared<TransferPlans>(2, std::move(transfers))}, job);
  const Result<Outcome> outcome = Simulate(job, machine.machine(), {.costs = costs});
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? ToUs(outcome->end) : 0;
}

constexpr std::uint64_t kBytes = 1'000'000;
constexpr double kMegabyteUs = 1000;  // at 1 GB/s

TEST(NetworkCosts, OneMessageIsHandedOverCrossesAndIsTaken) {
  const double crossing_us = kMegabyteUs / kCard + kLatencyUs + kHopUs + kMessageUs;
  EXPECT_NEAR(Us(NetworkCosts(0, 0, true), {{0, 1, kBytes}}), crossing_us, 1e-3);
  EXPECT_NEAR(Us(NetworkCosts(2, 4, true), {{0, 1, kBytes}}), crossing_us + kMegabyteUs / 2 + kMegabyteUs / 4, 1e-3);
  // Ranks whose channels have cores of their own leave receiving to others.
  EXPECT_NEAR(Us(NetworkCosts(2, 4, false), {{0, 1, kBytes}}), crossing_us + kMegabyteUs / 2, 1e-3);
}

// One core hands over what the rank sends and takes what it receives, one after the other.
TEST(NetworkCosts, ACoreDoesOneThingAtATime) {
  const double both = Us(NetworkCosts(2, 4, true), {{0, 1, kBytes}, {1, 0, kBytes}});
  const double one = Us(NetworkCosts(2, 4, true), {{0, 1, kBytes}});
  EXPECT_NEAR(both, one, 1e-3) << "what is received comes when all is handed over";
  const double twice = Us(NetworkCosts(2, 4, true), {{0, 1, kBytes}, {0, 1, kBytes}});
  EXPECT_NEAR(twice - one, kMegabyteUs / 2 + kMessageUs, 1e-3) << "the slower end decides";
}

TEST(NetworkCosts, AreThoseOfChoices) {
  const tune::Machine machine;
  const Costs costs = CostsOf(machine);
  EXPECT_DOUBLE_EQ(costs.network_send_gb_per_s, 1.024 / machine.network.send_us_per_kib);
  EXPECT_DOUBLE_EQ(costs.network_receive_gb_per_s, 1.024 / machine.network.receive_us_per_kib);
}

}  // namespace
}  // namespace tutti::sim
