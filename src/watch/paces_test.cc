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
  bool wants_comparing() const { return paces_.wants_comparing(); }
  double Carries(int peer, const std::string& card) const { return paces_.Carries(peer, card, true); }
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

TEST(Paces, IsComparedWithOthersNowAndThenWhereTheNetworkIsWhatTakesTheTime) {
  Job job;
  job.Second(100);
  std::vector<int> seconds;
  const int known = 3;  // seconds, until it is known what the ways carry
  for (int second = 1; second <= 40; ++second) {
    job.Second(100);
    EXPECT_EQ(job.Carries(1, "eth0"), second < known ? 0 : 100e6);
    if (job.wants_comparing()) seconds.push_back(second - known + 1);
  }
  ASSERT_EQ(seconds.size(), 27u);
  EXPECT_EQ(seconds[0], 1);
  EXPECT_EQ(seconds[20], 21) << "the 6 from the 16th on";
  EXPECT_EQ(seconds[21], 32);
  EXPECT_EQ(seconds[26], 37);
  // Not while something else does.
  Job other;
  for (int second = 0; second < 20; ++second) {
    other.Second(100, 0.1);
    EXPECT_FALSE(other.wants_comparing());
  }
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

TEST(Paces, GoesOnWhereASlowWayHasLessToSend) {
  Job job;
  for (int i = 0; i < 6; ++i) job.Second(100);
  job.Second(10, 0.17);
  EXPECT_FALSE(job.any_is_slow());
  for (const double part : {0.3, 0.22, 0.3, 0.22}) {
    job.Second(10, part);
    EXPECT_TRUE(job.any_is_slow()) << part;
  }
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

// One connection of which the system counts what goes over it, with packets of 1448 bytes.
class CountedJob {
 public:
  // For such a part of a second something is under way, and a round trip takes so long; for the part `much` there is much to send.
  void Second(double mb_per_s, double part, double trip_ms, double much = 0) {
    now_ns_ += kSecondNs;
    transport::FlowPace& flow = flows_[0];
    flow.busy_ns += static_cast<std::int64_t>(much * 1e9);
    flow.bytes += static_cast<std::uint64_t>(mb_per_s * much * 1e6);
    flow.traffic.busy_ns += static_cast<std::int64_t>(part * 1e9);
    flow.traffic.arrived += static_cast<std::uint64_t>(mb_per_s * part * 1e6);
    flow.traffic.round_trip_ns = static_cast<std::int64_t>(trip_ms * 1e6);
    flow.traffic.is_queued = is_queued;
    paces_.Note(flows_, now_ns_);
  }
  bool is_queued = true;  // in the card
  void Reconnect() { flows_[0].traffic = {.busy_ns = 1, .packet_bytes = 1448}; }
  const Paces::Way& way() const { return paces_.ways().at(0); }

 private:
  std::int64_t now_ns_ = 100 * kSecondNs;
  std::vector<transport::FlowPace> flows_ = {
      {.peer = 1, .flow = 0, .card = "eth0", .traffic = {.busy_ns = 1, .packet_bytes = 1448}}};
  Paces paces_;
};

// LL along a tree: 8 KiB at a time.
TEST(Paces, FindsASlowWayWithLittleUnderWay) {
  CountedJob job;
  for (int i = 0; i < 6; ++i) job.Second(24, 0.9, 0.2);
  EXPECT_DOUBLE_EQ(job.way().usual_bytes_per_s, 24e6);
  EXPECT_FALSE(job.way().is_slow());
  for (int i = 0; i < 100; ++i) {
    job.Second(i % 2 == 0 ? 8 : 10, 1, 0.6);
    EXPECT_TRUE(job.way().is_slow()) << i;
    if (i < 2) {
      EXPECT_DOUBLE_EQ(job.way().bytes_per_s, i == 0 ? 8e6 : 9e6);
    }
    EXPECT_DOUBLE_EQ(job.way().usual_bytes_per_s, 24e6);
    EXPECT_NEAR(job.way().arrived_bytes_per_s, 9e6, 1.1e6);
  }
  // One round trip that happens to be short does not end it.
  job.Second(9, 1, 0.2);
  EXPECT_TRUE(job.way().is_slow());
  job.Second(24, 0.9, 0.2);
  EXPECT_FALSE(job.way().is_slow());
  job.Second(9, 1, 0.2);
  EXPECT_FALSE(job.way().is_slow());
}

// Who sends less at a time gets less through while each round trip takes as long as ever.
TEST(Paces, DoesNotCallShorterMessagesSlow) {
  CountedJob job;
  for (int i = 0; i < 6; ++i) job.Second(24, 0.9, 0.3);
  for (int i = 0; i < 20; ++i) {
    job.Second(3, 0.9, 0.3);
    EXPECT_FALSE(job.way().is_slow());
  }
  // Nor where the word that the last packet has come is put off.
  CountedJob sparse;
  for (int i = 0; i < 6; ++i) sparse.Second(24, 0.9, 0.3);
  for (int i = 0; i < 20; ++i) {
    sparse.Second(0.01, 0.9, 40);
    EXPECT_FALSE(sparse.way().is_slow());
  }
}

// Cores that have no time for packets make all of it longer, and nothing waits in the card.
TEST(Paces, CallsNoWaySlowWhereNothingWaitsInItsCard) {
  CountedJob job;
  for (int i = 0; i < 6; ++i) job.Second(24, 0.9, 0.2);
  for (int i = 0; i < 20; ++i) {
    job.is_queued = i % 3 == 1;
    job.Second(2, 0.9, 4);
    EXPECT_FALSE(job.way().is_slow()) << i;
  }
  job.is_queued = true;
  for (int i = 0; i < 8; ++i) job.Second(2, 0.9, 4);
  EXPECT_TRUE(job.way().is_slow());
}

// A round trip on a way that much is sent over takes as long as there is to send.
TEST(Paces, ComparesSecondsWithMuchToSendAmongThemselves) {
  CountedJob job;
  for (int i = 0; i < 6; ++i) job.Second(24, 1, 8, 0.9);
  job.Second(9, 1, 9, 0.9);
  EXPECT_TRUE(job.way().is_slow());
  // For half of the time something is under way, and little: that its way back is slow says nothing.
  job.Second(9, 0.5, 9, 0.1);
  EXPECT_FALSE(job.way().is_slow());
}

TEST(Paces, LearnsFromThePartOfASecondInWhichThereWasMuchToSend) {
  CountedJob job;
  for (int i = 0; i < 6; ++i) job.Second(24, 0.8, 2, 0.1);
  job.Second(9, 1, 9, 0.9);
  EXPECT_DOUBLE_EQ(job.way().usual_bytes_per_s, 24e6);
  EXPECT_TRUE(job.way().is_slow());
}

TEST(Paces, BeginsAnewWithAnotherConnection) {
  CountedJob job;
  for (int i = 0; i < 6; ++i) job.Second(24, 0.9, 0.2);
  job.Reconnect();
  job.Second(24, 0.9, 0.2);
  EXPECT_NEAR(job.way().bytes_per_s, 24e6, 1e5);
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
