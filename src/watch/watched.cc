// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/watched.h"

#include <utility>

#include "sys/os/clock.h"
#include "sys/os/fork.h"
#include "transport/net/port.h"
#include "watch/abroad.h"
#include "watch/door.h"
#include "watch/monitor.h"
#include "watch/registry.h"

namespace tutti::watch {
namespace {

// A communicator that is made sooner needs no monitor before.
constexpr std::int64_t kLongBeginningNs = sys::kNsPerSecond;

// Whether a subject came here by a fork: its lock may be held for ever.
bool IsForeign(const Subject& subject) { return subject.generation != sys::ForkGeneration(); }

std::shared_ptr<Subject> MakeSubject(Terms terms, RankPages own) {
  sys::WatchForks();
  return std::make_shared<Subject>(std::move(terms), std::move(own));
}

}  // namespace

Watched::Watched(Terms terms, RankPages own) : subject_(MakeSubject(std::move(terms), std::move(own))) {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  registry.AfterFork();
  registry.subjects.push_back(subject_);
}

void Watched::NeedMonitor() const {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  registry.AfterFork();
  if (registry.running || registry.subjects.empty()) return;
  registry.running = StartMonitor(registry.subjects.front()->terms.kernel_log);
}

Watched::~Watched() {
  if (IsForeign(*subject_)) return;
  std::shared_ptr<const Abroad> abroad;
  {
    std::lock_guard lock(subject_->mutex);
    abroad = subject_->abroad;
  }
  if (abroad != nullptr) abroad->port->Remove(abroad->TermsOf(subject_->terms.rank).id);
  Registry& registry = TheRegistry();
  {
    std::lock_guard lock(registry.mutex);
    registry.AfterFork();
    std::erase(registry.subjects, subject_);
    if (registry.subjects.empty()) registry.Ring();
  }
  std::lock_guard lock(subject_->mutex);
  subject_->closed = true;
}

Status Watched::SetAbroad(Abroad abroad) {
  if (IsForeign(*subject_)) return Status::Ok();
  auto shared = std::make_shared<const Abroad>(std::move(abroad));
  TUTTI_RETURN_IF_ERROR(shared->port->Add(shared->TermsOf(subject_->terms.rank), &TheDoor()));
  {
    Registry& registry = TheRegistry();
    std::lock_guard lock(registry.mutex);
    registry.AfterFork();
    if (!registry.bell.fd().valid()) {
      Result<sys::Bell> bell = sys::Bell::Make();
      if (!bell.ok()) return bell.status();
      registry.bell = std::move(*bell);
    }
    registry.Ring();
  }
  std::lock_guard lock(subject_->mutex);
  subject_->abroad = std::move(shared);
  return Status::Ok();
}

void Watched::SetMissing(std::vector<int> ranks, std::string place) {
  if (IsForeign(*subject_)) return;
  NeedMonitor();
  std::lock_guard lock(subject_->mutex);
  if (subject_->pages.size() > 1) return;
  subject_->missing = std::move(ranks);
  subject_->silent_place = std::move(place);
  subject_->sees.store(true, std::memory_order_release);
}

void Watched::SetPages(std::vector<RankPages> pages) {
  if (IsForeign(*subject_)) return;
  std::lock_guard lock(subject_->mutex);
  subject_->missing.clear();
  subject_->silent_place.clear();
  subject_->pages = std::move(pages);
  subject_->sees.store(true, std::memory_order_release);
}

void Watched::SetPaces(std::function<std::vector<transport::FlowPace>()> paces_of) {
  if (IsForeign(*subject_)) return;
  std::lock_guard lock(subject_->mutex);
  subject_->paces_of = std::move(paces_of);
}

void Watched::SetReady() {
  if (IsForeign(*subject_)) return;
  NeedMonitor();
  std::lock_guard lock(subject_->mutex);
  subject_->made.store(true, std::memory_order_release);
}

Status Watched::GivenUp() const {
  if (IsForeign(*subject_)) return Status::Ok();
  if (sys::NowNs() - subject_->view.created_ns() > kLongBeginningNs) NeedMonitor();
  if (!subject_->has_given_up.load(std::memory_order_acquire)) return Status::Ok();
  std::lock_guard lock(subject_->mutex);
  return subject_->given_up;
}

Standing Watched::WhatStands() const {
  if (IsForeign(*subject_)) return {};
  std::lock_guard lock(subject_->mutex);
  return subject_->standing;
}

}  // namespace tutti::watch
