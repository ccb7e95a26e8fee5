// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/patience.h"

#include <algorithm>

namespace tutti::diag {
namespace {

// How often a wait may be longer than the longest before.
constexpr std::int64_t kTimesPast = 3;
// What still has so much of its speed is told of so much later.
constexpr double kVerySlow = 0.2;
constexpr std::int64_t kLessSlowNs = 15 * kSecond / 2;

// A verdict of "within 2 s" needs some of that to look and to print. A network's own repair takes up to 4 s; after 9 s a host is given up, and
// what waits for it has ended. The others are pauses that programs want, as a rule, until they have lasted ten times as long.
constexpr std::int64_t kSoon = 1 * kSecond, kShown = 3 * kSecond / 2, kLong = 10 * kSecond;
constexpr std::array<Patience, kKinds> kPatience = {{
    {Kind::kLateHost, kShown, kLong, true},
    {Kind::kStarved, kShown, kLong, true},
    {Kind::kStopped, kSoon, kSoon, false},
    {Kind::kTraced, kShown, kNever, false},
    {Kind::kDead, 0, 0, false},
    {Kind::kHostGone, 2 * kSecond, 7 * kSecond, false},
    {Kind::kGpuLate, kShown, kLong, true},
    {Kind::kGpuSlow, 5 * kSecond, 11 * kSecond / 2, false},
    {Kind::kGpuHung, kShown, 4 * kSecond, false},
    {Kind::kLinkSlow, 5 * kSecond, 11 * kSecond / 2, false},
    {Kind::kLinkStalled, kShown, 4 * kSecond, false},
    {Kind::kNvLinkFault, kShown, 4 * kSecond, false},
    {Kind::kMismatch, 0, 0, false},
    {Kind::kDeadlock, kSoon / 2, kSoon / 2, false},
    {Kind::kInitIncomplete, kShown, 4 * kSecond, false},
    {Kind::kBroken, 0, 0, false},
    {Kind::kUnknown, 2 * kSecond, kLong, true},
}};

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kPatience.size(); ++i) {
    if (kPatience[i].kind != static_cast<Kind>(i)) return false;
  }
  return true;
}
static_assert(InOrder());

}  // namespace

const std::array<Patience, kKinds>& DefaultPatience() { return kPatience; }

Severity SeverityOf(const Verdict& verdict, const Rules& rules) {
  const Patience& patience = rules.patience[static_cast<std::size_t>(verdict.kind)];
  std::int64_t warn_ns = patience.warn_ns;
  if (patience.past_counts) {
    warn_ns = std::max(warn_ns, kTimesPast * std::min(verdict.longest_before_ns, kNever / kTimesPast));
  }
  if (verdict.rated_bytes_per_s > 0 && verdict.bytes_per_s >= kVerySlow * verdict.rated_bytes_per_s)
    warn_ns += kLessSlowNs;
  // Nobody wants a pause that a GPU's fault explains.
  if (!verdict.excuse.empty() && verdict.remedy.empty()) warn_ns = kNever;
  if (verdict.held_ns >= warn_ns) return Severity::kWarn;
  return verdict.held_ns >= patience.info_ns ? Severity::kInfo : Severity::kQuiet;
}

}  // namespace tutti::diag
