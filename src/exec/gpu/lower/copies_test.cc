// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/lower/copies.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/direct_moves.h"

namespace tutti::exec::gpu {
namespace {

using Kind = Collective;

TEST(Copies, ShotsUseTheBuffersOfTheAllReduce) {
  float in[12], out[12];
  const Operation o{
      .kind = Kind::kAllReduce, .in = in, .out = out, .count = 12, .type = DataType::kFloat32, .op = ReduceOp::kAvg};
  const PreparedPlan plan = tests::PrepareTwoShots(2, 3);
  const Operation first = FirstShot(plan, o);
  EXPECT_EQ(first.kind, Kind::kReduceScatter);
  EXPECT_EQ(first.op, ReduceOp::kAvg);
  EXPECT_EQ(first.count, 4u);
  EXPECT_EQ(first.in, in);
  EXPECT_EQ(first.out, out + 8);
  const Work work{.in = in, .out = out, .count = 12, .type = DataType::kFloat32};
  const CopyList list = ListCopies(plan, work);
  ASSERT_EQ(list.count, 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(list.copies[i].peer, i);  // behind rank 2
    EXPECT_EQ(list.copies[i].from, reinterpret_cast<std::byte*>(out + 8));
    EXPECT_EQ(list.copies[i].offset, 8 * sizeof(float));
    EXPECT_EQ(list.copies[i].bytes, 4 * sizeof(float));
  }
  EXPECT_EQ(list.writes_to, 3u);
  EXPECT_EQ(list.written_by, 3u);
  EXPECT_EQ(CopiedOutputBytes(plan, o), sizeof(out));
  EXPECT_FALSE(CopiesAll(plan));
  EXPECT_TRUE(CanCopy(plan, o));
  Operation uneven = o;
  uneven.count = 11;
  EXPECT_FALSE(CanCopy(plan, uneven));
}

TEST(Copies, AreNotForOutputsThatArePiecesOfInputs) {
  float in[12], out[4];
  std::vector<plan::RankPlan> plans;
  for (int rank = 0; rank < 3; ++rank) plans.push_back(tests::DirectMoves(Kind::kScatter, rank, 3, 1));
  const PreparedPlan root = *PreparePlan(plans, 1), leaf = *PreparePlan(plans, 2);
  const auto work = [](const void* from, void* to) {
    return Operation{.kind = Kind::kScatter, .in = from, .out = to, .count = 4, .type = DataType::kFloat32, .root = 1};
  };
  EXPECT_TRUE(CopiesAll(root));
  EXPECT_TRUE(CanCopy(root, work(in, out)));
  EXPECT_FALSE(CanCopy(root, work(in, in + 4)));
  EXPECT_TRUE(CanCopy(leaf, work(nullptr, out)));
}

TEST(Copies, ListsOfAllRanksFitTogether) {
  for (const Kind kind : tests::kMoves) {
    for (int ranks = 1; ranks <= transport::p2p::kMostCopyRanks; ++ranks) {
      std::vector<CopyList> lists;
      for (int rank = 0; rank < ranks; ++rank) {
        const Operation o{.kind = kind, .count = 10, .type = DataType::kFloat32, .root = ranks / 2};
        lists.push_back(tests::ListDirectMoves(o, rank, ranks));
      }
      for (int a = 0; a < ranks; ++a) {
        for (int b = 0; b < ranks; ++b) {
          EXPECT_EQ(lists[a].writes_to >> b & 1, lists[b].written_by >> a & 1);
        }
        EXPECT_EQ(lists[a].writes_to >> a & 1, 0u);
        // At any time all ranks write to different ones, where all write.
        for (int b = 0; b < a && (kind == Kind::kAllGather || kind == Kind::kAllToAll); ++b) {
          for (int i = 0; i < ranks; ++i) EXPECT_NE(lists[a].copies[i].peer, lists[b].copies[i].peer);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tutti::exec::gpu
