// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Rings in another order than that of the ranks: proven by the checker, and run in the same forms.
#include "comm/gpu/ring_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "algo/algorithm.h"
#include "comm/gpu/links.h"
#include "plan/check.h"
#include "plan/forms.h"
#include "transport/p2p/sections.h"

namespace tutti::comm {
namespace {

using plan::RankPlan;

std::vector<std::vector<int>> Rings() {
  return {{0, 2, 1, 3}, {3, 1, 2, 0}, {2, 0, 1}, {1, 0}, {4, 2, 0, 1, 3}, {7, 5, 3, 1, 0, 2, 4, 6}};
}

GpuLinks LinksOf(const std::vector<int>& ring) {
  const int ranks = static_cast<int>(ring.size());
  return GpuLinks(ranks, transport::p2p::Sections::Fit(ranks, 8, std::size_t{64} << 20), ring);
}

// Whom each rank sends to.
std::vector<std::set<int>> NextOf(const std::vector<RankPlan>& plans) {
  std::vector<std::set<int>> next(plans.size());
  for (const RankPlan& plan : plans) {
    for (int i = 0; i < plan.step_count(); ++i) {
      next[static_cast<std::size_t>(plan.rank)].insert(plan.step(i).to.begin(), plan.step(i).to.end());
    }
  }
  return next;
}

TEST(RingOrder, EveryCollectiveOfARingIsStillRight) {
  const algo::Entry& entry = algo::Get(algo::Algorithm::kRing);
  for (const std::vector<int>& ring : Rings()) {
    const int ranks = static_cast<int>(ring.size());
    const GpuLinks links = LinksOf(ring);
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (!entry.supports(collective, ranks)) continue;
      for (int root = 0; root < (HasRoot(collective) ? ranks : 1); ++root) {
        const std::vector<RankPlan> plans = links.PlansOf(algo::Algorithm::kRing, collective, root);
        ASSERT_EQ(std::ssize(plans), ranks);
        for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(plans[static_cast<std::size_t>(rank)].rank, rank);
        EXPECT_EQ(plans.front().root, root);
        const Status right = plan::Check(plans, {});
        EXPECT_TRUE(right.ok()) << fmt::format("{} root {} over {}: ", Name(collective), root, fmt::join(ring, ","))
                                << right.message();
        EXPECT_EQ(plan::FindForms(plans),
                  plan::FindForms(algo::BuildAll(algo::Algorithm::kRing, collective, ranks, root)))
            << Name(collective) << " over " << fmt::format("{}", fmt::join(ring, ","));
      }
    }
  }
}

TEST(RingOrder, EachRankSendsToTheNextOneOfTheRing) {
  for (const std::vector<int>& ring : Rings()) {
    const std::vector<std::set<int>> next =
        NextOf(LinksOf(ring).PlansOf(algo::Algorithm::kRing, Collective::kAllReduce, 0));
    for (std::size_t i = 0; i < ring.size(); ++i) {
      EXPECT_EQ(next[static_cast<std::size_t>(ring[i])], std::set{ring[(i + 1) % ring.size()]});
    }
  }
}

TEST(RingOrder, OtherAlgorithmsGoByRanks) {
  const std::vector<int> ring = {0, 2, 1, 3};
  for (const algo::Entry& entry : algo::Registry()) {
    if (entry.algorithm == algo::Algorithm::kRing || !entry.supports(Collective::kAllReduce, 4)) continue;
    EXPECT_EQ(LinksOf(ring).PlansOf(entry.algorithm, Collective::kAllReduce, 0),
              algo::BuildAll(entry.algorithm, Collective::kAllReduce, 4))
        << entry.name;
  }
}

// Of more ranks than a kernel can name plans go over fixed links, and ranks sit there by their neighbours in the ring.
TEST(RingOrder, ManyRanksSitByTheirNeighbours) {
  std::vector<int> ring(24);
  std::iota(ring.begin(), ring.end(), 0);
  std::stable_partition(ring.begin(), ring.end(), [](int rank) { return rank % 2 == 0; });
  GpuLinks links = LinksOf(ring);
  const exec::gpu::Seating* const seating = links.FindSeating(algo::Algorithm::kRing);
  ASSERT_NE(seating, nullptr);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const int own = ring[i], next = ring[(i + 1) % ring.size()], after = ring[(i + 2) % ring.size()];
    const auto seat = [&](int rank) { return seating->seats_of[static_cast<std::size_t>(rank)]; };
    EXPECT_NE(seat(own), seat(next));
    EXPECT_NE(seat(own), seat(after)) << "both are neighbours of rank " << next;
  }
  for (const Collective collective : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter}) {
    const Status right = plan::Check(links.PlansOf(algo::Algorithm::kRing, collective, 0), {});
    EXPECT_TRUE(right.ok()) << Name(collective) << ": " << right.message();
  }
}

}  // namespace
}  // namespace tutti::comm
