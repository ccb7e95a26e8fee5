// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "diag/merge.h"
#include "diag/patience.h"
#include "diag/sentence.h"
#include "diag/what.h"

namespace tutti::diag {
namespace {

constexpr int kMissedUntilOver = 2;
constexpr unsigned kSeconds = 0xf;  // the last four
constexpr int kSlowSeconds = 3;
constexpr std::int64_t kExcuseLastsNs = 10 * kSecond;

bool IsSlow(const Verdict& v) {
  const Kind kind = v.kind == Kind::kNvLinkFault ? v.without : v.kind;
  return kind == Kind::kLinkSlow || kind == Kind::kGpuSlow;
}

// Whether it may have become the reason of a wait that others had begun: then it has not lasted for as long as that.
bool MayComeLater(const Verdict& v) {
  switch (v.kind) {
    case Kind::kLateHost:
    case Kind::kStarved:
    case Kind::kGpuLate:
    case Kind::kGpuHung:
    case Kind::kLinkStalled:
    case Kind::kNvLinkFault:
    case Kind::kUnknown:
      return !IsSlow(v);
    default:
      return false;
  }
}

// All that makes a sentence worth saying again.
std::string StateOf(const Verdict& v) {
  const bool varies = IsSlow(v) || v.kind == Kind::kNvLinkFault;
  std::string state = fmt::format("{}|{}|{}", v.called, v.excuse.empty(), varies ? "" : v.common);
  if (v.kind == Kind::kInitIncomplete) state += "|" + v.quote;
  for (const CallOf& call : v.calls) state += fmt::format("|{}", call.sequence);
  if (v.process)
    state +=
        fmt::format("|{}", Name(v.process->state == ProcessState::kZombie ? ProcessState::kGone : v.process->state));
  // What a late process does changes all the time; only that it is held or gone does not.
  if (v.process && (v.kind == Kind::kLateHost || v.kind == Kind::kStarved)) state.resize(state.rfind('|'));
  return state;
}

// A slow link, in whichever direction, and the host that it leaves.
std::set<std::string> NamesOf(const LinkPlace& l) {
  const auto [low, high] = std::minmax(l.from.rank, l.to.rank);
  std::set<std::string> names{fmt::format("{:x}|{}|{}", l.from.communicator, low, high)};
  if (!l.from.host.empty()) names.insert(fmt::format("{:x}|from {}", l.from.communicator, l.from.host));
  return names;
}

std::set<std::string> LinksOf(const Verdict& v) {
  std::set<std::string> links;
  if (v.kind != Kind::kLinkSlow) return links;
  for (const LinkPlace& l : v.links) links.merge(NamesOf(l));
  return links;
}

std::set<std::string> SubjectsOf(const std::vector<Verdict>& verdicts) {
  std::set<std::string> subjects;
  for (const Verdict& v : verdicts) subjects.insert(Subject(v));
  return subjects;
}

}  // namespace

void Story::Continue(const std::string& subject, const Verdict& verdict, const std::set<std::string>& subjects) {
  const std::set<std::string> links = LinksOf(verdict);
  if (links.empty() || entries_.contains(subject)) return;
  const auto is_same = [&](const auto& entry) {
    const auto shared = [&](const auto& link) { return links.contains(link.first); };
    return !subjects.contains(entry.first) && std::ranges::any_of(entry.second.links, shared);
  };
  const auto found = std::ranges::find_if(entries_, is_same);
  if (found != entries_.end()) Rename(std::string(found->first), subject);
}

bool Story::KeepLastingLinks(Entry& entry, Verdict& verdict) {
  if (verdict.kind != Kind::kLinkSlow) return true;
  ++entry.updates;
  for (const std::string& name : LinksOf(verdict)) ++entry.links[name];
  const auto is_passing = [&](const LinkPlace& l) {
    return std::ranges::any_of(NamesOf(l), [&](const auto& name) { return 2 * entry.links[name] < entry.updates; });
  };
  if (std::erase_if(verdict.links, is_passing) == 0) return true;
  if (verdict.links.empty()) return false;
  const LinkPlace& first = verdict.links.front();
  verdict.common = verdict.links.size() > 1 ? CommonOf(verdict.links) : "";
  verdict.bytes_per_s = first.bytes_per_s;
  verdict.rated_bytes_per_s = first.rated_bytes_per_s;
  verdict.beside_others = first.beside_others;
  return true;
}

void Story::Rename(const std::string& subject, const std::string& now) {
  if (now == subject || entries_.contains(now)) return;
  auto entry = entries_.extract(subject);
  entry.key() = now;
  entries_.insert(std::move(entry));
}

Severity Story::SeverityAfter(Verdict v, std::int64_t held_ns) const {
  v.held_ns = held_ns;
  return SeverityOf(v, rules_);
}

bool Story::Persists(Entry& entry, bool there, std::int64_t now_ns) {
  if (entry.second_ns == 0 || now_ns - entry.second_ns >= kSecond) {
    entry.seconds = (entry.seconds << 1 | (there ? 1u : 0u)) & kSeconds;
    entry.second_ns = now_ns;
  }
  return std::popcount(entry.seconds) >= kSlowSeconds;
}

bool Story::TellsOfSlowness() const {
  return std::ranges::any_of(
      entries_, [](const auto& entry) { return entry.second.slow && entry.second.told > Severity::kQuiet; });
}

void Story::Forget(const Verdict& verdict) { entries_.erase(Subject(verdict)); }

void Story::Excuse(Verdict& v, std::int64_t now_ns) {
  const auto process_of = [](const Place& p) { return fmt::format("{}|{}", p.host, p.pid); };
  if (!v.excuse.empty()) {
    for (const Place& p : v.culprits) excuses_[process_of(p)] = {.text = v.excuse, .seen_ns = now_ns};
    return;
  }
  const auto is_excused = [&](const Place& p) { return excuses_.contains(process_of(p)); };
  const bool may_be = v.kind == Kind::kLateHost && !v.culprits.empty();
  if (!may_be || !std::ranges::all_of(v.culprits, is_excused)) return;
  v.excuse = excuses_[process_of(v.culprits.front())].text;
  v.severity = SeverityOf(v, rules_);
}

bool Story::IsOver(Entry& entry, std::int64_t now_ns) {
  if (entry.missed == 0) return false;
  if (!entry.slow) return entry.missed >= kMissedUntilOver;
  const bool persists = Persists(entry, false, now_ns);
  return entry.told > Severity::kQuiet ? !persists : entry.seconds == 0;
}

void Story::EndThoseOver(std::int64_t now_ns, std::vector<Line>& lines) {
  for (auto at = entries_.begin(); at != entries_.end();) {
    Entry& entry = at->second;
    if (!IsOver(entry, now_ns)) {
      ++at;
      continue;
    }
    if (entry.told > Severity::kQuiet) {
      lines.push_back(
          {.severity = entry.told, .text = fmt::format("cleared after {}: {}", Duration(entry.held_ns), entry.what)});
    }
    at = entries_.erase(at);
  }
}

std::vector<Story::Line> Story::Update(std::vector<Verdict> verdicts, std::int64_t now_ns) {
  std::vector<Line> lines;
  standing_.clear();
  for (auto& [subject, entry] : entries_) ++entry.missed;
  std::erase_if(excuses_, [&](const auto& e) { return now_ns - e.second.seen_ns >= kExcuseLastsNs; });
  const std::set<std::string> subjects = SubjectsOf(verdicts);
  for (Verdict& v : verdicts) {
    const std::string subject = Subject(v);
    Continue(subject, v, subjects);
    const auto [found, is_new] = entries_.try_emplace(subject);
    Entry& entry = found->second;
    if (is_new) entry.first_ns = now_ns - v.held_ns, entry.seen_ns = now_ns;
    if (IsSlow(v)) {
      entry.slow = true;
      entry.missed = 0;
      v.held_ns = now_ns - entry.first_ns;
      const bool lasts = KeepLastingLinks(entry, v);
      if (lasts) Rename(subject, Subject(v));
      v.severity = Persists(entry, true, now_ns) && lasts ? SeverityOf(v, rules_) : Severity::kQuiet;
    }
    Excuse(v, now_ns);
    const bool stopped = v.kind == Kind::kStopped;
    if (stopped) v.severity = std::min(v.severity, SeverityAfter(v, now_ns - entry.seen_ns + kLeastApartNs));
    if (MayComeLater(v)) {
      const std::int64_t shown_ns = rules_.patience[static_cast<std::size_t>(v.kind)].info_ns;
      const std::int64_t its_own_ns = std::max(now_ns - entry.seen_ns + shown_ns, v.stood_ns);
      v.severity = std::min(v.severity, std::max(SeverityAfter(v, its_own_ns), Severity::kInfo));
    }
    if (v.severity == Severity::kQuiet) {
      // Not worth a word yet. One that was told and is quiet now counts as missed.
      if (stopped) entry.missed = 0;
      if (is_new && !entry.slow && !stopped) entries_.erase(found);
      continue;
    }
    entry.missed = 0;
    entry.held_ns = std::max(entry.held_ns, now_ns - entry.first_ns);
    const bool starves = v.kind == Kind::kStarved;
    if (starves || !entry.starved) entry.what = What(v);
    entry.starved |= starves;
    const std::string state = StateOf(v) + (entry.starved ? "|starved" : "");
    // What the system says of why may come some looks later, and changes from look to look.
    const bool explains = !v.remedy.empty() && entry.remedies.insert(v.remedy).second;
    if (v.severity > entry.told || state != entry.state || explains)
      lines.push_back({.severity = v.severity, .text = Sentence(v)});
    entry.told = std::max(entry.told, v.severity);
    entry.state = state;
    standing_.push_back(std::move(v));
  }
  EndThoseOver(now_ns, lines);
  std::ranges::stable_sort(standing_, std::ranges::greater{}, &Verdict::severity);
  return lines;
}

}  // namespace tutti::diag
