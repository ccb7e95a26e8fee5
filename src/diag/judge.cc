// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "diag/docket.h"
#include "diag/matching.h"
#include "diag/merge.h"
#include "diag/patience.h"
#include "diag/plausible.h"
#include "diag/reasons.h"
#include "diag/slow.h"
#include "diag/verdict.h"
#include "diag/walk.h"
#include "diag/whole.h"

namespace tutti::diag {
namespace {

class Judgement {
 public:
  Judgement(const Look& before, const Look& now, const Rules& rules)
      : before_(before), now_(now), rules_(rules), standings_(before, now), docket_(before, now, standings_) {}

  std::vector<Verdict> Run() {
    for (int c = 0; c < Communicators(); ++c) closed_.push_back(Close(c));
    Walk walk(now_, standings_, rules_, docket_, closed_);
    for (int c = 0; c < Communicators(); ++c) {
      for (const RankLook& rank : At(c).seen) {
        if (standings_.Of(c, rank.rank).standing != Standing::kWaiting) continue;
        const Walk::Cause cause = walk.CauseOf({c, rank.rank});
        if (cause.verdict != kNoCause) Affect({c, rank.rank}, cause);
      }
      JudgeStopped(c);
      JudgeBeginning(c);
      JudgeSlow(c);
    }
    std::vector<Verdict> found = docket_.Take();
    for (Verdict& v : found) AddReasons(now_, v);
    std::vector<Verdict> verdicts = Merge(std::move(found));
    for (Verdict& v : verdicts) Finish(v);
    std::ranges::stable_sort(verdicts, std::ranges::greater{}, [](const Verdict& v) {
      return std::pair(v.severity, v.direct.size() + v.indirect.size());
    });
    return verdicts;
  }

 private:
  int Communicators() const { return static_cast<int>(now_.communicators.size()); }
  const CommunicatorLook& At(int c) const { return now_.communicators[static_cast<std::size_t>(c)]; }

  // What explains everything in a communicator at once; kNoCause: nothing does.
  int Close(int c) {
    bool waits = false, failed = false;
    for (const RankLook& rank : At(c).seen) {
      waits |= standings_.Of(c, rank.rank).standing == Standing::kWaiting;
      failed |= standings_.Of(c, rank.rank).standing == Standing::kFailed;
    }
    if (!waits && !failed) return kNoCause;
    const std::vector<std::string> lies = FindContradictions(before_, now_, standings_, c);
    if (!lies.empty()) return Implausible(c, lies);
    int cause = kNoCause;
    if (const std::optional<Mismatch> mismatch = FindMismatch(At(c))) cause = Charge(c, *mismatch);
    if (failed) cause = Broken(c, cause);
    return cause;
  }

  int Implausible(int c, const std::vector<std::string>& lies) {
    const int unknown = docket_.Open(fmt::format("unknown|{}", c), Kind::kUnknown);
    docket_[unknown].confidence = Confidence::kUnsure;
    docket_[unknown].ranks = At(c).ranks;
    for (const std::string& lie : lies) docket_.Show(unknown, "implausible: " + lie);
    for (const RankLook& rank : At(c).seen) {
      const Seen& seen = standings_.Of(c, rank.rank);
      if (seen.standing != Standing::kGone && seen.standing != Standing::kStopped) continue;
      docket_.Show(unknown,
                   fmt::format("process {} of rank {} is {}", seen.process->pid, rank.rank, Name(seen.process->state)));
    }
    return unknown;
  }

  int Charge(int c, const Mismatch& found) {
    const int mismatch = docket_.Open(fmt::format("mismatch|{}", c), Kind::kMismatch);
    docket_.Accuse(mismatch, {c, found.rank});
    docket_[mismatch].calls = {
        {.who = docket_.PlaceOf({c, found.rank}), .call = found.call, .sequence = At(c).NumberOf(found.sequence)},
        {.who = docket_.PlaceOf({c, found.other}),
         .call = found.others_call,
         .sequence = At(c).NumberOf(found.sequence)}};
    return mismatch;
  }

  // A communicator that an error has ended. `mismatch`: the verdict on its calls, or kNoCause.
  int Broken(int c, int mismatch) {
    const RankLook* first = nullptr;
    const RankLook* gone = nullptr;
    for (const RankLook& rank : At(c).seen) {
      const Standing standing = standings_.Of(c, rank.rank).standing;
      if (standing == Standing::kGone && gone == nullptr) gone = &rank;
      if (standing != Standing::kFailed) continue;
      const bool better = first == nullptr || (first->blamed < 0 && rank.blamed >= 0) || rank.blamed == rank.rank;
      if (better) first = &rank;
    }
    int cause = mismatch;
    if (cause == kNoCause && first->failure_code != Code::kInvalidUsage && gone != nullptr) {
      // Others end once the communicator is broken: only who is blamed for that counts, where somebody is.
      const int blamed = first->blamed < 0 ? gone->rank : first->blamed;
      if (standings_.Of(c, blamed).standing == Standing::kGone) cause = docket_.Held({c, blamed}, Standing::kGone);
    }
    if (cause == kNoCause) {
      const Kind kind = first->failure_code == Code::kInvalidUsage ? Kind::kMismatch : Kind::kBroken;
      cause = docket_.Open(fmt::format("{}|{}", Name(kind), c), kind);
      if (first->blamed >= 0) docket_.Accuse(cause, {c, first->blamed});
      docket_[cause].ranks = At(c).ranks;
    }
    if (docket_[cause].quote.empty()) docket_[cause].quote = first->failure;
    for (const RankLook& rank : At(c).seen) {
      if (standings_.Of(c, rank.rank).standing == Standing::kFailed)
        Affect({c, rank.rank}, {.verdict = cause, .direct = true});
    }
    return cause;
  }

  // Notes who waits for whom, for how long.
  void Affect(const Node& node, const Walk::Cause& cause) {
    Verdict& v = docket_[cause.verdict];
    const Place place = docket_.PlaceOf(node);
    const Seen& seen = standings_.Of(node.communicator, node.rank);
    // Of a deadlock those who wait are the culprits too.
    if (seen.standing == Standing::kWaiting) {
      v.held_ns = std::max(v.held_ns, now_.taken_ns - seen.now->wait.since_ns);
    }
    if (std::ranges::find(v.culprits, place) != v.culprits.end()) return;
    (cause.direct ? v.direct : v.indirect).push_back(place);
    v.longest_before_ns = std::max(v.longest_before_ns, seen.now->wait.longest_ns);
  }

  // A process that is stopped in a call that waits is told of also where nobody who runs waits for it: all of a job may be stopped.
  void JudgeStopped(int c) {
    if (closed_[static_cast<std::size_t>(c)] != kNoCause) return;
    for (const RankLook& rank : At(c).seen) {
      const bool stopped = standings_.Of(c, rank.rank).standing == Standing::kStopped;
      if (!stopped || !rank.inside() || rank.wait.kind == trace::WaitKind::kNothing) continue;
      Verdict& v = docket_[docket_.Held({c, rank.rank}, Standing::kStopped)];
      v.held_ns = std::max(v.held_ns, now_.taken_ns - rank.wait.since_ns);
    }
  }

  // Ranks that make a communicator, and who has not come.
  void JudgeBeginning(int c) {
    std::vector<Node> starting, held;
    std::int64_t since_ns = now_.taken_ns;
    for (const RankLook& rank : At(c).seen) {
      const Standing standing = standings_.Of(c, rank.rank).standing;
      if (rank.state == RankState::kStarting) since_ns = std::min(since_ns, rank.created_ns);
      if (standing == Standing::kStarting) {
        starting.push_back({c, rank.rank});
      } else if (rank.state == RankState::kStarting &&
                 (standing == Standing::kStopped || standing == Standing::kTraced || standing == Standing::kGone)) {
        held.push_back({c, rank.rank});
      }
    }
    if (starting.empty() && held.empty()) return;
    for (const RankLook& rank : At(c).seen) {
      // Those that are ready wait for the others before their first call.
      if (starting.empty() && rank.called == 0 && standings_.Of(c, rank.rank).standing == Standing::kIdle) {
        starting.push_back({c, rank.rank});
      }
    }
    std::vector<int> missing;
    for (int rank = 0; rank < At(c).ranks; ++rank) {
      if (At(c).Find(rank) == nullptr) missing.push_back(rank);
    }
    int cause = kNoCause;
    for (const Node& node : held) {
      cause = docket_.Held(node, standings_.Of(c, node.rank).standing);
      docket_[cause].held_ns = std::max(docket_[cause].held_ns, now_.taken_ns - since_ns);
    }
    if (cause == kNoCause) {
      cause = docket_.Open(fmt::format("init|{}", c), Kind::kInitIncomplete);
      docket_[cause].missing = missing;
      docket_[cause].quote = At(c).silent_place;
      docket_[cause].ranks = At(c).ranks;
      docket_[cause].confidence = Confidence::kLikely;
      docket_.Show(cause, fmt::format("{} of {} ranks can be seen here, {} of them still begin", At(c).seen.size(),
                                      At(c).ranks, starting.size()));
    }
    for (const Node& node : starting) docket_[cause].direct.push_back(docket_.PlaceOf(node));
    docket_[cause].held_ns = std::max(docket_[cause].held_ns, now_.taken_ns - since_ns);
  }

  void JudgeSlow(int c) {
    if (closed_[static_cast<std::size_t>(c)] != kNoCause) return;
    for (const Slow& slow : FindSlow(before_, now_, c, rules_.edges, rules_.slow_below)) {
      const bool link = slow.what == EdgeFinding::kLink;
      const Node from{c, slow.from}, to{c, slow.to};
      const Node& gpu = slow.what == EdgeFinding::kSender ? from : to;
      const int verdict = link ? docket_.Open(fmt::format("slow link|{}|{}|{}", c, slow.from, slow.to), Kind::kLinkSlow)
                               : docket_.Open(fmt::format("slow gpu|{}|{}", c, gpu.rank), Kind::kGpuSlow);
      Verdict& v = docket_[verdict];
      v.ranks = At(c).ranks;
      v.confidence = Confidence::kLikely;
      v.bytes_per_s = slow.bytes_per_s;
      v.rated_bytes_per_s = slow.rated_bytes_per_s;
      v.beside_others = slow.beside_others;
      if (!link) {
        docket_.Accuse(verdict, gpu);
      } else if (v.links.empty()) {
        LinkPlace link{.from = docket_.PlaceOf(from),
                       .to = docket_.PlaceOf(to),
                       .channel = slow.channel,
                       .bytes_per_s = slow.bytes_per_s,
                       .rated_bytes_per_s = slow.rated_bytes_per_s,
                       .beside_others = slow.beside_others};
        NameCards(At(c), link);
        if (!slow.card.empty()) link.nic_from = slow.card;
        v.links.push_back(link);
      }
      if (slow.past_bytes_per_s > 0) {
        docket_.Show(verdict, fmt::format("it had {:.2f} GB/s before", slow.past_bytes_per_s * 1e-9));
      }
      for (const RankLook& rank : At(c).seen) {
        const Place place = docket_.PlaceOf({c, rank.rank});
        if (rank.inside() && std::ranges::find(docket_[verdict].culprits, place) == docket_[verdict].culprits.end()) {
          docket_[verdict].indirect.push_back(place);
        }
      }
    }
  }

  void Finish(Verdict& v) {
    v.severity = SeverityOf(v, rules_);
    if (v.held_ns > 0 && now_.taken_unix_ns > 0) v.since_unix_ns = now_.taken_unix_ns - v.held_ns;
    const auto order = [](const Place& p) { return std::tuple(p.communicator, p.rank); };
    std::ranges::sort(v.direct, {}, order);
    std::ranges::sort(v.indirect, {}, order);
  }

  const Look& before_;
  const Look& now_;
  const Rules& rules_;
  Standings standings_;
  Docket docket_;
  std::vector<int> closed_;
};

}  // namespace

const char* Name(Kind kind) {
  constexpr const char* kNames[kKinds] = {"late host",    "starved",      "stopped",  "traced",   "dead",
                                          "host gone",    "GPU late",     "GPU slow", "GPU hung", "link slow",
                                          "link stalled", "NVLink fault", "mismatch", "deadlock", "init incomplete",
                                          "broken",       "unknown"};
  return kNames[static_cast<int>(kind)];
}

const char* Name(Severity severity) {
  constexpr const char* kNames[] = {"quiet", "INFO", "WARN"};
  return kNames[static_cast<int>(severity)];
}

const char* Name(Confidence confidence) {
  constexpr const char* kNames[] = {"proven", "likely", "unsure"};
  return kNames[static_cast<int>(confidence)];
}

std::vector<Verdict> Judge(const Look& before, const Look& now, const Rules& rules) {
  if (!HasParts(now)) return Judgement(before, now, rules).Run();
  Look wholes_before = before, wholes = now;
  NumberAsWholes(wholes_before, wholes);
  return Judgement(wholes_before, wholes, rules).Run();
}

std::int64_t ApartNs(int ranks) {
  // A rank that waits reports every 50 ms, and so many times less often where there are many (comm/host/waiter.cc).
  constexpr int kFewRanks = 32;
  return std::max(kLeastApartNs, 110 * kMs * (1 + ranks / kFewRanks));
}

}  // namespace tutti::diag
