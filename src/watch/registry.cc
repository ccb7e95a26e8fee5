// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/registry.h"

#include <utility>

#include "sys/os/fork.h"
#include "sys/os/futex.h"
#include "transport/remote.h"
#include "transport/shm/segment.h"
#include "watch/paces.h"
#include "watch/ways_out.h"

namespace tutti::watch {
namespace {

trace::View OpenOwn(const RankPages& pages) {
  const Result<trace::View> view = trace::View::Open(pages.begin + transport::shm::kBoxOffset, pages.box_bytes);
  return view.ok() ? *view : trace::View();
}

}  // namespace

Subject::Subject(Terms given, RankPages pages)
    : terms(std::move(given)),
      own(std::move(pages)),
      view(OpenOwn(own)),
      generation(sys::ForkGeneration()),
      pages({own}),
      paces(std::make_unique<Paces>()),
      ways_out(std::make_unique<WaysOut>()) {}
Subject::~Subject() = default;

void Registry::Ring() {
  calls.fetch_add(1, std::memory_order_release);
  sys::FutexWakeAll(&calls);
  bell.Ring();
}

void Registry::AfterFork() {
  if (generation == sys::ForkGeneration()) return;
  generation = sys::ForkGeneration();
  // A lock of one may be held by the parent's monitor, and is never taken here.
  subjects.clear();
  bell = sys::Bell();
  running = false;
  serves = false;
}

bool Subject::IsBroken() const {
  const auto* header = reinterpret_cast<const transport::shm::Header*>(own.begin);
  return header->state.load(std::memory_order_acquire) == transport::RankState::kFailed;
}

Registry& TheRegistry() {
  static Registry& registry = *[] {
    auto* made = new Registry;
    sys::WatchForks();
    sys::FreeInForkedChildren(made->mutex);
    return made;
  }();
  return registry;
}

}  // namespace tutti::watch
