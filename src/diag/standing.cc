// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/standing.h"

#include <algorithm>

namespace tutti::diag {
namespace {

bool HasEnded(ProcessState s) { return s == ProcessState::kZombie || s == ProcessState::kGone; }
bool IsHeld(ProcessState s) {
  return s == ProcessState::kStopped || s == ProcessState::kFrozen || s == ProcessState::kSilent;
}

bool StandsStill(const RankLook& before, const RankLook& now) {
  const bool waits_alike = before.wait.kind == now.wait.kind && before.wait.number == now.wait.number &&
                           before.wait.peer == now.wait.peer && before.wait.since_ns == now.wait.since_ns;
  // A program may fill a stream while the GPU stands still.
  if (now.queues()) return waits_alike && before.started == now.started;
  return waits_alike && before.called == now.called && before.finished == now.finished;
}

// So much a host takes that is there, if its answers are late: a slow link delays them too.
constexpr std::uint64_t kTakesBytesPerS = 4 << 10;

// Whether ranks of other hosts see that what they send arrives on the host of this one, or, with `whole_host` false, at this rank.
bool TakesData(const CommunicatorLook& c, const RankLook& rank, bool whole_host) {
  const auto is_there = [&](int peer) {
    const RankLook* const other = peer == rank.rank ? &rank : c.Find(peer);
    return other != nullptr && (whole_host ? other->island == rank.island : other->rank == rank.rank);
  };
  return std::ranges::any_of(c.seen, [&](const RankLook& other) {
    return other.island != rank.island && std::ranges::any_of(other.links, [&](const LinkLook& link) {
             return link.arrived_bytes_per_s >= kTakesBytesPerS && is_there(link.peer);
           });
  });
}

Standing OfProcess(const Seen& seen) {
  if (seen.process == nullptr) return Standing::kUnseen;
  const ProcessState now = seen.process->state;
  if (HasEnded(now)) return Standing::kGone;
  if (seen.process_before == nullptr) return Standing::kUnseen;
  const ProcessState before = seen.process_before->state;
  if (IsHeld(now) && IsHeld(before)) return Standing::kStopped;
  if (now == ProcessState::kTraced && before == ProcessState::kTraced) return Standing::kTraced;
  return Standing::kUnseen;
}

// Whether it was held when the look before was taken, and is not any more: it has had no time to move.
bool IsLetGo(const Seen& seen) {
  if (seen.process == nullptr || seen.process_before == nullptr) return false;
  const auto holds = [](ProcessState s) { return IsHeld(s) || s == ProcessState::kTraced; };
  return holds(seen.process_before->state) && !holds(seen.process->state);
}

}  // namespace

Standings::Standings(const Look& before, const Look& now) : before_(before), now_(now) {
  for (const CommunicatorLook& communicator : now.communicators) {
    std::vector<Seen>& ranks = seen_.emplace_back();
    for (const RankLook& rank : communicator.seen) ranks.push_back(Judge(communicator, rank));
  }
}

const Seen& Standings::Of(int communicator, int rank) const {
  static const Seen kNobody;
  const CommunicatorLook& c = now_.communicators[static_cast<std::size_t>(communicator)];
  const RankLook* found = c.Find(rank);
  if (found == nullptr) return kNobody;
  return seen_[static_cast<std::size_t>(communicator)][static_cast<std::size_t>(found - c.seen.data())];
}

Seen Standings::Judge(const CommunicatorLook& communicator, const RankLook& rank) const {
  Seen seen{.now = &rank, .process = now_.ProcessOf(rank)};
  if (const CommunicatorLook* old = before_.Find(communicator.id)) {
    seen.before = old->Find(rank.rank);
    if (seen.before != nullptr && seen.before->created_ns != rank.created_ns) seen.before = nullptr;
  }
  if (seen.process != nullptr) {
    const auto same = std::ranges::find_if(before_.processes, [&](const ProcessLook& p) {
      return p.pid == seen.process->pid && p.host == seen.process->host;
    });
    if (same != before_.processes.end()) seen.process_before = &*same;
  }
  Standing held = OfProcess(seen);
  const bool is_mute = seen.process != nullptr && seen.process->state == ProcessState::kSilent;
  if (is_mute && TakesData(communicator, rank, false)) held = Standing::kMoving;
  const auto silent = [&](const HostLook& h) {
    return h.silent_ns >= kSilentNs && seen.process != nullptr && h.name == seen.process->host;
  };
  if (rank.state == RankState::kLeft) {
    seen.standing = Standing::kLeft;
  } else if (std::ranges::any_of(now_.hosts, silent)) {
    seen.standing = TakesData(communicator, rank, true) ? Standing::kMoving : Standing::kHostSilent;
  } else if (held != Standing::kUnseen) {
    seen.standing = held;
  } else if (rank.state == RankState::kFailed) {
    seen.standing = Standing::kFailed;
  } else if (rank.state == RankState::kStarting) {
    seen.standing = Standing::kStarting;
  } else if (seen.before == nullptr || !StandsStill(*seen.before, rank) || IsLetGo(seen)) {
    seen.standing = Standing::kMoving;
  } else if (rank.wait.kind != trace::WaitKind::kNothing && (rank.inside() || rank.wait.on_gpu)) {
    seen.standing = Standing::kWaiting;
  } else {
    seen.standing = rank.inside() ? Standing::kInside : Standing::kIdle;
  }
  return seen;
}

}  // namespace tutti::diag
