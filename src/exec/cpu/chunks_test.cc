// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/chunks.h"

#include <gtest/gtest.h>

#include "plan/footprint.h"

namespace tutti::exec::cpu {
namespace {

using proto::Protocol;

// A rank sends each block to the other one, and gets it back.
plan::RankPlan TwoShot(int rank, bool keeps) {
  plan::RankPlan plan(Collective::kAllReduce, rank, 2);
  plan.in_blocks = plan.out_blocks = 2;
  plan.link_slots = 2;
  const int peer = 1 - rank;
  plan.Add({plan::Recv(peer)}, {}, peer, 2);
  plan.Add({plan::In(rank), plan::Recv(peer)}, {peer}, keeps ? rank : plan::kNoBlock, 1);
  plan.Add({plan::In(peer)}, {peer}, plan::kNoBlock, 0);
  return plan;
}

plan::Footprint FootprintOf(bool keeps) {
  const plan::RankPlan plans[] = {TwoShot(0, keeps), TwoShot(1, keeps)};
  return plan::MeasureFootprint(plans);
}

ChunkRules Rules(bool several_hosts, std::size_t pool_bytes) {
  return {.pool_bytes = pool_bytes, .ranks = 2, .several_hosts = several_hosts};
}

constexpr std::size_t kSmallPool = std::size_t{512} << 10, kLargePool = std::size_t{64} << 20;

TEST(ChunkRules, PlansBetweenHostsRunDeeperWhereTheyRefer) {
  const plan::Footprint footprint = FootprintOf(true);
  const ChunkRules hosts = Rules(true, kSmallPool);
  EXPECT_EQ(hosts.DepthFor(footprint, Protocol::kSimple, true), kHostsDepth);
  EXPECT_EQ(hosts.DepthFor(footprint, Protocol::kSimple, false), 1);
  EXPECT_EQ(hosts.DepthFor(footprint, Protocol::kLl128, false), 1);
  EXPECT_EQ(Rules(false, kLargePool).DepthFor(footprint, Protocol::kSimple, true), 1);
}

TEST(ChunkRules, DeeperPlansHaveShorterChunksThatThePoolDoesNotLimit) {
  const ChunkRules hosts = Rules(true, kSmallPool);
  const plan::Footprint footprint = FootprintOf(true);
  EXPECT_LT(hosts.ForPlan(footprint, Protocol::kSimple, true, 1), kMaxDeepChunkBytes);
  EXPECT_EQ(hosts.ForPlan(plan::Deepen(footprint, kHostsDepth), Protocol::kSimple, true, 1), kMaxDeepChunkBytes);
}

// Such values go through the pool, so it must hold enough of them.
TEST(ChunkRules, PlansWhoseValuesAreKeptNowhereRunDeeperOnlyWithALargePool) {
  const plan::Footprint footprint = FootprintOf(false);
  EXPECT_EQ(Rules(true, kSmallPool).DepthFor(footprint, Protocol::kSimple, true), 1);
  EXPECT_EQ(Rules(true, kLargePool).DepthFor(footprint, Protocol::kSimple, true), kHostsDepth);
}

TEST(ChunkRules, PlansThatFillTheLinksRunAsTheyAre) {
  plan::Footprint footprint = FootprintOf(true);
  footprint.link_slots = 31;
  EXPECT_EQ(Rules(true, kLargePool).DepthFor(footprint, Protocol::kSimple, true), 1);
  EXPECT_GT(Rules(true, kLargePool).ForPlan(footprint, Protocol::kSimple, true, 1), 0U);
}

TEST(ChunkRules, ReducesGoThroughThePoolInShorterChunks) {
  plan::Footprint footprint = FootprintOf(true);
  const ChunkRules host = Rules(false, kLargePool);
  EXPECT_EQ(host.ForPlan(footprint, Protocol::kSimple, false, 1), kMaxPoolChunkBytes);
  footprint.collective = Collective::kReduce;
  EXPECT_EQ(host.ForPlan(footprint, Protocol::kSimple, false, 1), kMaxReduceChunkBytes);
  EXPECT_GT(Rules(true, kLargePool).ForPlan(footprint, Protocol::kSimple, false, 1), kMaxReduceChunkBytes);
}

// What is folded is in a cache when it has been read. Where a value can not be referred to it goes through the pool, which has room for it.
TEST(ChunkRules, FoldsByReferenceHaveLongerChunksThatThePoolHoldsToo) {
  const plan::Footprint footprint = FootprintOf(true);
  ChunkRules host = Rules(false, kLargePool);
  const std::size_t chunk = host.ForPlan(footprint, Protocol::kSimple, true, 1);
  EXPECT_GT(chunk, kMaxPoolChunkBytes);
  EXPECT_TRUE(ChunkRules::MayTakePages(chunk));
  plan::Footprint reduce = footprint;
  reduce.collective = Collective::kReduce;
  EXPECT_EQ(host.ForPlan(reduce, Protocol::kSimple, true, 1), chunk);
  host.ranks = 4;
  EXPECT_EQ(host.ForPlan(footprint, Protocol::kSimple, true, 1), chunk / 2);
  host.ranks = 64;
  EXPECT_GT(host.ForPlan(footprint, Protocol::kSimple, true, 1), 0U);
  const std::size_t small = static_cast<std::size_t>(footprint.window) * 65536;
  EXPECT_EQ(Rules(false, small).ForPlan(footprint, Protocol::kSimple, true, 1), 65536U);
  EXPECT_EQ(Rules(false, small).ForPlan(footprint, Protocol::kSimple, true, 2), 32768U);
}

// Each rank copies its own block too, part by part with what its peers read.
TEST(ChunkRules, AllGathersReferInShorterPartsThanOtherCopies) {
  plan::Footprint footprint = FootprintOf(true);
  footprint.forwards = false;
  const ChunkRules host = Rules(false, kLargePool);
  footprint.collective = Collective::kGather;
  const std::size_t gather = host.ForPlan(footprint, Protocol::kSimple, true, 1);
  footprint.collective = Collective::kAllGather;
  EXPECT_LT(host.ForPlan(footprint, Protocol::kSimple, true, 1), gather);
  EXPECT_GT(host.ForPlan(footprint, Protocol::kSimple, true, 1), kMaxPoolChunkBytes);
}

}  // namespace
}  // namespace tutti::exec::cpu
