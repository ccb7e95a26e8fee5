// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/p2p/sections.h"

#include <gtest/gtest.h>

namespace tutti::transport::p2p {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Two ranks of a round agree on who sits where.
void ExpectAgreement(int ranks, int round, int a, int b) {
  const Round at_a(ranks, round, a), at_b(ranks, round, b);
  ASSERT_EQ(at_a.Has(b), at_b.Has(a));
  if (!at_a.Has(b)) return;
  ASSERT_EQ(at_a.SeatOf(a), at_b.SeatOf(a));
  ASSERT_EQ(at_a.SeatOf(b), at_b.SeatOf(b));
  ASSERT_EQ(at_a.RankAt(at_a.SeatOf(b)), b);
  for (int seat = 0; seat < kSeats; ++seat) ASSERT_EQ(at_a.RankAt(seat), at_b.RankAt(seat));
}

TEST(Round, EveryTwoRanksMeetInOne) {
  for (int ranks = kSeats + 1; ranks <= kMaxRanks; ++ranks) {
    for (int a = 0; a < ranks; ++a) {
      for (int b = 0; b < ranks; ++b) {
        int met = 0;
        for (int round = 0; round < RoundsOf(ranks); ++round) {
          met += Round(ranks, round, a).Has(b) ? 1 : 0;
          ExpectAgreement(ranks, round, a, b);
        }
        ASSERT_EQ(met, 1) << a << " and " << b << " of " << ranks;
      }
    }
  }
}

TEST(Round, AreAsFewAsTheGroupsAllow) {
  EXPECT_EQ(RoundsOf(16), 1);
  EXPECT_EQ(RoundsOf(17), 3);
  EXPECT_EQ(RoundsOf(32), 3);
  EXPECT_EQ(RoundsOf(64), 7);
  EXPECT_EQ(RoundsOf(72), 9);
}

TEST(Sections, OfFewRanksAreOneLayout) {
  for (int ranks = 1; ranks <= kSeats; ++ranks) {
    const Sections sections = Sections::Fit(ranks, 128, 64 * kMiB);
    const Layout layout = Layout::Fit(ranks, 128, 64 * kMiB);
    EXPECT_EQ(sections.count(), 1);
    EXPECT_EQ(sections.Bytes(), layout.Bytes());
    EXPECT_EQ(sections.Counts(), layout.Counts());
    EXPECT_EQ(sections.At(0).TransferState(2, 1, 0, 0), layout.TransferState(2, 1, 0, 0));
  }
}

TEST(Sections, OfManyRanksStayWithinTwiceTheMemory) {
  for (int ranks = kSeats + 1; ranks <= kMaxRanks; ++ranks) {
    for (const std::size_t mib : {32, 64, 256}) {
      for (const int channels : {1, 4, 128}) {
        const Sections sections = Sections::Fit(ranks, channels, mib * kMiB);
        EXPECT_LE(sections.Bytes(), 2 * mib * kMiB) << ranks;
        EXPECT_LE(sections.Counts() + sizeof(LaunchCounts), sections.Bytes());
        for (int s = 0; s < sections.count(); ++s) {
          EXPECT_EQ(sections.Begin(s) % 1024, 0u);  // lines of LL128 lie whole
          const std::size_t end = s + 1 < sections.count() ? sections.Begin(s + 1) : sections.Bytes();
          EXPECT_GE(end, sections.Begin(s) + sections.At(s).Bytes());
        }
        EXPECT_GE(sections.round.transfers.channels, 1);
        EXPECT_GE(sections.round.transfers.RingBytes(2), std::size_t{8} << 10);  // four messages
      }
    }
  }
}

// In a round of an all_gather each rank's message is on every link, and links hold two rounds.
TEST(Sections, RingsOfLl128HoldAMessageOfEachRankTwice) {
  for (int ranks = kSeats + 1; ranks <= kMaxRanks; ++ranks) {
    for (const std::size_t mib : {32, 64}) {
      const Sections sections = Sections::Fit(ranks, 128, mib * kMiB);
      for (const LinkKind kind : {LinkKind::kRing, LinkKind::kTree}) {
        const Geometry& g = sections.At(sections.SectionOf(kind)).collectives;
        EXPECT_GE(1 << g.log2_units[1], 2 * (ranks - 1));
        EXPECT_GE(1 << g.log2_units[0], 2 * (ranks - 1));
      }
    }
  }
}

}  // namespace
}  // namespace tutti::transport::p2p
