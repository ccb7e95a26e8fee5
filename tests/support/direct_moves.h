// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_DIRECT_MOVES_H_
#define TUTTI_TESTS_SUPPORT_DIRECT_MOVES_H_

// Plans in which everybody sends directly: of collectives that only move bytes, and of all_reduces in two shots.

#include <vector>

#include "exec/gpu/lower/compile.h"
#include "exec/gpu/lower/copies.h"
#include "plan/plan.h"
#include "tutti/operation.h"

namespace tutti::tests {

inline constexpr Collective kMoves[] = {Collective::kAllGather, Collective::kAllToAll, Collective::kBroadcast,
                                        Collective::kGather, Collective::kScatter};

// A rank's part in one of these.
inline plan::RankPlan DirectMoves(Collective kind, int rank, int ranks, int root) {
  plan::RankPlan plan(kind, rank, ranks);
  plan.root = root;
  const bool piece_each = kind == Collective::kAllToAll || kind == Collective::kScatter;  // of the input
  const bool of_each = kind == Collective::kAllGather || kind == Collective::kAllToAll || kind == Collective::kGather;
  const bool sends = kind == Collective::kAllGather || kind == Collective::kAllToAll ||
                     (rank == root) != (kind == Collective::kGather);
  plan.in_blocks = plan::InPieces(plan.collective, ranks);
  plan.out_blocks = plan::OutPieces(plan.collective, ranks);
  for (int peer = 0; peer < ranks; ++peer) {
    const bool reached = kind != Collective::kGather || peer == root;
    if (peer != rank && sends && reached) plan.Add({plan::In(piece_each ? peer : 0)}, {peer}, plan::kNoBlock);
  }
  for (int peer = 0; peer < ranks; ++peer) {
    const bool gets = kind == Collective::kAllGather || kind == Collective::kAllToAll ||
                      (kind == Collective::kGather && rank == root) || (kind != Collective::kGather && peer == root);
    if (!gets) continue;
    if (peer == rank) {
      plan.Add({plan::In(piece_each ? rank : 0)}, {}, of_each ? rank : 0);
    } else {
      plan.Add({plan::Recv(peer)}, {}, of_each ? peer : 0);
    }
  }
  return plan;
}

// A rank's part in an all_reduce: a block goes to the rank of its number, which folds it and sends it to all others.
inline plan::RankPlan TwoShots(int rank, int ranks) {
  plan::RankPlan plan(Collective::kAllReduce, rank, ranks);
  plan.in_blocks = plan.out_blocks = ranks;
  std::vector<plan::Operand> operands;
  std::vector<std::int32_t> peers;
  for (int peer = 0; peer < ranks; ++peer) {
    operands.push_back(peer == rank ? plan::In(rank) : plan::Recv(peer));
    if (peer == rank) continue;
    peers.push_back(peer);
    plan.Add({plan::In(peer)}, {peer}, plan::kNoBlock);
  }
  plan.Add(operands, peers, rank);
  for (const std::int32_t peer : peers) plan.Add({plan::Recv(peer)}, {}, peer);
  return plan;
}
inline exec::gpu::PreparedPlan PrepareTwoShots(int rank, int ranks) {
  std::vector<plan::RankPlan> plans;
  for (int r = 0; r < ranks; ++r) plans.push_back(TwoShots(r, ranks));
  return *exec::gpu::PreparePlan(plans, rank);
}

// The first as copies into windows. REQUIRES: the operation is one of these.
inline exec::gpu::CopyList ListDirectMoves(const Operation& o, int rank, int ranks) {
  std::vector<plan::RankPlan> plans;
  for (int r = 0; r < ranks; ++r) plans.push_back(DirectMoves(o.kind, r, ranks, o.root));
  const Result<exec::gpu::PreparedPlan> plan = exec::gpu::PreparePlan(plans, rank);
  return exec::gpu::ListCopies(*plan, {.in = o.in, .out = o.out, .count = o.count, .type = o.type});
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_DIRECT_MOVES_H_
