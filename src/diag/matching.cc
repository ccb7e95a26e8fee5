// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/matching.h"

#include <algorithm>
#include <set>
#include <vector>

namespace tutti::diag {
namespace {

std::optional<Mismatch> CompareAt(const CommunicatorLook& communicator, std::uint64_t sequence) {
  struct Kind {
    int first;
    const trace::Call* call;
    int count;
  };
  std::vector<Kind> kinds;  // one, as a rule
  for (const RankLook& rank : communicator.seen) {
    const trace::Call* call = rank.CollectiveAt(sequence);
    if (call == nullptr) continue;
    const auto same = std::ranges::find_if(kinds, [&](const Kind& k) { return *k.call == *call; });
    if (same == kinds.end()) {
      kinds.push_back({rank.rank, call, 1});
    } else {
      ++same->count;
    }
  }
  if (kinds.size() < 2) return std::nullopt;
  const auto usual = std::ranges::max_element(kinds, {}, &Kind::count);  // the first of equals
  const auto odd = usual == kinds.begin() ? usual + 1 : kinds.begin();
  return Mismatch{
      .sequence = sequence, .rank = odd->first, .call = *odd->call, .other = usual->first, .others_call = *usual->call};
}

}  // namespace

std::optional<Mismatch> FindMismatch(const CommunicatorLook& communicator) {
  // Between two places where some rank's run begins nothing changes.
  std::set<std::uint64_t> places;
  for (const RankLook& rank : communicator.seen) {
    for (const CallRun& run : rank.history) places.insert(run.first);
  }
  for (const std::uint64_t place : places) {
    if (std::optional<Mismatch> found = CompareAt(communicator, place)) return found;
  }
  return std::nullopt;
}

}  // namespace tutti::diag
