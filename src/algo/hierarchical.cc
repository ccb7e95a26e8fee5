// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The registry's entries for several hosts: which algorithm goes between hosts, and for which collectives.

#include <array>
#include <initializer_list>

#include "algo/build.h"
#include "algo/hierarchy.h"

namespace tutti::algo {
namespace {

using plan::RankPlan;

constexpr unsigned Set(std::initializer_list<Collective> collectives) {
  unsigned set = 0;
  for (const Collective c : collectives) set |= 1u << static_cast<unsigned>(c);
  return set;
}

struct Kind {
  Algorithm algorithm;
  std::string_view name;
  Lanes lanes;
  Algorithm outer;
  unsigned collectives;
};

using enum Collective;

constexpr std::array<Kind, 7> kKinds = {{
    {Algorithm::kHierLeader, "hier_leader", Lanes::kLeader, Algorithm::kOneShot,
     Set({kAllReduce, kBroadcast, kReduce, kGather, kScatter, kAllToAll, kBarrier})},
    {Algorithm::kHierOneShot, "hier_one_shot", Lanes::kRails, Algorithm::kOneShot,
     Set({kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kGather, kScatter, kAllToAll})},
    {Algorithm::kHierTwoShot, "hier_two_shot", Lanes::kRails, Algorithm::kTwoShot,
     Set({kAllReduce, kBroadcast, kReduce})},
    {Algorithm::kHierRing, "hier_ring", Lanes::kRails, Algorithm::kRing,
     Set({kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce})},
    {Algorithm::kHierTree, "hier_tree", Lanes::kRails, Algorithm::kTree,
     Set({kAllReduce, kBroadcast, kReduce, kBarrier})},
    {Algorithm::kHierHalvingDoubling, "hier_halving_doubling", Lanes::kRails, Algorithm::kHalvingDoubling,
     Set({kAllReduce, kReduceScatter, kAllGather})},
    {Algorithm::kHierRecursiveDoubling, "hier_recursive_doubling", Lanes::kRails, Algorithm::kRecursiveDoubling,
     Set({kAllReduce, kAllGather, kBarrier})},
}};

bool Supports(const Kind& kind, Collective c, const Hosts& hosts) {
  return hosts.count() > 1 && (kind.collectives & Set({c})) != 0;
}

// A reduce's folds between hosts take whole hosts' values on the root alone.
bool RankOrdered(const Kind& kind, Collective c, const Hosts& hosts) {
  if (!Reduces(c)) return true;
  if (c == kReduce && kind.outer != Algorithm::kOneShot && hosts.most() > 1) return false;
  return Get(kind.outer).rank_ordered(c, hosts.count());
}

// A reduce in the one order sends every host's values to the root's: all but one of them too much, which is few of two hosts. In two
// shots between hosts it gets them once.
bool OrdersLong(const Kind& kind, Collective c, const Hosts& hosts) {
  return c == kReduce && kind.outer == Algorithm::kTwoShot && hosts.count() > 2 && !hosts.flat();
}

// What a host's ranks send each other has been read before its place is stored to. So it is left to what goes between hosts.
bool InPlaceByReference(const Kind& kind, Collective c, const Hosts& hosts) {
  return c != kAllToAll && Get(kind.outer).in_place_by_reference(c, hosts.count());
}

RankPlan Build(const Kind& kind, const Request& q) {
  if (q.collective == kGather || q.collective == kScatter || q.collective == kAllToAll)
    return MovePieces(q, kind.lanes);
  // A barrier moves nothing that several ranks of a host could share.
  return ComposeHierarchy(q, q.collective == kBarrier ? Lanes::kLeader : kind.lanes, Get(kind.outer));
}

template <std::size_t kIndex>
Entry MakeEntry() {
  return {.algorithm = kKinds[kIndex].algorithm,
          .name = kKinds[kIndex].name,
          .nccl_name = "",
          .supports = [](Collective c, const Hosts& hosts) { return Supports(kKinds[kIndex], c, hosts); },
          .rank_ordered = [](Collective c, const Hosts& hosts) { return RankOrdered(kKinds[kIndex], c, hosts); },
          .in_place_by_reference = [](Collective c,
                                      const Hosts& hosts) { return InPlaceByReference(kKinds[kIndex], c, hosts); },
          .few_links = [](Collective) { return false; },
          .orders_long = [](Collective c, const Hosts& hosts) { return OrdersLong(kKinds[kIndex], c, hosts); },
          .build = [](const Request& q) { return Build(kKinds[kIndex], q); }};
}

}  // namespace

Entry HierLeaderEntry() { return MakeEntry<0>(); }
Entry HierOneShotEntry() { return MakeEntry<1>(); }
Entry HierTwoShotEntry() { return MakeEntry<2>(); }
Entry HierRingEntry() { return MakeEntry<3>(); }
Entry HierTreeEntry() { return MakeEntry<4>(); }
Entry HierHalvingDoublingEntry() { return MakeEntry<5>(); }
Entry HierRecursiveDoublingEntry() { return MakeEntry<6>(); }

}  // namespace tutti::algo
