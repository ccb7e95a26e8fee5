// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/inquiry.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "diag/evidence.h"
#include "watch/abroad.h"
#include "watch/far_caller.h"
#include "watch/joiner.h"

namespace tutti::watch {
namespace {

using diag::ProcessState;
using Finding = FarCaller::Finding;

}  // namespace

Inquiry::Inquiry(Why why) : why_(why), question_(std::make_unique<Question>()) {}
Inquiry::~Inquiry() = default;

Inquiry::Key Inquiry::KeyOf(const FarRank& rank) { return {rank.host, rank.pid, sys::ListEndpoints(rank.endpoints)}; }

const FarCaller& Inquiry::Known(const FarRank& rank) const { return *callers_.at(KeyOf(rank)).caller; }

std::map<std::string, Inquiry::FarHost> Inquiry::HostsOf(const About& about) {
  std::map<std::string, FarHost> hosts;
  for (const FarRank& rank : about.abroad->ranks) hosts[rank.host].push_back(&rank);
  return hosts;
}

FarCaller& Inquiry::CallerOf(const About& about, const FarRank& rank) {
  Called& called = callers_[KeyOf(rank)];
  if (called.caller == nullptr) {
    called = {.communicator = about.communicator,
              .caller = std::make_unique<FarCaller>(rank, about.abroad->TermsOf(rank.rank))};
  }
  return *called.caller;
}

void Inquiry::Begin(std::vector<About> about, std::int64_t now_ns) {
  about_ = std::move(about);
  asked_.clear();
  // Of communicators that are gone, or that nobody waits in any more.
  std::erase_if(callers_, [&](const auto& entry) {
    return std::ranges::find(about_, entry.second.communicator, &About::communicator) == about_.end();
  });
  hosts_.clear();
  *question_ = {.number = question_->number + 1, .communicators = {}, .waits = why_ == Why::kWaits};
  for (const About& a : about_) {
    if (question_->communicators.size() < kMostQuestionIds) question_->communicators.push_back(a.communicator);
  }
  patient_until_ns_ = now_ns + FarCaller::kSlowNs;
  waited_ = false;
  for (const About& a : about_) {
    for (auto& [name, host] : HostsOf(a)) {
      hosts_.push_back({.about = &a, .host = std::move(host), .callers = {}});
      AskSome(hosts_.back(), now_ns);
    }
  }
  Turn(now_ns);
}

bool Inquiry::HostAsked::HasAnswered() const {
  return std::ranges::any_of(callers, [](const FarCaller* caller) { return caller->answer().has_value(); });
}

void Inquiry::Ask(HostAsked& asked, const FarRank& rank, std::int64_t now_ns) {
  FarCaller& caller = CallerOf(*asked.about, rank);
  if (std::ranges::find(asked.callers, &caller) != asked.callers.end()) return;
  asked.callers.push_back(&caller);
  if (std::ranges::find(asked_, &caller) != asked_.end()) return;
  caller.Ask(*question_, now_ns);
  asked_.push_back(&caller);
}

void Inquiry::AskSome(HostAsked& asked, std::int64_t now_ns) {
  const std::size_t processes = asked.host.size();
  const std::size_t first = static_cast<std::size_t>(asked.about->number) % processes;
  asked.next = (first + 1) % processes;
  Ask(asked, *asked.host[first], now_ns);
  const FarCaller& caller = *asked.callers.front();
  if (caller.is_slow()) Ask(asked, *asked.host[asked.next], now_ns);
  for (const FarRank* rank : asked.host) {
    (void)CallerOf(*asked.about, *rank);
    if (caller.finding() >= Finding::kMute) Ask(asked, *rank, now_ns);
  }
}

void Inquiry::AskOthers(std::int64_t now_ns) {
  for (HostAsked& asked : hosts_) {
    if (asked.HasAnswered()) continue;
    for (FarCaller* caller : asked.callers) caller->NoteSlow();
    Ask(asked, *asked.host[asked.next], now_ns);
  }
}

void Inquiry::Turn(std::int64_t now_ns) {
  for (FarCaller* caller : asked_) caller->Turn(now_ns);
  if (waited_ || now_ns < patient_until_ns_) return;
  waited_ = true;
  AskOthers(now_ns);
}

bool Inquiry::IsSettled() const {
  return std::ranges::all_of(hosts_, [&](const HostAsked& asked) {
    return asked.HasAnswered() ||
           std::ranges::all_of(asked.callers, [&](const FarCaller* caller) { return caller->IsSettled(waited_); });
  });
}

std::int64_t Inquiry::SilentFor(const FarHost& host, std::int64_t now_ns) const {
  std::int64_t heard_ns = 0, asked_ns = now_ns;
  for (const FarRank* rank : host) {
    const FarCaller& caller = Known(*rank);
    if (caller.finding() != Finding::kOutOfReach) return 0;
    heard_ns = std::max(heard_ns, caller.heard_ns());
    asked_ns = std::min(asked_ns, caller.first_asked_ns());
  }
  return now_ns - (heard_ns != 0 ? heard_ns : asked_ns);
}

void Inquiry::AddTo(diag::Look& look, std::int64_t now_ns) const {
  if (about_.empty()) return;
  for (diag::HostLook& host : look.hosts) host.name = about_.front().abroad->own_host;
  for (diag::ProcessLook& process : look.processes) process.host = about_.front().abroad->own_host;
  Joiner joiner(look);
  for (const FarCaller* caller : asked_) {
    if (caller->answer()) joiner.Add(*caller->answer());
  }
  for (const About& about : about_) {
    for (const auto& [name, host] : HostsOf(about)) {
      const std::int64_t silent_ns = SilentFor(host, now_ns);
      const bool silent = silent_ns >= diag::kSilentNs;
      joiner.AddHost(name, silent_ns);
      for (const FarRank* rank : host) {
        const Finding finding = Known(*rank).finding();
        if (silent) joiner.AddUnheard(about.communicator, *rank, ProcessState::kUnknown);
        if (finding == Finding::kRefused) joiner.AddUnheard(about.communicator, *rank, ProcessState::kGone);
        if (finding == Finding::kSilent) joiner.AddUnheard(about.communicator, *rank, ProcessState::kSilent);
      }
    }
  }
  joiner.Finish();
}

void Inquiry::AddWatched(std::vector<sys::Watched>& watched) const {
  for (const FarCaller* caller : asked_) caller->AddWatched(watched);
}

std::int64_t Inquiry::next_ns() const {
  std::int64_t next_ns = waited_ ? INT64_MAX : patient_until_ns_;
  for (const FarCaller* caller : asked_) next_ns = std::min(next_ns, caller->next_ns());
  return next_ns;
}

}  // namespace tutti::watch
