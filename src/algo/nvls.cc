// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// NVLS: an NVSwitch folds and copies. Each rank owns a part of the data.
//
//   all_reduce, 3 ranks              rank 0             rank 1             rank 2
//     stage 0: all offer all parts     in0^0 in1^1 in2^2  in0^0 in1^1 in2^2  in0^0 in1^1 in2^2
//     stage 1: the owner reads the     0 ^ 1 ^ 2          0 ^ 1 ^ 2          0 ^ 1 ^ 2      folded on the way
//              fold, multicasts it     out0 >> all        out1 >> all        out2 >> all
//     stage 2: parts arrive            out1 out2          out2 out0          out0 out1
//
// Two hops. A rank's link carries S (1 + 1/n) out and as much in, whatever n: the switch works for all that belong to it, so an
// owner's own part passes the link, too. A ring's links carry 2 S (n-1)/n; so NVLS gains 2 (n-1)/(n+1) where links do as well, 1.56
// with 8 ranks. A reduce_scatter is the reading alone and an all_gather the multicast alone; they gain nothing, since S passes one
// direction of every link in any case. A broadcast and a reduce are one multicast and one reading.
//
// After NCCL's transport/nvls.cc and device/all_reduce.h, whose heads are the owners here.

#include <vector>

#include "algo/build.h"
#include "algo/switches.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::RankPlan;
using plan::Recv;
using plan::Sending;

RankPlan AllReduce(const Request& q) {
  RankPlan plan = Start(q, q.ranks, 4);
  for (const std::int32_t peer : AllAfter(q.rank, q.ranks)) {
    plan.Add(std::vector{In(peer)}, std::vector{peer}, kNoBlock, kStage0, Sending::kOffer);
  }
  plan.Add(OffersOfAll(q.ranks), PeersAfter(q.rank, q.ranks), q.rank, kStage1, Sending::kMulticastBack);
  for (const std::int32_t peer : PeersBefore(q.rank, q.ranks)) plan.Add({Recv(peer)}, {}, peer, kStage2);
  return plan;
}

RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  return q.collective == Collective::kAllReduce ? AllReduce(q) : PassSwitchOnce(q);
}

}  // namespace

Entry NvlsEntry() {
  return InSwitches(
      Algorithm::kNvls, "nvls", "NVLS",
      [](Collective c, const Hosts&) { return c == Collective::kAllReduce || PassesSwitchOnce(c); }, Build);
}

}  // namespace tutti::algo
