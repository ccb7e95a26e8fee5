// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/monitor.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#include "base/log.h"
#include "sys/log/thread_name.h"
#include "sys/os/clock.h"
#include "sys/os/futex.h"
#include "sys/os/thread.h"
#include "watch/glance.h"
#include "watch/registry.h"
#include "watch/vigil.h"

namespace tutti::watch {
namespace {

constexpr std::int64_t kPeriodNs = 200 * sys::kNsPerMs;

void Run() {
  sys::SetThreadName("tutti-monitor");
  Registry& registry = TheRegistry();
  Vigil vigil;
  std::vector<std::shared_ptr<Subject>> subjects;
  for (;;) {
    const std::uint32_t call = registry.calls.load(std::memory_order_acquire);
    std::int64_t now_ns = sys::NowNs();
    {
      std::lock_guard lock(registry.mutex);
      if (registry.subjects.empty()) {
        registry.running = false;
        return;
      }
      vigil.Attend(Glance(registry.subjects, now_ns));
      if (vigil.due(now_ns)) subjects = registry.subjects;
    }
    if (!subjects.empty()) {
      vigil.Look(subjects);
      subjects.clear();
      now_ns = sys::NowNs();
    }
    (void)sys::FutexWait(&registry.calls, call, std::clamp(vigil.next_ns() - now_ns, sys::kNsPerMs, kPeriodNs));
  }
}

}  // namespace

bool StartMonitor() {
  Result<std::thread> thread = sys::StartThread("the look at who holds ranks up", [] { Run(); });
  if (!thread.ok()) {
    TUTTI_WARN("{}", thread.status().message());
    return false;  // the next communicator tries again
  }
  thread->detach();
  return true;
}

}  // namespace tutti::watch
