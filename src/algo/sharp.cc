// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// SHARP: the network's switches fold whole vectors and hand out the result. Every rank offers its value once and gets the fold of all.
//
//   all_reduce, 3 ranks        rank 0       rank 1       rank 2
//     stage 0                    in0^^all     in0^^all     in0^^all
//                                  |           |            |
//                                  +-- switches, as a tree --+         each link of the tree carries S up and S down
//                                  |           |            |
//     stage 1                    0 ^ 1 ^ 2    0 ^ 1 ^ 2    0 ^ 1 ^ 2
//
// One hop, S out and S in: half of what any plan without such switches sends (2 S (n-1)/n). A barrier is the same without data. A
// reduce_scatter and a reduce are reducing reads, an all_gather and a broadcast multicasts.
//
// After Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)", COMHPC 2016.

#include <vector>

#include "algo/build.h"
#include "algo/switches.h"

namespace tutti::algo {
namespace {

using plan::In;
using plan::kNoBlock;
using plan::RankPlan;
using plan::Sending;

RankPlan Build(const Request& q) {
  if (q.ranks == 1) return LocalCopy(q);
  if (PassesSwitchOnce(q.collective)) return PassSwitchOnce(q);
  RankPlan plan = Start(q, 1, q.collective == Collective::kBarrier ? 1 : 2);  // a barrier has one round
  plan.Add(std::vector{In(0)}, AllAfter(q.rank, q.ranks), kNoBlock, kStage0, Sending::kOfferOnce);
  plan.Add(OffersOfAll(q.ranks), {}, 0, kStage1);
  return plan;
}

}  // namespace

Entry SharpEntry() {
  return InSwitches(
      Algorithm::kSharp, "sharp", "",
      [](Collective c, const Hosts&) {
        return c == Collective::kAllReduce || c == Collective::kBarrier || PassesSwitchOnce(c);
      },
      Build);
}

}  // namespace tutti::algo
