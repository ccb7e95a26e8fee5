// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/plausible.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::diag {
namespace {

using trace::WaitKind;

// Clocks of one host are one clock; what is read a moment later may lie a little behind.
constexpr std::int64_t kSlackNs = 100 * kMs;

class Finder {
 public:
  Finder(const Look& before, const Look& now, const Standings& standings, int communicator)
      : before_(before),
        now_(now),
        standings_(standings),
        index_(communicator),
        communicator_(now.communicators[static_cast<std::size_t>(communicator)]) {}

  std::vector<std::string> Run() {
    for (const RankLook& rank : communicator_.seen) {
      const Seen& seen = standings_.Of(index_, rank.rank);
      CheckCalls(rank);
      CheckWait(rank, seen);
      if (seen.before != nullptr) CheckOrder(*seen.before, rank);
      if (seen.standing == Standing::kWaiting) CheckLinks(*seen.before, rank);
    }
    CheckAllCalled();
    return std::move(found_);
  }

 private:
  template <typename... Values>
  void Say(fmt::format_string<Values...> text, Values&&... values) {
    found_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void CheckCalls(const RankLook& rank) {
    if (rank.finished > rank.called) {
      Say("rank {} has finished call {} and called {}", rank.rank, rank.finished, rank.called);
    }
    if (rank.started && *rank.started > rank.called) {
      Say("the GPU of rank {} has begun call {}, and the rank called {}", rank.rank, *rank.started, rank.called);
    }
  }

  void CheckWait(const RankLook& rank, const Seen& seen) {
    const WaitLook& wait = rank.wait;
    if (wait.kind == WaitKind::kNothing) return;
    if (wait.peer == rank.rank) Say("rank {} waits for itself", rank.rank);
    if (rank.records_calls && wait.number > rank.called) {
      Say("rank {} waits in call {} and called {}", rank.rank, wait.number, rank.called);
    }
    if (wait.since_ns > now_.taken_ns + kSlackNs || wait.looked_ns > now_.taken_ns + kSlackNs) {
      Say("rank {} waits since a moment that is to come", rank.rank);
    }
    const bool cannot_look = seen.standing == Standing::kStopped || seen.standing == Standing::kGone;
    if (cannot_look && seen.process_before != nullptr && seen.process_before->state == seen.process->state &&
        wait.looked_ns > before_.taken_ns + kSlackNs) {
      Say("rank {} looks around, and its process is {}", rank.rank, Name(seen.process->state));
    }
  }

  // Counters only grow.
  void CheckOrder(const RankLook& before, const RankLook& now) {
    const bool unfinished = now.finished < before.finished && !now.queues();
    if (now.called < before.called || unfinished) {
      Say("rank {} had called {} and finished {}, and now {} and {}", now.rank, before.called, before.finished,
          now.called, now.finished);
    }
    for (const LinkLook& link : now.links) {
      const LinkLook* old = before.LinkTo(link.peer, link.channel);
      for (std::size_t p = 0; old != nullptr && p < trace::kBoxProtocols; ++p) {
        if (link.sent[p] >= old->sent[p] && link.received[p] >= old->received[p] && link.credit[p] >= old->credit[p])
          continue;
        Say("the counters of rank {} towards rank {} have gone back", now.rank, link.peer);
        break;
      }
    }
  }

  // Of a rank that waits, and whose counters stand still: they are exact, and those of a peer no more than what that has reached.
  void CheckLinks(const RankLook& before, const RankLook& rank) {
    // One that has not looked around meanwhile may have moved since. Of one whose kernels wait nobody brings them up to date.
    if (rank.wait.on_gpu || rank.wait.looked_ns == before.wait.looked_ns) return;
    for (const LinkLook& link : rank.links) {
      const LinkLook* old = before.LinkTo(link.peer, link.channel);
      if (old == nullptr || old->sent != link.sent || old->credit != link.credit) continue;
      const RankLook* peer = communicator_.Find(link.peer);
      const LinkLook* theirs = peer == nullptr ? nullptr : peer->LinkTo(rank.rank, link.channel);
      for (std::size_t p = 0; p < trace::kBoxProtocols; ++p) {
        const std::uint64_t sent = link.sent[p], credit = link.credit[p];
        if (credit > sent) {
          Say("rank {} has sent {} units to rank {}, which has consumed {}", rank.rank, sent, link.peer, credit);
        } else if (communicator_.window[p] > 0 && sent - credit > communicator_.window[p]) {
          Say("rank {} has sent {} units to rank {} beyond what that has consumed, and the link holds {}", rank.rank,
              sent - credit, link.peer, communicator_.window[p]);
        }
        const std::uint64_t received = theirs == nullptr ? 0 : ReceivedBy(rank, *peer, *theirs, p);
        if (received > sent) {
          Say("rank {} has received {} units of rank {}, which has sent {}", link.peer, received, rank.rank, sent);
        }
      }
    }
  }

  // What a peer has received of a rank. Hosts look one after another, and over a slow network long after: of a peer on another host it is
  // what it had at the look before.
  std::uint64_t ReceivedBy(const RankLook& rank, const RankLook& peer, const LinkLook& theirs, std::size_t p) const {
    if (peer.island == rank.island) return theirs.received[p];
    const CommunicatorLook* old = before_.Find(communicator_.id);
    const RankLook* then = old == nullptr ? nullptr : old->Find(peer.rank);
    const LinkLook* link = then == nullptr ? nullptr : then->LinkTo(rank.rank, theirs.channel);
    return link == nullptr ? 0 : std::min(link->received[p], theirs.received[p]);
  }

  // A collective in which everybody's data reach everybody ends nowhere before all have called it.
  void CheckAllCalled() {
    const CommunicatorLook* old = before_.Find(communicator_.id);
    if (old == nullptr) return;
    const RankLook* least = nullptr;
    for (const RankLook& rank : communicator_.seen) {
      if (!rank.records_calls || !rank.knows_collectives || rank.state == RankState::kStarting) continue;
      if (least == nullptr || rank.sequence < least->sequence) least = &rank;
    }
    for (const RankLook& rank : old->seen) {
      if (least == nullptr || rank.state == RankState::kFailed || !rank.finished_is_done ||
          rank.finished_sequence <= least->sequence) {
        continue;
      }
      const trace::Call* call = rank.CollectiveAt(rank.finished_sequence);
      if (call == nullptr || !NeedsAll(*call)) continue;
      Say("rank {} has finished {}, its collective {}, and rank {} has called {} collectives", rank.rank,
          call->ToString(), rank.finished_sequence, least->rank, least->sequence);
    }
  }

  static bool NeedsAll(const trace::Call& call) {
    switch (call.function()) {
      case Collective::kAllReduce:
      case Collective::kAllGather:
      case Collective::kReduceScatter:
      case Collective::kAllToAll:
        return call.count > 0;
      case Collective::kBarrier:
        return true;
      default:
        return false;
    }
  }

  const Look& before_;
  const Look& now_;
  const Standings& standings_;
  const int index_;
  const CommunicatorLook& communicator_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> FindContradictions(const Look& before, const Look& now, const Standings& standings,
                                            int communicator) {
  return Finder(before, now, standings, communicator).Run();
}

}  // namespace tutti::diag
