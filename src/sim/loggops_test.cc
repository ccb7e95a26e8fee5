// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/loggops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "sim/plans.h"
#include "sim/simulator.h"

namespace tutti::sim {
namespace {

using algo::Algorithm;

struct Case {
  Algorithm algorithm;
  int ranks;
  std::uint64_t bytes;
  int channels;
  std::uint64_t chunk_bytes;
  LogGops model;
};

// The end of an all-reduce, us.
double Simulated(const Case& each) {
  Job job;
  job.communicators.emplace_back().ranks.resize(static_cast<std::size_t>(each.ranks));
  std::iota(job.communicators[0].ranks.begin(), job.communicators[0].ranks.end(), 0);
  AddOperation({.name = "all_reduce",
                .plans = std::make_shared<RegistryPlans>(each.algorithm, Collective::kAllReduce, each.ranks),
                .bytes = each.bytes,
                .channels = each.channels,
                .chunk_bytes = each.chunk_bytes},
               job);
  Options options{.loggops = each.model};
  options.costs.link_messages = 1 << 20;  // GOAL knows no links that hold a number of messages
  const Result<Outcome> outcome =
      Simulate(job, {.nodes = std::vector<int>(static_cast<std::size_t>(each.ranks))}, options);
  EXPECT_TRUE(outcome.ok() && outcome->stuck.ok());
  return outcome.ok() ? ToUs(outcome->end) : 0;
}

constexpr LogGops kAlps = {.latency_ns = 3700, .overhead_ns = 200, .gap_ns = 5, .gap_ns_per_byte = .04};

// Every hop: sent in o, there after L, received in o + (s - 1) G.
TEST(LogGops, RingIsItsClosedForm) {
  for (const int ranks : {2, 3, 8, 64}) {
    const double block = 65536;
    const double hop_ns = 2 * kAlps.overhead_ns + kAlps.latency_ns + (block - 1) * kAlps.gap_ns_per_byte;
    EXPECT_NEAR(Simulated({Algorithm::kRing, ranks,
                           static_cast<std::uint64_t>(block) * static_cast<std::uint64_t>(ranks), 1, 0, kAlps}),
                2 * (ranks - 1) * hop_ns / 1e3, 1e-3);
  }
}

// What LogGOPSim took for these rings of 1 GiB, in ms to four digits.
TEST(LogGops, LargeRingsTakeWhatWasMeasured) {
  EXPECT_NEAR(Simulated({Algorithm::kRing, 64, 1 << 30, 1, 0, kAlps}) / 1e3, 85.08, 0.01);
  EXPECT_NEAR(Simulated({Algorithm::kRing, 256, 1 << 30, 1, 0, kAlps}) / 1e3, 87.66, 0.01);
  EXPECT_NEAR(Simulated({Algorithm::kRing, 512, 1 << 30, 1, 0, kAlps}) / 1e3, 89.93, 0.01);
}

// When a full tree's root has everything, and when its leaves have it back, by hand: children's messages are there at the same time and
// are received one after the other, as their bytes come; the second child's leaves when the first one's bytes have left.
TEST(LogGops, TreeIsItsClosedForm) {
  const double bytes = 100000;
  const double transfer = (bytes - 1) * kAlps.gap_ns_per_byte;
  for (const int levels : {1, 2, 3}) {
    double time = 0;  // of a node's value
    for (int level = 0; level < levels; ++level) {
      const double there = time + kAlps.overhead_ns + kAlps.latency_ns;
      time = there + 2 * (kAlps.overhead_ns + transfer);
    }
    for (int level = 0; level < levels; ++level) {
      const double second = std::max(kAlps.overhead_ns, kAlps.gap_ns + transfer);  // after the first one's start
      time += second + kAlps.overhead_ns + kAlps.latency_ns + kAlps.overhead_ns + transfer;
    }
    EXPECT_NEAR(Simulated({Algorithm::kTree, (2 << levels) - 1, static_cast<std::uint64_t>(bytes), 1, 0, kAlps}),
                time / 1e3, 1e-3);
  }
}

// The same plans as GOAL files (goal.h) in LogGOPSim 76451de, which takes whole nanoseconds for G: its times, ns.
TEST(LogGops, TimesAreThoseOfLogGopsim) {
  const auto model = [](double latency, double overhead, double gap, double per_byte, double overhead_per_byte) {
    return LogGops{.latency_ns = latency,
                   .overhead_ns = overhead,
                   .gap_ns = gap,
                   .gap_ns_per_byte = per_byte,
                   .overhead_ns_per_byte = overhead_per_byte};
  };
  const LogGops fast = model(3700, 200, 5, 1, 0), busy = model(3700, 200, 500, 1, 1),
                slow = model(3700, 1500, 1000, 2, 0);
  const struct {
    Case input;
    double ns;
  } cases[] = {
      {{Algorithm::kRing, 8, 65536, 1, 0, fast}, 172074},
      {{Algorithm::kRing, 8, 65536, 2, 1024, busy}, 289334},
      {{Algorithm::kRing, 256, 16777216, 1, 0, fast}, 35513850},
      {{Algorithm::kTree, 64, 65536, 1, 0, fast}, 1352725},
      {{Algorithm::kTree, 7, 65536, 1, 4096, fast}, 356160},
      {{Algorithm::kTree, 64, 65536, 1, 4096, fast}, 492445},
      {{Algorithm::kTree, 128, 1048576, 2, 65536, model(1000, 3000, 1000, 2, 1)}, 13586070},
      {{Algorithm::kDoubleTree, 33, 65536, 2, 4096, busy}, 367820},
      {{Algorithm::kHalvingDoubling, 16, 65536, 1, 0, fast}, 245850},
      {{Algorithm::kHalvingDoubling, 16, 65536, 1, 1024, fast}, 354787},
      {{Algorithm::kRecursiveDoubling, 13, 65536, 2, 4096, busy}, 575765},
      {{Algorithm::kTwoShot, 16, 65536, 1, 1024, busy}, 299520},
      {{Algorithm::kOneShot, 9, 65536, 1, 1024, slow}, 3010148},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(Simulated(each.input), each.ns / 1e3) << algo::Get(each.input.algorithm).name << " " << each.input.ranks
                                                    << " ranks, chunks of " << each.input.chunk_bytes;
  }
}

// A long message holds its sender until the receiver takes it.
TEST(LogGops, LongMessagesMeetTheirReceive) {
  LogGopsRanks ranks({.latency_ns = 10, .overhead_ns = 1, .gap_ns = 2, .gap_ns_per_byte = 1, .eager_bytes = 8}, 2);
  Time time = 0;
  ASSERT_TRUE(ranks.Send(0, 9, 0, time));
  EXPECT_EQ(time, 11000);
  EXPECT_EQ(ranks.MaySend(0), 10000);  // g + 8 G
  EXPECT_FALSE(ranks.Send(0, 9, 9999, time));
  EXPECT_EQ(time, 10000);
  ASSERT_TRUE(ranks.Receive(1, 9, 11000, time));
  EXPECT_EQ(time, 20000);  // o + 8 G
  EXPECT_FALSE(ranks.Receive(1, 9, 12000, time));
  EXPECT_EQ(time, 21000);  // g + 8 G
  ranks.Match(0, 8, 50000);
  EXPECT_EQ(ranks.MaySend(0), 10000);
  ranks.Match(0, 9, 50000);
  EXPECT_EQ(ranks.MaySend(0), 50000);
}

}  // namespace
}  // namespace tutti::sim
