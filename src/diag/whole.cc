// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/whole.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/call.h"

namespace tutti::diag {
namespace {

// By the number of a rank in the part, that in the whole.
using Numbers = std::map<int, int>;

bool Renumber(const Numbers& numbers, int& rank) {
  if (rank < 0) return true;
  const auto found = numbers.find(rank);
  if (found == numbers.end()) return false;
  rank = found->second;
  return true;
}

bool Renumber(const Numbers& numbers, RankLook& rank) {
  bool known = Renumber(numbers, rank.rank) && Renumber(numbers, rank.wait.peer) && Renumber(numbers, rank.blamed);
  for (LinkLook& link : rank.links) known &= Renumber(numbers, link.peer);
  for (FlowLook& flow : rank.flows) known &= Renumber(numbers, flow.peer);
  for (RankLook::Transfers& t : rank.transfers) known &= Renumber(numbers, t.peer);
  trace::Call& call = rank.running.call;
  if (call.valid() && call.is_transfer()) {
    int peer = call.root();
    known &= Renumber(numbers, peer);
    call.word = trace::PackCall({.kind = call.function(), .type = call.type(), .root = peer});
  }
  return known;
}

bool Renumber(CommunicatorLook& c) {
  Numbers numbers;
  for (const RankLook& rank : c.seen) {
    if (rank.state == RankState::kStarting) return false;
    if (rank.rank_of_whole >= 0) numbers.emplace(rank.rank, rank.rank_of_whole);
  }
  bool known = true;
  for (RankLook& rank : c.seen) known &= Renumber(numbers, rank);
  for (EdgeFacts& edge : c.edges) known &= Renumber(numbers, edge.from) && Renumber(numbers, edge.to);
  std::ranges::sort(c.seen, {}, &RankLook::rank);
  return known;
}

}  // namespace

bool HasParts(const Look& look) {
  return std::ranges::any_of(look.communicators, [](const CommunicatorLook& c) { return c.whole != 0; });
}

void NumberAsWholes(Look& before, Look& now) {
  for (CommunicatorLook& c : now.communicators) {
    if (c.whole == 0) continue;
    const auto old = std::ranges::find(before.communicators, c.id, &CommunicatorLook::id);
    const bool has_old = old != before.communicators.end();
    const CommunicatorLook* whole = now.Find(c.whole);
    CommunicatorLook renumbered = c, old_renumbered = has_old ? *old : c;
    if (whole != nullptr && whole->whole == 0 && Renumber(renumbered) && Renumber(old_renumbered)) {
      c = std::move(renumbered);
      if (has_old) *old = std::move(old_renumbered);
    } else {
      c.whole = 0;
      if (has_old) old->whole = 0;
    }
  }
}

const CommunicatorLook& WholeOf(const Look& look, const CommunicatorLook& c) {
  const CommunicatorLook* whole = c.whole == 0 ? nullptr : look.Find(c.whole);
  return whole == nullptr ? c : *whole;
}

}  // namespace tutti::diag
