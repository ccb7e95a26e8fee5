// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_DIRECT_MOVES_H_
#define TUTTI_TESTS_SUPPORT_DIRECT_MOVES_H_

// Collectives that only move bytes, by plans in which everybody sends directly.

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

// The same as copies into windows. REQUIRES: the operation is one of these.
inline exec::gpu::CopyList ListDirectMoves(const Operation& o, int rank, int ranks) {
  std::vector<plan::RankPlan> plans;
  for (int r = 0; r < ranks; ++r) plans.push_back(DirectMoves(o.kind, r, ranks, o.root));
  const Result<exec::gpu::PreparedPlan> plan = exec::gpu::PreparePlan(plans, rank);
  return exec::gpu::ListCopies(*plan, {.in = o.in, .out = o.out, .count = o.count, .type = o.type});
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_DIRECT_MOVES_H_
