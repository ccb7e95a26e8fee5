// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/observed_launches.h"

#include <utility>

#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

std::int64_t ToNs(float ms) { return static_cast<std::int64_t>(static_cast<double>(ms) * 1e6); }

}  // namespace

ObservedLaunches::Event ObservedLaunches::Take() {
  Event event = nullptr;
  if (free_.empty()) return driver_.EventCreate(&event, 0) == 0 ? event : nullptr;
  event = free_.back();
  free_.pop_back();
  return event;
}

bool ObservedLaunches::Record(Event event, sys::cuda::Stream stream) {
  return event != nullptr && driver_.EventRecord(event, stream) == 0;
}

void ObservedLaunches::Forget(const Pending& run) {
  observer_.Ends(run.token, 0);
  for (const Event event : {run.start, run.stop}) {
    if (event != nullptr) free_.push_back(event);
  }
}

Status ObservedLaunches::Launch(const CallObserver::Run& run, sys::cuda::Stream stream,
                                const std::function<Status()>& launch) {
  const CallObserver::Token token = observer_.Begins(run);
  Pending pending{.token = token, .start = nullptr, .stop = nullptr};
  bool timed = token != nullptr;
  if (timed) {
    std::lock_guard lock(mutex_);
    if (last_ == nullptr) {
      last_ = Take();
      last_ns_ = sys::NowNs();
      timed = Record(last_, stream);
    }
    pending.start = Take();
    pending.stop = Take();
    timed = timed && Record(pending.start, stream);
  }
  observer_.Launches(stream);
  const Status s = launch();
  observer_.HasLaunched();
  if (token == nullptr) return s;
  std::lock_guard lock(mutex_);
  if (timed && s.ok() && Record(pending.stop, stream)) {
    pending_.push_back(pending);
  } else {
    Forget(pending);
  }
  LookLocked();
  return s;
}

void ObservedLaunches::Look() {
  std::lock_guard lock(mutex_);
  LookLocked();
}

void ObservedLaunches::LookLocked() {
  while (!pending_.empty()) {
    const Pending run = pending_.front();
    float since_last_ms = 0, took_ms = 0;
    const int result = driver_.EventElapsedTime(&took_ms, run.start, run.stop);
    if (result == sys::cuda::kNotReady) return;
    pending_.pop_front();
    if (result != 0 || driver_.EventElapsedTime(&since_last_ms, last_, run.start) != 0) {
      Forget(run);
      continue;
    }
    const std::int64_t start_ns = last_ns_ + ToNs(since_last_ms);
    last_ns_ = start_ns + ToNs(took_ms);
    observer_.Starts(run.token, start_ns);
    observer_.Ends(run.token, last_ns_);
    free_.push_back(run.start);
    free_.push_back(std::exchange(last_, run.stop));
  }
}

void ObservedLaunches::End() {
  std::lock_guard lock(mutex_);
  LookLocked();
  for (const Pending& run : pending_) Forget(run);
  pending_.clear();
  if (last_ != nullptr) free_.push_back(std::exchange(last_, nullptr));
  for (const Event event : free_) driver_.EventDestroy(event);
  free_.clear();
}

}  // namespace tutti::comm
