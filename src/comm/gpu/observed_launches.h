// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_OBSERVED_LAUNCHES_H_
#define TUTTI_COMM_GPU_OBSERVED_LAUNCHES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "comm/host/call_observer.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti::comm {

// Tells a CallObserver of calls on the GPU. Two events of the driver stand around each run in its stream, so the times are the GPU's: when
// the stream came to the run, and when it went on. They are read later, by whoever looks next.
//
// Threads: any. The GPU's context must be the thread's current one, but for Look.
class ObservedLaunches {
 public:
  // `driver` and `observer` outlive it.
  ObservedLaunches(const sys::cuda::Driver& driver, CallObserver& observer) : driver_(driver), observer_(observer) {}
  // REQUIRES: End was called, or nothing was launched.
  ~ObservedLaunches() = default;
  ObservedLaunches(const ObservedLaunches&) = delete;
  ObservedLaunches& operator=(const ObservedLaunches&) = delete;

  // Tells of the run and of `launch`, which puts it into the stream.
  Status Launch(const CallObserver::Run& run, sys::cuda::Stream stream, const std::function<Status()>& launch);
  // Tells of the runs that have ended.
  void Look();
  // Tells of those that have ended and that the others end without a time, and gives the events back.
  void End();

 private:
  using Event = sys::cuda::Event;
  struct Pending {
    CallObserver::Token token;
    Event start, stop;
  };

  void LookLocked();
  Event Take();
  bool Record(Event event, sys::cuda::Stream stream);
  void Forget(const Pending& run);

  const sys::cuda::Driver& driver_;
  CallObserver& observer_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<Pending> pending_;
  std::vector<Event> free_;
  // Times are measured from the end of the run before, since the driver's differences have 24 bits. null: nothing was launched.
  Event last_ = nullptr;
  std::int64_t last_ns_ = 0;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_OBSERVED_LAUNCHES_H_
