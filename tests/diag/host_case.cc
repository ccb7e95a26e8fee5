// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/host_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/diag/dice.h"

namespace tutti::tests {

using diag::Kind;

namespace {

int Place(int ranks, Dice& dice) {
  const int places[] = {0, ranks / 2, ranks - 1};
  return places[dice.Any(3)];
}

Phase PhaseOf(HostFault fault, Dice& dice) {
  switch (fault) {
    case HostFault::kNeverComes:
      return Phase::kInit;
    case HostFault::kStop:
    case HostFault::kKill:
      return static_cast<Phase>(dice.Any(3));
    case HostFault::kOrders:
    case HostFault::kNoReceive:
    case HostFault::kCutOff:
    case HostFault::kLinkTenth:
    case HostFault::kLinkHalf:
    case HostFault::kLinkAlways:
    case HostFault::kLinkStalled:
    case HostFault::kLie:
      return Phase::kSteady;
    default:
      return dice.Coin() ? Phase::kFirst : Phase::kSteady;
  }
}

std::vector<int> AllRanks(int ranks) {
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  return all;
}

}  // namespace

const char* Name(HostFault fault) {
  constexpr const char* kNames[kHostFaults] = {
      "stop",       "kill",        "sleep",       "blocked write", "other call",  "two orders",   "never comes",
      "no receive", "cut off",     "link tenth",  "link half",     "link always", "link stalled", "starved",
      "two faults", "planted lie", "short pause", "long pause",    "slow rank",   "nothing"};
  return kNames[static_cast<int>(fault)];
}

HostCase HostCase::Of(std::uint64_t seed, Means means) {
  Dice dice(seed);
  HostCase what{.fault = static_cast<HostFault>(seed % kHostFaults)};
  int hosts = 1 + dice.Any(kMostHosts);
  // Of fewer hosts too little says what is usual: words on what has come to the slow one are slow too.
  if (what.fault == HostFault::kLinkAlways) hosts = kMostHosts;
  const int ranks = std::max(3, hosts) + dice.Any(kMostHostRanks - std::max(3, hosts) + 1);
  what.host_of = Spread(ranks, std::max(hosts, what.IsOfNetwork() ? 2 : 1), dice);
  what.name_spaces = dice.Any(3) > 0 || what.IsOfNetwork();
  if (!means.name_spaces && what.IsOfNetwork()) what.fault = HostFault::kStop;
  what.name_spaces = what.name_spaces && means.name_spaces;
  if (!means.control_groups && what.fault == HostFault::kStarved) what.fault = HostFault::kSleep;
  // Inside a name space control groups cannot be seen (tests/hosts/hosts.cc).
  if (what.fault == HostFault::kStarved) what.name_spaces = false;
  what.phase = PhaseOf(what.fault, dice);
  what.victim = Place(ranks, dice);
  if (what.fault == HostFault::kTwo) what.other = (what.victim + 1 + dice.Any(ranks - 1)) % ranks;
  what.stops = dice.Coin();
  what.other_stops = dice.Coin();
  constexpr const char* kAlgorithms[] = {"", "ring", "tree"};
  constexpr const char* kProtocols[] = {"", "LL", "Simple"};
  constexpr std::size_t kCounts[] = {2, 1024, 100'000, 500'000};
  what.algo = kAlgorithms[dice.Any(3)];
  what.proto = kProtocols[dice.Any(3)];
  what.count = kCounts[dice.Any(4)];
  // Short messages are sent to whoever does not receive them.
  if (what.fault == HostFault::kNoReceive) what.count = std::max<std::size_t>(what.count, 100'000);
  if (what.IsSlowLink()) {
    // What is too short for a link to be full of is no matter of speed.
    what.count = dice.Coin() ? 500'000 : 2'000'000;
    what.card_mbit = dice.Coin() ? 200 : 400;
  }
  // Along a tree, or with short messages, most cards have less to send than they could.
  if (what.fault == HostFault::kLinkAlways) {
    what.algo = "ring";
    what.proto = "Simple";
    what.count = 2'000'000;
    what.card_mbit = 400;
  }
  what.lie = dice.Any(kLies);
  what.pause_ms = what.fault == HostFault::kShortPause ? 900 : 2500 + dice.Any(3000);
  what.zombie = dice.Coin();
  return what;
}

int HostCase::hosts() const { return 1 + *std::ranges::max_element(host_of); }

bool HostCase::OnHostOf(int rank, int of) const {
  return host_of[static_cast<std::size_t>(rank)] == host_of[static_cast<std::size_t>(of)];
}

HostFault HostCase::DeedOf(int rank) const {
  if (!IsVictim(rank)) return HostFault::kNothing;
  if (fault != HostFault::kTwo) return fault;
  return (rank == victim ? stops : other_stops) ? HostFault::kStop : HostFault::kSleep;
}

bool HostCase::IsBenign() const { return fault >= HostFault::kShortPause; }

std::string HostCase::Describe() const {
  std::string where;
  for (int host = 0; host < hosts(); ++host) {
    std::vector<int> there;
    for (int r = 0; r < ranks(); ++r) {
      if (host_of[static_cast<std::size_t>(r)] == host) there.push_back(r);
    }
    where += fmt::format("{}{} {}", where.empty() ? "" : ", ", kHostNames[host], fmt::join(there, " "));
  }
  constexpr const char* kPhases[] = {"init", "first call", "steady"};
  return fmt::format("rank {}{} of {} ({}: {}), {}, {} {}, {} floats", victim,
                     other < 0 ? "" : fmt::format(" and {}", other), ranks(), name_spaces ? "name spaces" : "host ids",
                     where, kPhases[static_cast<int>(phase)], algo.empty() ? "any" : algo,
                     proto.empty() ? "any" : proto, count);
}

std::vector<Expected> HostCase::AllowedBy(int rank) const {
  const std::vector<int> one = {victim};
  const bool alone = std::ranges::count(host_of, host_of[static_cast<std::size_t>(victim)]) == 1;
  switch (fault) {
    case HostFault::kStop:
    case HostFault::kKill:
      // Hosts meet at the process of rank 0. While that answers nothing nobody knows who has come.
      if (phase == Phase::kInit && victim == 0)
        return {{.kind = Kind::kInitIncomplete, .ranks = one},
                {.kind = Kind::kInitIncomplete, .reason = "nobody answers"}};
      if (phase == Phase::kInit) return {{.kind = Kind::kInitIncomplete, .ranks = one}};
      return {{.kind = fault == HostFault::kStop ? Kind::kStopped : Kind::kDead, .ranks = one}};
    case HostFault::kOtherCall:
      return {{.kind = Kind::kMismatch, .ranks = one}};
    case HostFault::kOrders:
      return {{.kind = Kind::kDeadlock, .ranks = AllRanks(ranks())}};
    case HostFault::kNeverComes:
      return {{.kind = Kind::kInitIncomplete, .ranks = one}};
    case HostFault::kCutOff: {
      // Those on the host that is cut off find that of the others.
      std::vector<int> away;
      for (int r = 0; r < ranks(); ++r) {
        if (OnHostOf(rank, victim) ? !OnHostOf(r, rank) : OnHostOf(r, victim)) away.push_back(r);
      }
      return {{.kind = Kind::kHostGone, .ranks = away}};
    }
    case HostFault::kLinkTenth:
    case HostFault::kLinkHalf:
    case HostFault::kLinkAlways: {
      std::vector<int> senders;
      for (int r = 0; r < ranks(); ++r) {
        if (OnHostOf(r, victim)) senders.push_back(r);
      }
      return {{.kind = Kind::kLinkSlow, .ranks = senders}};
    }
    case HostFault::kLinkStalled:
      // Which link it is shows when the job runs.
      return {{.kind = Kind::kLinkStalled, .ranks = AllRanks(ranks())}};
    case HostFault::kStarved:
      // Late it is too. Whose process answers nobody in time, because it has no time, looks stopped.
      if (alone) return {{Kind::kStarved, one}, {Kind::kLateHost, one}, {Kind::kStopped, one}};
      return {{Kind::kStarved, one}, {Kind::kLateHost, one}};
    case HostFault::kTwo: {
      std::vector<Expected> both;
      for (const int r : {victim, other})
        both.push_back({.kind = DeedOf(r) == HostFault::kStop ? Kind::kStopped : Kind::kLateHost, .ranks = {r}});
      if (both[0].kind == both[1].kind) both[0].ranks = both[1].ranks = {victim, other};
      return both;
    }
    case HostFault::kLie:
      return {{.kind = Kind::kUnknown}};
    case HostFault::kShortPause:
    case HostFault::kSlow:
    case HostFault::kNothing:
      return {};
    default:
      return {{.kind = Kind::kLateHost, .ranks = one}};
  }
}

std::set<int> HostCase::Guilty() const {
  std::set<int> guilty;
  for (int r = 0; !IsBenign() && r < ranks(); ++r) {
    const bool of_host = fault == HostFault::kCutOff || IsSlowLink();
    if (IsVictim(r) || fault == HostFault::kOrders || (of_host && OnHostOf(r, victim))) guilty.insert(r);
  }
  return guilty;
}

bool HostCase::IsEnough(Kind kind) const { return fault != HostFault::kStarved || kind != Kind::kLateHost; }

bool HostCase::MustWarn() const {
  switch (fault) {
    case HostFault::kStop:
    case HostFault::kKill:
      return phase != Phase::kInit;
    case HostFault::kOtherCall:
    case HostFault::kOrders:
    case HostFault::kCutOff:
    case HostFault::kLinkTenth:
    case HostFault::kLinkHalf:
    case HostFault::kLinkAlways:
    case HostFault::kLinkStalled:
      return true;
    default:
      return false;
  }
}

bool HostCase::MustTell(int rank) const {
  if (IsBenign()) return false;
  switch (fault) {
    case HostFault::kOtherCall:
    case HostFault::kOrders:
    case HostFault::kLinkStalled:
      return true;
    case HostFault::kLinkTenth:
    case HostFault::kLinkHalf:
    case HostFault::kLinkAlways:
      return OnHostOf(rank, victim);
    case HostFault::kNoReceive:
      return (rank + 1) % ranks() == victim;
    case HostFault::kCutOff:
      return !OnHostOf(rank, victim);
    default:
      return !IsVictim(rank);
  }
}

}  // namespace tutti::tests
