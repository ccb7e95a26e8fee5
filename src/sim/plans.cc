// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/plans.h"

#include <utility>

namespace tutti::sim {

using algo::Algorithm;

namespace {

// Algorithms that treat all ranks, or all hosts, alike in what has no root.
bool TreatsAllAlike(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kOneShot:
    case Algorithm::kTwoShot:
    case Algorithm::kRing:
    case Algorithm::kHalvingDoubling:
    case Algorithm::kPat:
    case Algorithm::kPairwise:
    case Algorithm::kHierOneShot:
    case Algorithm::kHierTwoShot:
    case Algorithm::kHierRing:
    case Algorithm::kHierHalvingDoubling:
      return true;
    default:
      return false;
  }
}

// Of a host's ranks, on a channel of Order::kTurnedInHosts.
int FirstOn(int channel, int size) { return (channel / 2 + channel / (2 * size)) % size; }

}  // namespace

RegistryPlans::RegistryPlans(Algorithm algorithm, Collective collective, algo::Hosts hosts, int root, Order order)
    : algorithm_(algorithm), collective_(collective), hosts_(std::move(hosts)), root_(root), order_(order) {}

plan::RankPlan RegistryPlans::Build(int position, int channel) const {
  return algo::Get(algorithm_)
      .build({.collective = collective_,
              .rank = position,
              .ranks = hosts_.ranks(),
              .root = root_,
              .channel = channel,
              .hosts = hosts_});
}

int RegistryPlans::RankAt(int position, int channel) const {
  const int size = hosts_.most();
  if (order_ == Order::kByRank || hosts_.count() == 1) return position;
  return hosts_.RanksOf(position / size)[static_cast<std::size_t>((position + FirstOn(channel, size)) % size)];
}

int RegistryPlans::PositionOf(int rank, int channel) const {
  const int size = hosts_.most();
  if (order_ == Order::kByRank || hosts_.count() == 1) return rank;
  return hosts_.HostOf(rank) * size + (hosts_.IndexOf(rank) + size - FirstOn(channel, size)) % size;
}

int RegistryPlans::Period(int /*channel*/) const {
  if (HasRoot(collective_) || !TreatsAllAlike(algorithm_)) return 0;
  if (algorithm_ < Algorithm::kHierLeader) return 1;
  if (hosts_.fewest() != hosts_.most()) return 0;
  for (int rank = 0; rank < hosts_.ranks(); ++rank) {
    if (hosts_.HostOf(rank) != rank / hosts_.most()) return 0;
  }
  return hosts_.most();
}

bool RegistryPlans::Merges() const {
  const int period = Period(0);
  for (int position = 0; position < period; ++position) {
    if (!HasOneStage(Build(position, 0))) return false;
  }
  return period > 0;
}

bool HasOneStage(const plan::RankPlan& plan) {
  for (int i = 0; i < plan.step_count(); ++i) {
    if (plan.step(i).stage != 0) return false;
  }
  return true;
}

TransferPlans::TransferPlans(int ranks, std::vector<Transfer> transfers)
    : ranks_(ranks), transfers_(std::move(transfers)) {}

plan::RankPlan TransferPlans::Build(int position, int /*channel*/) const {
  std::vector<algo::Transfer> sends, receives;
  for (const Transfer& transfer : transfers_) {
    if (transfer.from == position) sends.push_back({.peer = transfer.to, .count = transfer.bytes});
    if (transfer.to == position) receives.push_back({.peer = transfer.from, .count = transfer.bytes});
  }
  return algo::BuildSendRecv(position, ranks_, sends, receives);
}

}  // namespace tutti::sim
