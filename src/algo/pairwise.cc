// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Pairwise: p2p rounds. In round k every rank meets the ranks k ahead and k behind.
//
//   all_to_all, rank r of n, round k = 1 ... n/2
//     send in(r+k) to r+k and in(r-k) to r-k, then receive out(r-k) and out(r+k)
//
// As many bytes and messages as sending everything directly, but at any time a rank talks to two peers only,
// so that links and buffers are shared by few. n/2 hops. In place: what goes to a peer leaves before what
// comes from it is stored.
//
// A group of sends and receives (BuildSendRecv) is sparse and must not wait in rounds: here all first
// transfers between any two ranks leave at once, in the same rotated order, then all first ones are received,
// then come the second ones, and so on. Both ends of a link agree on how many transfers it has, so nobody
// waits in a circle.

#include <algorithm>
#include <vector>

#include "algo/build.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::RankPlan;
using plan::Recv;

// The peers of round k: one where the rank ahead is the rank behind.
std::vector<std::int32_t> Meets(int rank, int ranks, int k) {
  const int ahead = Wrap(rank + k, ranks);
  const int behind = Wrap(rank - k, ranks);
  if (ahead == behind) return {ahead};
  return {ahead, behind};
}

RankPlan AllGather(const Request& q) {
  RankPlan plan = Start(q, 1, 1);
  plan.Add({In(0)}, {}, q.rank);
  for (int k = 1; k <= q.ranks / 2; ++k) {
    const std::vector<std::int32_t> peers = Meets(q.rank, q.ranks, k);
    plan.Add(std::vector{In(0)}, peers, kNoBlock);
    for (auto peer = peers.rbegin(); peer != peers.rend(); ++peer) plan.Add({Recv(*peer)}, {}, *peer);
  }
  return plan;
}

RankPlan AllToAll(const Request& q) {
  RankPlan plan = Start(q, 1, 1);
  plan.Add({In(q.rank)}, {}, q.rank);
  for (int k = 1; k <= q.ranks / 2; ++k) {
    const std::vector<std::int32_t> peers = Meets(q.rank, q.ranks, k);
    for (int peer : peers) plan.Add({In(peer)}, {peer}, kNoBlock);
    for (auto peer = peers.rbegin(); peer != peers.rend(); ++peer) plan.Add({Recv(*peer)}, {}, *peer);
  }
  return plan;
}

RankPlan Gather(const Request& q) {
  RankPlan plan = Start(q, 1, 1);
  if (q.rank != q.root) {
    plan.Add({In(0)}, {q.root}, kNoBlock);
    return plan;
  }
  plan.Add({In(0)}, {}, q.rank);
  for (int k = 1; k <= q.ranks / 2; ++k) {
    for (int peer : Meets(q.rank, q.ranks, k)) plan.Add({Recv(peer)}, {}, peer);
  }
  return plan;
}

RankPlan Scatter(const Request& q) {
  RankPlan plan = Start(q, 1, 1);
  if (q.rank != q.root) {
    plan.Add({Recv(q.root)}, {}, 0);
    return plan;
  }
  for (int k = 1; k <= q.ranks / 2; ++k) {
    for (int peer : Meets(q.rank, q.ranks, k)) plan.Add({In(peer)}, {peer}, kNoBlock);
  }
  plan.Add({In(q.rank)}, {}, 0);
  return plan;
}

RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  switch (q.collective) {
    case Collective::kAllGather:
      return AllGather(q);
    case Collective::kGather:
      return Gather(q);
    case Collective::kScatter:
      return Scatter(q);
    default:
      return AllToAll(q);
  }
}

// One side of a group: which blocks go to (or come from) each peer, in the caller's order.
struct Lane {
  int hops;  // from the rank, in the direction of the data
  int peer;
  std::vector<int> blocks;
};

// `direction` +1: peers ahead come first (sends); -1: peers behind (receives), so that both ends agree.
std::vector<Lane> Lanes(int rank, int ranks, std::span<const Transfer> transfers, int direction) {
  std::vector<Lane> lanes;
  std::vector<int> lane_of(ranks, -1);
  for (int i = 0; i < static_cast<int>(transfers.size()); ++i) {
    const int peer = transfers[i].peer;
    if (lane_of[peer] < 0) {
      lane_of[peer] = static_cast<int>(lanes.size());
      lanes.push_back({Wrap(direction * (peer - rank), ranks), peer, {}});
    }
    lanes[lane_of[peer]].blocks.push_back(i);
  }
  std::sort(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) { return a.hops < b.hops; });
  return lanes;
}

}  // namespace

plan::RankPlan BuildSendRecv(int rank, int ranks, std::span<const Transfer> sends, std::span<const Transfer> receives) {
  RankPlan plan(Collective::kSendRecv, rank, ranks);
  plan.in_blocks = static_cast<int>(sends.size());
  plan.out_blocks = static_cast<int>(receives.size());
  for (const Transfer& send : sends) plan.in_sizes.push_back(send.count);
  for (const Transfer& receive : receives) plan.out_sizes.push_back(receive.count);

  const std::vector<Lane> to = Lanes(rank, ranks, sends, 1);
  const std::vector<Lane> from = Lanes(rank, ranks, receives, -1);
  std::size_t most = 0;
  for (const Lane& lane : to) most = std::max(most, lane.blocks.size());
  for (const Lane& lane : from) most = std::max(most, lane.blocks.size());

  for (std::size_t i = 0; i < most; ++i) {
    for (const Lane& lane : to) {
      if (lane.peer != rank && i < lane.blocks.size()) plan.Add({In(lane.blocks[i])}, {lane.peer}, kNoBlock);
    }
    for (const Lane& lane : from) {
      if (i >= lane.blocks.size()) continue;
      if (lane.peer != rank) {
        plan.Add({Recv(lane.peer)}, {}, lane.blocks[i]);
      } else {
        plan.Add({In(to.front().blocks[i])}, {}, lane.blocks[i]);  // 0 hops: the first lane of both
      }
    }
  }
  return plan;
}

Entry PairwiseEntry() {
  return {.algorithm = Algorithm::kPairwise,
          .name = "pairwise",
          .nccl_name = "",
          .supports =
              [](Collective c, const Hosts&) {
                return c == Collective::kAllToAll || c == Collective::kGather || c == Collective::kScatter ||
                       c == Collective::kAllGather;
              },
          .rank_ordered = [](Collective, const Hosts&) { return true; },
          // A peer's block may arrive before that peer has read the block that goes to it.
          .in_place_by_reference = [](Collective c,
                                      const Hosts& hosts) { return hosts.ranks() == 1 || c != Collective::kAllToAll; },
          .few_links = [](Collective) { return false; },
          .build = Build};
}

}  // namespace tutti::algo
