// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/paces.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "transport/remote.h"

namespace tutti::watch {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Two connections with each of two peers, by two cards.
class Job {
 public:
  // A second in which each connection carries so many MB/s for such a part of the time; those with peer 1 by card eth1 a share of that.
  bool Second(double mb_per_s, double part = 0.8, double share = 1) {
    now_ns_ += kSecondNs;
    for (transport::FlowPace& flow : flows_) {
      const double rate = flow.peer == 1 && flow.card == "eth1" ? share * mb_per_s : mb_per_s;
      flow.busy_ns += static_cast<std::int64_t>(part * 1e9);
      flow.bytes += static_cast<std::uint64_t>(rate * part * 1e6);
    }
    return paces_.Note(flows_, now_ns_);
  }
  // The way to a peer.
  const Paces::Way& way(int peer) const { return paces_.ways().at(static_cast<std::size_t>(peer - 1)); }
  bool any_is_slow() const { return paces_.any_is_slow(); }
  void Rest(std::int64_t ns) { now_ns_ += ns; }
  bool Look() { return paces_.Note(flows_, now_ns_); }

 private:
  std::int64_t now_ns_ = 100 * kSecondNs;
  std::vector<transport::FlowPace> flows_ = {{.peer = 1, .flow = 0, .card = "eth0"},
                                             {.peer = 1, .flow = 1, .card = "eth1"},
                                             {.peer = 2, .flow = 0, .card = "eth0"},
                                             {.peer = 2, .flow = 1, .card = "eth1"}};
  Paces paces_;
};

TEST(Paces, KnowsWhatIsUsualAfterThreeSeconds) {
  Job job;
  EXPECT_FALSE(job.Second(100));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(job.Second(100));
    EXPECT_EQ(job.way(1).usual_bytes_per_s, 0);
    EXPECT_DOUBLE_EQ(job.way(1).bytes_per_s, 100e6);
  }
  EXPECT_TRUE(job.Second(60));
  EXPECT_DOUBLE_EQ(job.way(1).usual_bytes_per_s, 100e6);
  EXPECT_FALSE(job.any_is_slow());
}

TEST(Paces, NamesTheCardThatIsSlow) {
  Job job;
  for (int i = 0; i < 6; ++i) job.Second(100);
  // For as long as it stays so: slow seconds do not become what is usual.
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(job.Second(100, 0.9, 0.1));
    EXPECT_TRUE(job.any_is_slow());
    EXPECT_EQ(job.way(1).peer, 1);
    EXPECT_EQ(job.way(1).card, "eth1");
    EXPECT_DOUBLE_EQ(job.way(1).bytes_per_s, 10e6);
    EXPECT_DOUBLE_EQ(job.way(1).usual_bytes_per_s, 100e6);
    EXPECT_FALSE(job.way(2).is_slow());
  }
  job.Second(100);
  EXPECT_FALSE(job.any_is_slow());
}

// It is not the link that holds the job up.
TEST(Paces, SaysNothingWhereThereIsLittleToSend) {
  Job job;
  for (int i = 0; i < 6; ++i) job.Second(100);
  EXPECT_TRUE(job.Second(10, 0.15));
  EXPECT_EQ(job.way(1).bytes_per_s, 0);
  EXPECT_FALSE(job.any_is_slow());
}

// Nor is what is sent seldom and slowly learned as usual.
TEST(Paces, DoesNotLearnFromSlowSeconds) {
  Job job;
  for (int i = 0; i < 6; ++i) job.Second(100);
  for (int i = 0; i < 100; ++i) job.Second(10, 0.1);
  job.Second(10, 0.9);
  EXPECT_TRUE(job.any_is_slow());
  EXPECT_DOUBLE_EQ(job.way(1).usual_bytes_per_s, 100e6);
}

// Each peer of a card has a part of the time.
TEST(Paces, SharesTheTimeOfACard) {
  Job job;
  for (int i = 0; i < 6; ++i) job.Second(100);
  job.Second(10, 0.3);
  EXPECT_TRUE(job.way(1).is_slow());
  EXPECT_TRUE(job.way(2).is_slow());
}

// Bursts tell what is usual as well.
TEST(Paces, LearnsFromShortBursts) {
  Job job;
  for (int i = 0; i < 6; ++i) job.Second(100, 0.05);
  EXPECT_TRUE(job.Second(20, 0.9));
  EXPECT_TRUE(job.any_is_slow());
}

TEST(Paces, ForgetsASecondInWhichNobodyLooked) {
  Job job;
  for (int i = 0; i < 6; ++i) job.Second(100);
  EXPECT_FALSE(job.Look());
  job.Rest(5 * kSecondNs);
  EXPECT_FALSE(job.Second(1));
  EXPECT_FALSE(job.any_is_slow());
  EXPECT_TRUE(job.Second(100));
}

}  // namespace
}  // namespace tutti::watch
