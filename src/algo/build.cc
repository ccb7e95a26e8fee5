// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "algo/build.h"

#include <algorithm>
#include <unordered_map>

namespace tutti::algo {

using plan::In;
using plan::Operand;
using plan::RankPlan;
using plan::Recv;

RankPlan Start(const Request& request, int blocks, int link_slots) {
  const Collective c = request.collective;
  const bool leaf = HasRoot(c) && request.rank != request.root;
  const bool no_in = leaf && (c == Collective::kBroadcast || c == Collective::kScatter);
  const bool no_out = leaf && (c == Collective::kReduce || c == Collective::kGather);
  RankPlan plan(c, request.rank, request.ranks);
  plan.root = HasRoot(c) ? request.root : 0;
  plan.in_blocks = no_in ? 0 : blocks * plan::InPieces(c, request.ranks);
  plan.out_blocks = no_out ? 0 : blocks * plan::OutPieces(c, request.ranks);
  plan.link_slots = link_slots;
  return plan;
}

RankPlan LocalCopy(const Request& request) {
  RankPlan plan = Start(request, 1, 1);
  plan.Add({In(0)}, {}, 0);
  return plan;
}

std::vector<std::int32_t> PeersAfter(int rank, int ranks) {
  std::vector<std::int32_t> peers;
  peers.reserve(ranks - 1);
  for (int k = 1; k < ranks; ++k) peers.push_back(Wrap(rank + k, ranks));
  return peers;
}

std::vector<std::int32_t> PeersBefore(int rank, int ranks) {
  std::vector<std::int32_t> peers = PeersAfter(rank, ranks);
  std::reverse(peers.begin(), peers.end());
  return peers;
}

std::vector<Operand> Fold(int rank, int block, std::vector<std::int32_t> peers) {
  peers.push_back(rank);
  std::sort(peers.begin(), peers.end());
  std::vector<Operand> operands;
  operands.reserve(peers.size());
  for (int peer : peers) operands.push_back(peer == rank ? In(block) : Recv(peer));
  return operands;
}

int SlotsOfRotation(const RankPlan& plan) {
  int most = 1;
  std::unordered_map<int, int> held;  // by distance: sent to rank + distance, not yet received from there
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    for (int peer : step.to) most = std::max(most, ++held[Wrap(peer - plan.rank, plan.ranks)]);
    for (const Operand& operand : step.operands) {
      if (operand.kind == Operand::Kind::kRecv) --held[Wrap(plan.rank - operand.index, plan.ranks)];
    }
  }
  return most;
}

}  // namespace tutti::algo
