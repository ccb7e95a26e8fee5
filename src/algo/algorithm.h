// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_ALGO_ALGORITHM_H_
#define TUTTI_ALGO_ALGORITHM_H_

// The registry of algorithms. An algorithm is one file in this folder that turns a request into one rank's plan;
// it knows nothing of who runs the plan. To add one: write the file, add a line to registry.cc.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::algo {

enum class Algorithm : std::uint8_t {
  kOneShot,            // everybody sends everything directly; one hop
  kTwoShot,            // direct reduce-scatter, then direct all-gather; two hops
  kRing,               // neighbours only; bandwidth-optimal, linear latency
  kTree,               // one binary tree
  kDoubleTree,         // two complementary binary trees, half of the data each
  kHalvingDoubling,    // recursive halving and doubling
  kRecursiveDoubling,  // whole vectors across a hypercube
  kPat,                // logarithmic all-gather and reduce-scatter for any rank count
  kPairwise,           // p2p rounds: in round k every rank meets rank +k and rank -k
};
inline constexpr int kAlgorithms = 9;

struct Request {
  Collective collective;
  int rank;
  int ranks;
  int root = 0;     // where HasRoot(collective)
  int channel = 0;  // an algorithm may give each channel another ring or tree
  // The ranks that a rank meets are to be the same whatever the collective and its root, and few: see Entry::few_links.
  bool fixed_links = false;
};

// One entry of the registry.
struct Entry {
  Algorithm algorithm;
  std::string_view name;       // "one_shot"; what NCCL_ALGO, the tools and the docs call it
  std::string_view nccl_name;  // NCCL's name for the nearest of its algorithms ("RING", "TREE", "PAT"), or ""
  // True where this algorithm can do `collective` among `ranks` ranks.
  bool (*supports)(Collective collective, int ranks);
  // True where every reduced value is the fold, in rank order 0, 1, 2, ..., of the ranks' inputs in one step (or
  // steps that only move values), so that results carry the same bits as any other algorithm for which this holds.
  bool (*rank_ordered)(Collective collective, int ranks);
  // True where a step's input or output block may be read by its receiver straight from the sender's user buffer
  // even when the operation is in place: every rank's read of a block happens before (through the plan's own
  // messages) any store by the owner to the same place. Checked by plan::Check.
  bool (*in_place_by_reference)(Collective collective, int ranks);
  // True where there is a plan over fixed links: those of this algorithm's all_reduce, whatever the root, which join a rank
  // with at most kMostFixedPeers others. Executors that know few peers go by such plans (docs/decisions/0014-many-ranks.md).
  bool (*few_links)(Collective collective);
  // REQUIRES: supports(request.collective, request.ranks); rank, root within range; few_links(request.collective) where
  // request.fixed_links.
  plan::RankPlan (*build)(const Request& request);
};

// Whether a step's block may be read straight from the sender's user buffer: what in_place_by_reference says, and always
// in an all_to_all, which has no in-place form and sends nothing but inputs.
bool MayRefer(const Entry& entry, Collective collective, int ranks);

// Of Entry::few_links: two trees, in one of which the rank is a leaf.
inline constexpr int kMostFixedPeers = 4;

// All algorithms, in the order of the enum.
std::span<const Entry> Registry();
const Entry& Get(Algorithm algorithm);
// By name ("two_shot") or by NCCL's name, any case; nullopt when unknown.
std::optional<Algorithm> ParseAlgorithm(std::string_view name);

// The plan of every rank, for the checker and the tools. REQUIRES: as Entry::build.
std::vector<plan::RankPlan> BuildAll(Algorithm algorithm, Collective collective, int ranks, int root = 0,
                                     int channel = 0);
// The same over fixed links. REQUIRES: Entry::few_links.
std::vector<plan::RankPlan> BuildAllOverFixedLinks(Algorithm algorithm, Collective collective, int ranks, int root = 0);

// A point-to-point transfer inside a group. `block` is the position of its buffer in the caller's list of sends or
// receives.
struct Transfer {
  int peer;           // may be the rank itself: a send to self meets the receive from self, in order
  std::size_t count;  // bytes
};

// The plan of a group of sends and receives of any sizes, with the round schedule of kPairwise: all transfers are
// in flight together, in an order in which no two ranks wait for each other. Send i reads in-block i, receive j
// writes out-block j; in_sizes and out_sizes are filled. Transfers between the same two ranks match in list order.
// Self transfers become plain copies. REQUIRES: as many sends to self as receives from self, of equal counts.
plan::RankPlan BuildSendRecv(int rank, int ranks, std::span<const Transfer> sends, std::span<const Transfer> receives);

}  // namespace tutti::algo

#endif  // TUTTI_ALGO_ALGORITHM_H_
