// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/vigil.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "diag/sentence.h"
#include "diag/story.h"
#include "diag/verdict.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "sys/os/thread.h"
#include "watch/host_evidence.h"
#include "watch/own_look.h"
#include "watch/registry.h"

namespace tutti::watch {
namespace {

using diag::Kind;
using diag::Verdict;

constexpr int kLooksAfter = 3;
constexpr std::int64_t kOftenNs = 200 * diag::kMs, kSeldomNs = diag::kSecond;
constexpr std::int64_t kOftenForNs = 10 * diag::kSecond;  // from the first look for trouble on
constexpr std::int64_t kTimesCost = 20;                   // of a look, from one to the next
constexpr std::int64_t kMostAskNs = 3 * diag::kSecond;    // until a look goes on without those who have not answered
// A monitor that is so late was stopped, and all may have changed.
constexpr std::int64_t kStoppedNs = 2 * diag::kSecond;

// Whether a rank of this process waits for the culprit, or is it.
bool Concerns(const Verdict& v, const Subject& subject) {
  const auto is_own = [&](const diag::Place& p) {
    return p.communicator == subject.terms.communicator && p.rank == subject.terms.rank;
  };
  const auto is_own_link = [&](const diag::LinkPlace& l) { return is_own(l.from) || is_own(l.to); };
  return std::ranges::any_of(v.culprits, is_own) || std::ranges::any_of(v.direct, is_own) ||
         std::ranges::any_of(v.indirect, is_own) || std::ranges::any_of(v.links, is_own_link);
}

// Of what cannot end by itself.
bool MayEnd(const Verdict& v) {
  switch (v.kind) {
    case Kind::kDead:
    case Kind::kMismatch:
    case Kind::kDeadlock:
    case Kind::kStopped:
    case Kind::kLinkStalled:
    case Kind::kGpuHung:
    case Kind::kHostGone:
    case Kind::kInitIncomplete:
      return true;
    case Kind::kNvLinkFault:
      return v.rated_bytes_per_s == 0;  // nothing moves
    default:
      return false;
  }
}

// The ranks of a subject's communicator that a verdict's processes have.
std::vector<int> RanksOf(const Verdict& v, const Subject& subject, const diag::Look& look) {
  std::vector<int> ranks;
  const diag::CommunicatorLook* c = look.Find(subject.terms.communicator);
  for (const diag::Place& culprit : v.culprits) {
    if (culprit.communicator == subject.terms.communicator) ranks.push_back(culprit.rank);
    for (std::size_t i = 0; c != nullptr && culprit.pid != 0 && i < c->seen.size(); ++i) {
      const diag::ProcessLook* process = look.ProcessOf(c->seen[i]);
      if (process != nullptr && process->pid == culprit.pid && process->host == culprit.host)
        ranks.push_back(c->seen[i].rank);
    }
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Standing StandingOf(const Verdict& v, const Subject& subject, const diag::Look& look) {
  Standing standing{.kind = diag::Name(v.kind), .sentence = diag::Sentence(v), .about = diag::Subject(v)};
  if (v.kind == Kind::kDead || v.kind == Kind::kStopped || v.kind == Kind::kHostGone)
    standing.exclude = RanksOf(v, subject, look);
  return standing;
}

Status ErrorOf(const Verdict& v, const Subject& subject, const diag::Look& look) {
  const bool usage = v.kind == Kind::kMismatch || v.kind == Kind::kDeadlock;
  const std::vector<int> ranks = RanksOf(v, subject, look);
  // Of a deadlock nobody is to blame alone.
  const int culprit = v.kind == Kind::kDeadlock               ? -1
                      : !ranks.empty()                        ? ranks.front()
                      : !v.missing.empty() && v.quote.empty() ? v.missing.front()
                                                              : -1;
  const double seconds = static_cast<double>(subject.terms.abort_after_ns) / diag::kSecond;
  return Status(usage ? Code::kInvalidUsage : Code::kRemote,
                fmt::format("{}. TUTTI_ON_VERDICT=abort:{:.0f} has ended the communicator", diag::Sentence(v), seconds),
                culprit);
}

// Ends a subject's communicator, or the making of it.
void End(Subject& subject, const Status& why) {
  std::lock_guard lock(subject.mutex);
  if (subject.closed || subject.ended) return;
  subject.ended = true;
  if (subject.made.load(std::memory_order_relaxed)) {
    subject.terms.end(why);
  } else {
    subject.given_up = why;
    subject.has_given_up.store(true, std::memory_order_release);
  }
}

// Whether some rank has broken the communicator: the others will hear of it.
bool IsFailed(const Subject& subject, const diag::Look& look) {
  const diag::CommunicatorLook* c = look.Find(subject.terms.communicator);
  return c != nullptr && std::ranges::find(c->seen, diag::RankState::kFailed, &diag::RankLook::state) != c->seen.end();
}

bool GoesOn(Subject& subject, const diag::Look& look) {
  if (IsFailed(subject, look)) return false;
  std::lock_guard lock(subject.mutex);
  return !subject.closed && !subject.ended && !subject.IsBroken();
}

// Whether nothing is seen of some of its ranks, as of those on a host that has not answered.
bool IsPartlySeen(const Subject& subject, const diag::Look& look) {
  const diag::CommunicatorLook* c = look.Find(subject.terms.communicator);
  return c != nullptr && subject.made.load(std::memory_order_relaxed) && std::ssize(c->seen) < c->ranks;
}

// Whether other hosts are to be asked for it.
bool Waits(const Subject& subject) {
  if (subject.ended) return false;
  return subject.view.wait().kind != trace::WaitKind::kNothing || subject.IsBroken() ||
         !subject.made.load(std::memory_order_relaxed);
}

// Whether somebody was seen to wait in it, on whatever host. A circle may lead through it also where the own rank waits elsewhere.
bool IsWaitedIn(const Subject& subject, const diag::Look* look) {
  const diag::CommunicatorLook* c = look == nullptr ? nullptr : look->Find(subject.terms.communicator);
  return c != nullptr && std::ranges::any_of(c->seen, [](const diag::RankLook& rank) {
           return rank.wait.kind != trace::WaitKind::kNothing;
         });
}

// What is waited for in a part is told of the whole.
std::set<std::uint64_t> WholesOfPartsThatWait(const Vigil::Subjects& subjects) {
  std::set<std::uint64_t> wholes;
  for (const std::shared_ptr<Subject>& subject : subjects) {
    std::lock_guard lock(subject->mutex);
    if (subject->closed || !Waits(*subject)) continue;
    if (const std::uint64_t whole = subject->view.own().whole; whole != 0) wholes.insert(whole);
  }
  return wholes;
}

}  // namespace

Vigil::Vigil(const std::string& kernel_log)
    : evidence_(std::make_unique<HostEvidence>(EvidencePlaces{.kernel_log = kernel_log},
                                               HostEvidence::Earlier::kDoesNotCount)),
      story_(std::make_unique<diag::Story>()) {}
Vigil::~Vigil() = default;

void Vigil::Remember(const std::vector<std::int32_t>& pids) {
  for (const std::int32_t pid : pids) evidence_->Remember(pid);
}

void Vigil::Attend(Due due) {
  const bool trouble = due == Due::kTrouble || story_->TellsOfSlowness();
  if (!trouble && due == Due::kNothing) return;
  const std::int64_t now_ns = sys::NowNs();
  if (looks_left_ == 0) {
    next_ns_ = now_ns;
    before_.reset();
  }
  looks_left_ = kLooksAfter;
  if (!trouble) return;
  if (trouble_left_ == 0) {
    next_ns_ = std::min(next_ns_, now_ns);
    often_until_ns_ = now_ns + kOftenForNs;
  }
  trouble_left_ = kLooksAfter;
}

std::int64_t Vigil::next_ns() const {
  if (asks_) return std::min(inquiry_.next_ns(), ask_until_ns_);
  return looks_left_ > 0 ? next_ns_ : INT64_MAX;
}

void Vigil::AddWatched(std::vector<sys::Watched>& watched) const {
  if (asks_) inquiry_.AddWatched(watched);
}

void Vigil::Turn(const Subjects& subjects) {
  const std::int64_t begin_ns = sys::ThreadCpuNs();
  if (!asks_) Ask(subjects);
  const std::int64_t now_ns = sys::NowNs();
  inquiry_.Turn(now_ns);
  if (!inquiry_.IsSettled() && now_ns < ask_until_ns_) {
    used_ns_ += sys::ThreadCpuNs() - begin_ns;
    return;
  }
  asks_ = false;
  used_ns_ -= begin_ns;
  Look(subjects);
}

void Vigil::Ask(const Subjects& subjects) {
  const std::int64_t now_ns = sys::NowNs();
  if (now_ns - next_ns_ > kStoppedNs) before_.reset();
  asks_ = true;
  used_ns_ = 0;
  ask_until_ns_ = now_ns + kMostAskNs;
  const std::set<std::uint64_t> wholes = WholesOfPartsThatWait(subjects);
  const auto wanted = [&](Subject& subject) {
    return Waits(subject) ||
           (!subject.ended && (IsWaitedIn(subject, before_.get()) || wholes.contains(subject.terms.communicator)));
  };
  inquiry_.Begin(AboutOwn(subjects, wanted), now_ns);
}

void Vigil::Look(const Subjects& subjects) {
  if (cpus_ == 0) cpus_ = sys::UsableCpus();
  log::SetRank(subjects.front()->terms.rank);
  int ranks = 1;
  diag::Look now = Take(subjects, ranks);
  if (before_ && now.taken_ns - before_->taken_ns >= diag::kLeastApartNs) Tell(subjects, now, Judge(*before_, now));
  before_ = std::make_unique<diag::Look>(std::move(now));
  --looks_left_;
  trouble_left_ -= trouble_left_ > 0 ? 1 : 0;
  const std::int64_t end_ns = sys::NowNs();
  const std::int64_t period_ns = end_ns < often_until_ns_ ? kOftenNs : kSeldomNs;
  const std::int64_t crowd = std::max(ranks / cpus_, 1);
  used_ns_ += sys::ThreadCpuNs();
  next_ns_ = end_ns + std::max({period_ns, diag::ApartNs(ranks), kTimesCost * crowd * used_ns_});
}

diag::Look Vigil::Take(const Subjects& subjects, int& ranks) {
  diag::Look look = LookAtOwn(subjects, [&](Subject& subject) {
    if (subject.ended) return false;
    if (subject.IsBroken()) ++subject.looks_broken;
    ranks = std::max(ranks, subject.terms.ranks);
    return true;
  });
  evidence_->AddTo(look);
  inquiry_.AddTo(look, look.taken_ns);
  return look;
}

void Vigil::KeepOwn(const Subjects& subjects, const diag::Look& now, std::vector<Verdict>& verdicts) {
  std::set<std::string> unknown;
  std::erase_if(verdicts, [&](const Verdict& v) {
    // The communicator has said itself what broke it.
    if (v.kind == Kind::kBroken) return true;
    // Hosts look one after another: what goes on meanwhile contradicts itself, once.
    const bool is_unknown = v.kind == Kind::kUnknown;
    if (is_unknown) unknown.insert(diag::Subject(v));
    if (is_unknown && !unknown_.contains(diag::Subject(v))) return true;
    return std::ranges::none_of(subjects, [&](const auto& subject) {
      // That a rank waits for one that nobody sees is no news: it may have every reason to.
      return Concerns(v, *subject) && !(is_unknown && IsPartlySeen(*subject, now));
    });
  });
  unknown_ = std::move(unknown);
}

void Vigil::ForgetReplaced(const Subjects& subjects, const diag::Look& now, const std::vector<Verdict>& verdicts) {
  for (const Verdict& old : story_->standing()) {
    const std::string about = diag::Subject(old);
    if (std::ranges::any_of(verdicts, [&](const Verdict& v) { return diag::Subject(v) == about; })) continue;
    const bool goes_on = std::ranges::any_of(
        subjects, [&](const auto& subject) { return Concerns(old, *subject) && GoesOn(*subject, now); });
    if (!goes_on) story_->Forget(old);
  }
}

void Vigil::Tell(const Subjects& subjects, const diag::Look& now, std::vector<Verdict> verdicts) {
  KeepOwn(subjects, now, verdicts);
  ForgetReplaced(subjects, now, verdicts);
  for (const diag::Story::Line& line : story_->Update(std::move(verdicts), now.taken_ns)) {
    if (line.severity == diag::Severity::kWarn) {
      TUTTI_WARN("{}", line.text);
    } else {
      TUTTI_INFO(log::kInit | log::kRas, "{}", line.text);
    }
  }
  Publish(subjects, now);
  EndWhatStoodTooLong(subjects, now);
}

void Vigil::Publish(const Subjects& subjects, const diag::Look& now) const {
  for (const std::shared_ptr<Subject>& subject : subjects) {
    const auto found =
        std::ranges::find_if(story_->standing(), [&](const Verdict& v) { return Concerns(v, *subject); });
    const bool stands = found != story_->standing().end();
    Standing standing = stands ? StandingOf(*found, *subject, now) : Standing{};
    std::lock_guard lock(subject->mutex);
    if (subject->closed) continue;
    // What a communicator has ended with stays.
    const bool over = subject->ended || subject->IsBroken() || IsFailed(*subject, now);
    if (over && standing.exclude.empty() && !subject->standing.kind.empty()) continue;
    subject->standing = std::move(standing);
  }
}

void Vigil::EndWhatStoodTooLong(const Subjects& subjects, const diag::Look& now) {
  std::map<std::string, std::int64_t> warned_ns;
  std::vector<Verdict> acted;
  for (const Verdict& v : story_->standing()) {
    if (v.severity != diag::Severity::kWarn || !MayEnd(v)) continue;
    const std::string about = diag::Subject(v);
    const auto before = warned_ns_.find(about);
    const std::int64_t since_ns = before == warned_ns_.end() ? now.taken_ns : before->second;
    warned_ns[about] = since_ns;
    bool ended = false;
    for (const std::shared_ptr<Subject>& subject : subjects) {
      const std::int64_t patience_ns = subject->terms.abort_after_ns;
      if (patience_ns < 0 || now.taken_ns - since_ns < patience_ns || !Concerns(v, *subject)) continue;
      End(*subject, ErrorOf(v, *subject, now));
      ended = true;
    }
    if (ended) acted.push_back(v);
  }
  warned_ns_ = std::move(warned_ns);
  for (const Verdict& v : acted) story_->Forget(v);
}

}  // namespace tutti::watch
