// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_ALGO_BUILD_H_
#define TUTTI_ALGO_BUILD_H_

// What the algorithms of this folder share: the frame of a plan and the small lists that steps are made of.
// Also one function per algorithm that gives its registry entry; registry.cc is the only caller.

#include <cstdint>
#include <vector>

#include "algo/algorithm.h"
#include "plan/plan.h"

namespace tutti::algo {

Entry OneShotEntry();
Entry TwoShotEntry();
Entry RingEntry();
Entry TreeEntry();
Entry DoubleTreeEntry();
Entry HalvingDoublingEntry();
Entry RecursiveDoublingEntry();
Entry PatEntry();
Entry PairwiseEntry();
Entry HierLeaderEntry();
Entry HierOneShotEntry();
Entry HierTwoShotEntry();
Entry HierRingEntry();
Entry HierTreeEntry();
Entry HierHalvingDoublingEntry();
Entry HierRecursiveDoublingEntry();
Entry NvlsEntry();
Entry NvlsTreeEntry();
Entry NvlsSharpEntry();
Entry SharpEntry();
Entry CollnetDirectEntry();
Entry CollnetChainEntry();

// The stages of a step that is one hop later than another.
inline constexpr int kStage0 = 0, kStage1 = 1, kStage2 = 2;

// For Entry::rank_ordered of an algorithm that folds up to so many ranks in rank order.
inline bool InOrderUpTo(int ranks, const Hosts& hosts) { return hosts.flat() && hosts.ranks() <= ranks; }

// x modulo n, never negative: a rank counted from elsewhere on the circle.
constexpr int Wrap(int x, int n) { return (x % n + n) % n; }

// A plan without steps: every piece in `blocks` blocks, none for a buffer that this rank does not have (the
// input of a leaf of a broadcast or scatter, the output of a leaf of a reduce or gather).
plan::RankPlan Start(const Request& request, int blocks, int link_slots);

// The plan of a single rank: its input is its output.
plan::RankPlan LocalCopy(const Request& request);

// All other ranks, nearest first: rank + 1, rank + 2, ..., so that no two ranks begin with the same peer.
std::vector<std::int32_t> PeersAfter(int rank, int ranks);
// The same the other way round, rank - 1, rank - 2, ...: the order in which the others' values arrive.
std::vector<std::int32_t> PeersBefore(int rank, int ranks);

// The fold of one block over this rank and `peers`, operands in rank order whatever the order of `peers`.
std::vector<plan::Operand> Fold(int rank, int block, std::vector<std::int32_t> peers);

// Messages that a link must hold at once, for a plan that looks the same from every rank (send and receive
// distances equal) and runs in stage 0: then all ranks pass step i together, and what is sent up to step i
// but received in step i or later must have room.
int SlotsOfRotation(const plan::RankPlan& plan);

}  // namespace tutti::algo

#endif  // TUTTI_ALGO_BUILD_H_
