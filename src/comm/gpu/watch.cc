// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/watch.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "sys/log/thread_name.h"
#include "sys/os/clock.h"
#include "sys/os/fork.h"
#include "sys/os/thread.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kPeriodNs = 100'000'000;

struct Watcher {
  std::mutex mutex;
  std::vector<Watched*> watched;  // guarded by mutex
  bool running = false;           // guarded by mutex
  std::uint32_t generation = 0;   // guarded by mutex: the process that the thread and what it watches belong to

  // REQUIRES: mutex is held.
  void AfterFork() {
    if (generation == sys::ForkGeneration()) return;
    generation = sys::ForkGeneration();
    watched.clear();
    running = false;
  }
};

// Never destroyed: the thread uses it until the very end of the process.
Watcher& TheWatcher() {
  static Watcher& watcher = *[] {
    auto* made = new Watcher;
    sys::WatchForks();
    sys::FreeInForkedChildren(made->mutex);
    return made;
  }();
  return watcher;
}

void Run(Watcher& watcher) {
  sys::SetThreadName("tutti-gpu-watch");
  for (;;) {
    {
      std::lock_guard lock(watcher.mutex);
      if (watcher.watched.empty()) {
        watcher.running = false;
        return;
      }
      for (Watched* watched : watcher.watched) (void)watched->Look();
    }
    sys::SleepNs(kPeriodNs);
  }
}

}  // namespace

void Watch(Watched& watched) {
  Watcher& watcher = TheWatcher();
  std::lock_guard lock(watcher.mutex);
  watcher.AfterFork();
  watcher.watched.push_back(&watched);
  if (watcher.running) return;
  const Status started = sys::StartDetachedThread("a look at the GPUs' peers", [&watcher] { Run(watcher); });
  if (!started.ok()) {
    TUTTI_WARN("{}", started.message());
    return;  // the next communicator tries again
  }
  watcher.running = true;
}

void Unwatch(Watched& watched) {
  Watcher& watcher = TheWatcher();
  std::lock_guard lock(watcher.mutex);
  watcher.AfterFork();
  std::erase(watcher.watched, &watched);
}

}  // namespace tutti::comm
