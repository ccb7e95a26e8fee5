// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/other_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace tutti::tests {
namespace {

constexpr Collective kCounted[] = {Collective::kBroadcast, Collective::kReduce, Collective::kAllGather,
                                   Collective::kReduceScatter, Collective::kAllReduce};

// What torchfrtrace compares of an entry, in its order.
struct Entry {
  Collective function{};
  std::size_t count = 0;
  DataType type{};
  bool completed = false;

  bool operator==(const Entry&) const = default;
};

std::optional<Entry> EntryOf(const diag::RankLook& rank, std::uint64_t sequence) {
  for (const diag::CallRun& run : rank.history) {
    if (sequence < run.first || sequence > run.last) continue;
    return Entry{.function = run.call.function(),
                 .count = run.call.count,
                 .type = run.call.type(),
                 .completed = sequence <= rank.finished_sequence};
  }
  return std::nullopt;
}

}  // namespace

OtherRules::OtherRules(const HostCase& what, const diag::Look& before, const diag::Look& now)
    : what_(what), before_(before), now_(now) {}

bool OtherRules::Moves(const diag::CommunicatorLook& now) const {
  const diag::CommunicatorLook* before = before_.Find(now.id);
  return before == nullptr || std::ranges::any_of(now.seen, [&](const diag::RankLook& rank) {
           const diag::RankLook* old = before->Find(rank.rank);
           return old == nullptr || old->called != rank.called;
         });
}

bool OtherRules::IsGone(const diag::RankLook& rank) const {
  if (what_.fault == HostFault::kCutOff && what_.OnHostOf(rank.rank, what_.victim)) return true;
  const diag::ProcessLook* process = now_.ProcessOf(rank);
  if (process == nullptr) return true;
  switch (process->state) {
    case diag::ProcessState::kStopped:
    case diag::ProcessState::kFrozen:
    case diag::ProcessState::kZombie:
    case diag::ProcessState::kGone:
      return true;
    default:
      return false;
  }
}

void OtherRules::NameByCounts(const diag::CommunicatorLook& c, std::set<int>& named) const {
  std::array<std::uint64_t, std::size(kCounted)> most{};
  const auto count = [](const diag::RankLook& rank, std::size_t i) {
    return rank.calls[static_cast<std::size_t>(kCounted[i])];
  };
  for (const diag::RankLook& rank : c.seen) {
    if (IsGone(rank)) {
      named.insert(rank.rank);
      continue;
    }
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], count(rank, i));
  }
  if (Moves(c)) return;
  for (const diag::RankLook& rank : c.seen) {
    for (std::size_t i = 0; i < most.size(); ++i) {
      if (count(rank, i) < most[i]) named.insert(rank.rank);
    }
  }
}

std::string OtherRules::Ras() const {
  std::set<int> named;
  for (const diag::CommunicatorLook& c : now_.communicators) {
    const bool begins = std::ranges::find(c.seen, diag::RankState::kStarting, &diag::RankLook::state) != c.seen.end();
    if (!begins) NameByCounts(c, named);
  }
  return Score(named);
}

void OtherRules::NameByFlight(const diag::CommunicatorLook& c, std::set<int>& named) {
  std::uint64_t finished = UINT64_MAX, called = 0;
  for (const diag::RankLook& rank : c.seen) {
    finished = std::min(finished, rank.finished_sequence);
    called = std::max(called, rank.sequence);
  }
  if (c.seen.empty() || called == finished) return;
  const std::uint64_t first_open = finished + 1;
  std::set<int> missing, differ;
  std::optional<Entry> lowest;
  for (int r = 0; r < c.ranks; ++r) {
    const diag::RankLook* rank = c.Find(r);
    const std::optional<Entry> entry = rank == nullptr ? std::nullopt : EntryOf(*rank, first_open);
    if (!entry) {
      missing.insert(r);
      continue;
    }
    if (!lowest) lowest = entry;
    if (*entry != *lowest) differ.insert(r);
  }
  named.merge(missing.empty() ? differ : missing);
}

std::string OtherRules::Flight() const {
  std::set<int> named;
  for (const diag::CommunicatorLook& c : now_.communicators) {
    if (!Moves(c)) NameByFlight(c, named);
  }
  return Score(named);
}

std::string OtherRules::Score(const std::set<int>& named) const {
  std::set<int> guilty;
  for (int r = 0; r < what_.ranks(); ++r) {
    const bool is_cut_off = what_.fault == HostFault::kCutOff && what_.OnHostOf(r, what_.victim);
    const bool is_in_circle = what_.fault == HostFault::kOrders;
    if (!what_.IsBenign() && (what_.IsVictim(r) || is_cut_off || is_in_circle)) guilty.insert(r);
  }
  if (named == guilty) return "right";
  if (named.empty()) return "silent";
  const bool is_part = std::ranges::includes(guilty, named);
  return fmt::format("{}: {}", is_part ? "part" : "wrong", fmt::join(named, " "));
}

}  // namespace tutti::tests
