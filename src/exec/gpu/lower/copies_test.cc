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
  const Shots shots = ShotsOf(o, 2, 3);
  EXPECT_EQ(shots.scatter.kind, Kind::kReduceScatter);
  EXPECT_EQ(shots.scatter.op, ReduceOp::kAvg);
  EXPECT_EQ(shots.scatter.count, 4u);
  EXPECT_EQ(shots.scatter.in, in);
  EXPECT_EQ(shots.scatter.out, out + 8);
  EXPECT_EQ(shots.gather.kind, Kind::kAllGather);
  EXPECT_EQ(shots.gather.count, 4u);
  EXPECT_EQ(shots.gather.in, out + 8);
  EXPECT_EQ(shots.gather.out, out);
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
