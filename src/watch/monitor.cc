// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/monitor.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "sys/log/thread_name.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "sys/os/futex.h"
#include "sys/os/thread.h"
#include "watch/desk.h"
#include "watch/door.h"
#include "watch/glance.h"
#include "watch/ras.h"
#include "watch/registry.h"
#include "watch/vigil.h"

namespace tutti::watch {
namespace {

constexpr std::int64_t kPeriodNs = 200 * sys::kNsPerMs;
constexpr std::int64_t kOldNs = sys::kNsPerSecond;

// Sleeps until something has news or the time has come. `call`: what the registry's calls were before there was a look at what to do.
void Sleep(std::uint32_t call, const sys::Bell* bell, const Vigil& vigil, const Desk& desk) {
  const std::int64_t now_ns = sys::NowNs();
  const std::int64_t until_ns = std::clamp(vigil.next_ns(), now_ns + sys::kNsPerMs, now_ns + kPeriodNs);
  if (bell == nullptr) {
    (void)sys::FutexWait(&TheRegistry().calls, call, until_ns - now_ns);
    return;
  }
  std::vector<sys::Watched> watched = {{.fd = bell->fd().get()}};
  vigil.AddWatched(watched);
  desk.AddWatched(watched);
  if (!sys::WaitAny(watched, until_ns).ok()) sys::SleepNs(until_ns - now_ns);
  bell->Clear();
}

// Whether RAS clients may ask by now: who is there for a moment only needs no port.
bool IsOld(const Subject& subject, std::int64_t now_ns) { return now_ns - subject.view.created_ns() > kOldNs; }

// Whether the control groups of a communicator's processes are to be noted: not while it begins, when ranks measure the machine.
// REQUIRES: it is not closed.
bool IsToRemember(const Subject& subject, std::int64_t now_ns) {
  return !subject.remembered && subject.made.load(std::memory_order_relaxed) && IsOld(subject, now_ns);
}

void Remember(const std::vector<std::shared_ptr<Subject>>& subjects, std::int64_t now_ns, Vigil& vigil) {
  for (const std::shared_ptr<Subject>& subject : subjects) {
    std::vector<std::int32_t> pids;
    {
      std::lock_guard lock(subject->mutex);
      if (subject->closed || !IsToRemember(*subject, now_ns)) continue;
      subject->remembered = true;
      for (const RankPages& pages : subject->pages) pids.push_back(pages.process.pid);
    }
    vigil.Remember(pids);
  }
}

void Run(Vigil& vigil) {
  sys::SetThreadName("tutti-monitor");
  Registry& registry = TheRegistry();
  Desk desk(&vigil.evidence());
  std::vector<std::shared_ptr<Subject>> subjects;
  for (;;) {
    const std::uint32_t call = registry.calls.load(std::memory_order_acquire);
    const sys::Bell* bell = nullptr;
    const std::int64_t now_ns = sys::NowNs();
    BringCalls(desk);
    {
      std::lock_guard lock(registry.mutex);
      if (registry.subjects.empty()) {
        registry.running = false;
        return;
      }
      if (registry.bell.fd().valid()) bell = &registry.bell;  // it stays
      const Subject& oldest = *registry.subjects.front();
      if (!registry.serves && !oldest.terms.ras_address.empty() && IsOld(oldest, now_ns))
        StartRas(oldest.terms.ras_address);
      vigil.Attend(Glance(registry.subjects, now_ns));
      const bool remember =
          std::ranges::any_of(registry.subjects, [&](const auto& s) { return IsToRemember(*s, now_ns); });
      if (vigil.due(now_ns) || !desk.empty() || remember) subjects = registry.subjects;
    }
    Remember(subjects, now_ns, vigil);
    if (!desk.empty()) desk.Turn(subjects, now_ns);
    if (vigil.due(now_ns)) vigil.Turn(subjects);
    subjects.clear();
    Sleep(call, bell, vigil, desk);
  }
}

}  // namespace

bool StartMonitor(const std::string& kernel_log) {
  const Status started = sys::StartDetachedThread("the look at who holds ranks up",
                                                  [vigil = std::make_shared<Vigil>(kernel_log)] { Run(*vigil); });
  if (!started.ok()) {
    TUTTI_WARN("{}", started.message());
    return false;  // the next communicator tries again
  }
  return true;
}

}  // namespace tutti::watch
