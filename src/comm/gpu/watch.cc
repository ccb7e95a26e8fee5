// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/watch.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/gpu/impl.h"
#include "comm/gpu/queue.h"
#include "sys/log/log_output.h"
#include "sys/os/clock.h"
#include "sys/os/fork.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kPeriodNs = 100'000'000;

struct Watch {
  std::mutex mutex;
  std::vector<GpuQueue*> queues;  // guarded by mutex
  bool running = false;           // guarded by mutex
  std::uint32_t generation = 0;   // guarded by mutex: the process that the thread and the queues belong to

  // REQUIRES: mutex is held.
  void AfterFork() {
    if (generation == sys::ForkGeneration()) return;
    generation = sys::ForkGeneration();
    queues.clear();
    running = false;
  }
};

// Never destroyed: the thread uses it until the very end of the process.
Watch& TheWatch() {
  static Watch& watch = *[] {
    auto* made = new Watch;
    sys::WatchForks();
    sys::FreeInForkedChildren(made->mutex);
    return made;
  }();
  return watch;
}

void Run(Watch& watch) {
  sys::SetThreadName("tutti-gpu-watch");
  for (;;) {
    {
      std::lock_guard lock(watch.mutex);
      if (watch.queues.empty()) {
        watch.running = false;
        return;
      }
      for (GpuQueue* queue : watch.queues) (void)queue->Look();
    }
    sys::SleepNs(kPeriodNs);
  }
}

}  // namespace

void WatchGpu(GpuQueue& queue) {
  Watch& watch = TheWatch();
  std::lock_guard lock(watch.mutex);
  watch.AfterFork();
  watch.queues.push_back(&queue);
  if (watch.running) return;
  std::thread([&watch] { Run(watch); }).detach();
  watch.running = true;
}

void UnwatchGpu(GpuQueue& queue) {
  Watch& watch = TheWatch();
  std::lock_guard lock(watch.mutex);
  watch.AfterFork();
  std::erase(watch.queues, &queue);
}

}  // namespace tutti::comm
