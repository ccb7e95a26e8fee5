// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the prediction of NCCL does with its inputs. How near it comes to measured times is in tests/planning.
#include "tune/nccl_model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::tune {
namespace {

using proto::Protocol;

constexpr double kMib = 1 << 20, kGib = 1 << 30;
constexpr Collective kAll[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter,
                               Collective::kBroadcast, Collective::kReduce,    Collective::kGather,
                               Collective::kScatter,   Collective::kAllToAll,  Collective::kSendRecv};

NcclMachine H200(int gpus) { return {.hosts = 1, .gpus_per_host = gpus, .multicast = false, .nics_per_host = 0}; }
NcclMachine H100s(int hosts) { return {.hosts = hosts, .version = 22602}; }

NcclPrediction Predict(const NcclMachine& machine, Collective collective, double bytes) {
  return PredictNccl({}, machine, collective, bytes);
}

// By hand: 4.4 us and so on for known constants. Two GPUs with LL: two steps of a hop; each moves half of the bytes twice.
TEST(NcclModel, ASmallRingInsideAHost) {
  NcclConstants c;
  NcclMachine machine = H200(2);
  machine.launch = NcclLaunch::kGraph;
  const NcclPrediction prediction = PredictNccl(c, machine, Collective::kAllReduce, 512);
  EXPECT_EQ(prediction.way, (NcclWay{NcclAlgorithm::kRing, Protocol::kLl}));
  EXPECT_EQ(prediction.channels, 1);
  const double moving = (2 + c.ll_last_share) * 256 * 2 / (370.8 * c.link_share) / 1e3;
  EXPECT_NEAR(prediction.us, c.graph_start_us + 2 * c.hop_us[0] + moving, 1e-9);
  EXPECT_EQ(prediction.bound, NcclBound::kLatency);
  EXPECT_EQ(prediction.wire_gb_per_s, 0);
}

TEST(NcclModel, ALargeRingInsideAHostIsNvlinks) {
  const NcclPrediction prediction = Predict(H200(4), Collective::kAllReduce, kGib);
  EXPECT_EQ(prediction.bound, NcclBound::kNvlink);
  EXPECT_NEAR(prediction.bus_gb_per_s, 356, 8);  // measured
}

// A single GPU per host and card: a ring of two hosts at the card's rate.
TEST(NcclModel, ALargeRingBetweenHostsIsTheCards) {
  NcclConstants c;
  NcclMachine machine{.hosts = 2, .gpus_per_host = 1, .multicast = false, .nics_per_host = 1, .qps = 4};
  machine.algorithm = NcclAlgorithm::kRing;
  const NcclPrediction prediction = PredictNccl(c, machine, Collective::kAllReduce, 64 * kGib);
  EXPECT_EQ(prediction.bound, NcclBound::kCards);
  EXPECT_NEAR(prediction.wire_gb_per_s, 50 * c.wire_share, 0.1);
  EXPECT_NEAR(prediction.bus_gb_per_s, 50 * c.wire_share, 0.1);
}

TEST(NcclModel, MoreConnectionsHelpRingsThatLackThem) {
  NcclMachine machine = H100s(8);
  machine.algorithm = NcclAlgorithm::kRing;
  const NcclPrediction one = Predict(machine, Collective::kAllReduce, 8 * kGib);
  EXPECT_EQ(one.bound, NcclBound::kConnections);
  machine.qps = 2;
  const NcclPrediction two = Predict(machine, Collective::kAllReduce, 8 * kGib);
  EXPECT_EQ(two.bound, NcclBound::kCards);
  EXPECT_LT(two.us, one.us);
}

// Trees of two hosts send half of what rings do, so their bus bandwidth may be above the cards' rate; no card sends faster than it can.
TEST(NcclModel, NoCardIsFasterThanItsRate) {
  for (const int hosts : {2, 3, 4, 16, 1000}) {
    for (const Collective collective : kAll) {
      for (double bytes = 8; bytes <= 64 * kGib; bytes *= 4) {
        const NcclPrediction prediction = Predict(H100s(hosts), collective, bytes);
        EXPECT_LE(prediction.wire_gb_per_s, 50) << hosts << " " << Name(collective) << " " << bytes;
        EXPECT_GT(prediction.us, 0);
        EXPECT_GE(prediction.us, prediction.latency_us);
        EXPECT_GT(prediction.error, 0);
        EXPECT_LE(prediction.error, 1);
      }
    }
  }
  NcclMachine two = H100s(2);
  two.multicast = false;
  two.nic_gb_per_s = two.pci_gb_per_s = 12;
  EXPECT_GT(Predict(two, Collective::kAllReduce, 8 * kGib).bus_gb_per_s, 8 * 12);
}

// With one way all along more bytes take longer; where NCCL changes its way or its chunks they may not.
TEST(NcclModel, MoreBytesTakeLongerInOneWay) {
  NcclMachine machine = H100s(4);
  machine.algorithm = NcclAlgorithm::kRing;
  machine.protocol = Protocol::kSimple;
  double before = 0;
  for (double bytes = 8; bytes <= 64 * kGib; bytes *= 2) {
    const double us = Predict(machine, Collective::kAllReduce, bytes).us;
    EXPECT_GT(us, before * 0.999) << bytes;  // more channels have more connections
    before = us;
  }
}

TEST(NcclModel, SlowerHardwareIsSlower) {
  const auto us = [](const NcclMachine& machine) { return Predict(machine, Collective::kAllReduce, kGib).us; };
  NcclMachine machine = H100s(4);
  const double usual = us(machine);
  machine.nic_gb_per_s = 25;
  EXPECT_GT(us(machine), usual);
  machine = H100s(4);
  machine.gpu_direct = false;
  EXPECT_GT(us(machine), usual);
  machine = H100s(2);
  machine.fabric = FabricKind::kEfa;
  EXPECT_GT(Predict(machine, Collective::kAllReduce, 8).us, Predict(H100s(2), Collective::kAllReduce, 8).us);
}

TEST(NcclModel, AGraphsBuffersNeedNoStaging) {
  NcclMachine machine = H200(4);
  const auto us = [&] { return Predict(machine, Collective::kSendRecv, 64 * kMib).us; };
  machine.launch = NcclLaunch::kGraph;
  const double known = us();
  machine.registers_in_graphs = false;
  EXPECT_GT(us(), 1.5 * known);
}

TEST(NcclModel, CallsBoundSmallOperations) {
  NcclMachine machine = H200(4);
  machine.launch = NcclLaunch::kOneThread;
  EXPECT_EQ(Predict(machine, Collective::kAllReduce, 8).us, 4 * NcclConstants().thread_call_us);
  machine.launch = NcclLaunch::kStream;
  machine.call_us = 30;
  EXPECT_EQ(Predict(machine, Collective::kAllReduce, 8).us, 30);
  EXPECT_GT(Predict(machine, Collective::kAllReduce, kGib).us, 1000);
}

// The two points that a cluster is known by are predicted.
TEST(NcclCalibration, MeetsItsPoints) {
  const NcclMachine machine = H100s(2);
  const std::vector<NcclPoint> points = {{machine, Collective::kAllReduce, 1024, 45},
                                         {machine, Collective::kAllReduce, 16 * kGib, 90000}};
  const NcclConstants own = Calibrate({}, points);
  for (const NcclPoint& point : points) {
    EXPECT_NEAR(PredictNccl(own, machine, point.collective, point.bytes).us, point.us, point.us * 0.001);
  }
}

TEST(NcclCalibration, StaysWithinReason) {
  const NcclMachine machine = H100s(2);
  const std::vector<NcclPoint> points = {{machine, Collective::kAllReduce, 1024, 1},
                                         {machine, Collective::kAllReduce, 16 * kGib, 1e9}};
  const NcclConstants own = Calibrate({}, points), usual;
  EXPECT_GE(own.fabric_us[0], -usual.crossing_us / 2);
  EXPECT_GE(own.nvls_tree_share, usual.nvls_tree_share / 10);
  EXPECT_EQ(Calibrate({}, {}).ToText(), usual.ToText());
}

// What cards lack by far is put down to the rings' connections, and more of those help.
TEST(NcclCalibration, TellsConnectionsFromCards) {
  NcclMachine machine = H100s(4);
  machine.algorithm = NcclAlgorithm::kRing;
  const double slow_us = 8 * kGib * 2 * 31 / 32 / 300e3;
  const NcclConstants own = Calibrate({}, std::vector<NcclPoint>{{machine, Collective::kAllReduce, kMib, 300},
                                                                 {machine, Collective::kAllReduce, 8 * kGib, slow_us}});
  machine.qps = 2;
  EXPECT_NEAR(PredictNccl(own, machine, Collective::kAllReduce, 8 * kGib).bus_gb_per_s, 388, 10);
}

TEST(NcclConstants, SayWhatTheyRead) {
  NcclConstants constants;
  constants.hop_us[1] = 3.25;
  const Result<NcclConstants> back = NcclConstants::Parse("# a comment\n\n" + constants.ToText());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->ToText(), constants.ToText());
  EXPECT_EQ(back->hop_us[1], 3.25);
}

TEST(NcclConstants, RefuseOtherText) {
  const std::string text = NcclConstants().ToText();
  const auto message = [](const std::string& some) { return NcclConstants::Parse(some).status().message(); };
  EXPECT_NE(message("").find("has no graph_start_us"), std::string::npos);
  EXPECT_NE(message("[gpu]\n").find("write [nccl] there"), std::string::npos);
  EXPECT_NE(message(text + "hop_us 3\n").find("\"hop_us\" is not a constant"), std::string::npos);
  EXPECT_NE(message(text + "wire_share 1\n").find("has a value in line"), std::string::npos);
  std::string bad = text;
  bad.replace(bad.find("wire_share"), 10, "wire_share -");
  EXPECT_NE(message(bad).find("wire_share needs a number"), std::string::npos);
}

}  // namespace
}  // namespace tutti::tune
