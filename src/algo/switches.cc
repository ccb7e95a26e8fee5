// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "algo/switches.h"

#include <numeric>

#include "algo/build.h"

namespace tutti::algo {

using plan::In;
using plan::kNoBlock;
using plan::Offered;
using plan::Operand;
using plan::RankPlan;
using plan::Recv;
using plan::Sending;

namespace {

// In all of these a rank sends a round before it waits for the one before: so links have work while ranks do theirs. And among hosts that
// is the order in which a rank offers to itself inside its host, too (hierarchy.cc).
RankPlan Scatter(const Request& q) {
  RankPlan plan = Start(q, 1, 2);
  for (const std::int32_t peer : AllAfter(q.rank, q.ranks)) {
    plan.Add(std::vector{In(peer)}, std::vector{peer}, kNoBlock, kStage0, Sending::kOffer);
  }
  plan.Add(OffersOfAll(q.ranks), {}, 0, kStage1);
  return plan;
}

RankPlan Gather(const Request& q) {
  RankPlan plan = Start(q, 1, 2);
  plan.Add(std::vector{In(0)}, PeersAfter(q.rank, q.ranks), q.rank, kStage0, Sending::kMulticastBack);
  for (const std::int32_t peer : PeersBefore(q.rank, q.ranks)) plan.Add({Recv(peer)}, {}, peer, kStage1);
  return plan;
}

RankPlan FromRoot(const Request& q) {
  RankPlan plan = Start(q, 1, 1);
  if (q.rank == q.root) {
    plan.Add(std::vector{In(0)}, PeersAfter(q.rank, q.ranks), 0, kStage0, Sending::kMulticastBack);
  } else {
    plan.Add({Recv(q.root)}, {}, 0, kStage1);
  }
  return plan;
}

RankPlan ToRoot(const Request& q) {
  RankPlan plan = Start(q, 1, 2);
  plan.Add({In(0)}, {q.root}, kNoBlock, kStage0, Sending::kOffer);
  if (q.rank == q.root) plan.Add(OffersOfAll(q.ranks), {}, 0, kStage1);
  return plan;
}

}  // namespace

std::vector<Operand> Offers(std::span<const std::int32_t> ranks) {
  std::vector<Operand> offers;
  offers.reserve(ranks.size());
  for (const std::int32_t rank : ranks) offers.push_back(Offered(rank));
  return offers;
}

std::vector<Operand> OffersOfAll(int ranks) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return Offers(all);
}

std::vector<std::int32_t> AllAfter(int rank, int ranks) {
  std::vector<std::int32_t> all = PeersAfter(rank, ranks);
  all.push_back(rank);
  return all;
}

RankPlan PassSwitchOnce(const Request& request) {
  switch (request.collective) {
    case Collective::kReduceScatter:
      return Scatter(request);
    case Collective::kAllGather:
      return Gather(request);
    case Collective::kBroadcast:
      return FromRoot(request);
    default:
      return ToRoot(request);
  }
}

bool PassesSwitchOnce(Collective collective) {
  return collective == Collective::kReduceScatter || collective == Collective::kAllGather ||
         collective == Collective::kBroadcast || collective == Collective::kReduce;
}

bool RailsPassSwitches(Collective collective, const Hosts& hosts) {
  return hosts.count() > 1 && (collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
                               collective == Collective::kAllGather);
}

Entry InSwitches(Algorithm algorithm, std::string_view name, std::string_view nccl_name,
                 bool (*supports)(Collective collective, const Hosts& hosts),
                 plan::RankPlan (*build)(const Request& request)) {
  return {.algorithm = algorithm,
          .name = name,
          .nccl_name = nccl_name,
          .supports = supports,
          .rank_ordered = [](Collective c, const Hosts& hosts) { return !Reduces(c) || hosts.ranks() == 1; },
          .in_place_by_reference = [](Collective, const Hosts&) { return false; },
          .few_links = [](Collective) { return false; },
          .build = build};
}

}  // namespace tutti::algo
