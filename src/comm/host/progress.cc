// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/progress.h"

#include <algorithm>

#include "base/log.h"
#include "sys/log/thread_name.h"
#include "sys/os/clock.h"
#include "sys/os/fork.h"
#include "sys/os/futex.h"
#include "sys/os/thread.h"

namespace tutti::comm {
namespace {

// How long everything must have been idle before the tasks are forgotten and the thread sleeps without a limit.
constexpr std::int64_t kForgetNs = 100'000'000;
constexpr std::int64_t kPollNs = 20'000;      // without a move: poll
constexpr std::int64_t kYieldNs = 2'000'000;  // then yield, then nap
constexpr std::int64_t kNapNs = 200'000;

std::atomic<Progress*> g_progress{nullptr};

}  // namespace

Progress& Progress::Get() {
  sys::WatchForks();
  Progress* progress = g_progress.load(std::memory_order_acquire);
  const std::uint32_t generation = sys::ForkGeneration();
  while (progress == nullptr || progress->generation_ != generation) {
    auto fresh = std::unique_ptr<Progress>(new Progress(generation));
    if (g_progress.compare_exchange_strong(progress, fresh.get(), std::memory_order_acq_rel)) {
      progress = fresh.release();  // never freed: threads may use it until the very end of the process
    }
  }
  return *progress;
}

void Progress::Add(const std::shared_ptr<Task>& task) {
  {
    std::lock_guard lock(mutex_);
    if (task->listed_.load(std::memory_order_relaxed)) return;
    tasks_.push_back(task);
    task->listed_.store(true, std::memory_order_release);
    if (!started_) Start();
  }
  calls_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst)) sys::FutexWakeAll(&calls_);
}

void Progress::Remove(Task& task) {
  std::lock_guard lock(mutex_);
  std::erase_if(tasks_, [&](const std::shared_ptr<Task>& t) { return t.get() == &task; });
}

void Progress::Start() {
  const Status started = sys::StartDetachedThread("operations whose callers stay away", [this] {
    sys::SetThreadName("tutti-progress");
    Run();
  });
  if (!started.ok()) {
    TUTTI_WARN("{}", started.message());
    return;  // the next operation tries again
  }
  started_ = true;
}

bool Progress::LookAtAll() {
  const std::int64_t now_ns = sys::NowNs();
  alone_.clear();
  bool busy = false;
  std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Task>& task : tasks_) {
    const Task::Need need = task->Look();
    busy |= need != Task::Need::kNothing;
    if (need == Task::Need::kAttention) alone_.push_back(task);
  }
  if (busy) {
    idle_since_ns_ = now_ns;
    return true;
  }
  if (now_ns - idle_since_ns_ < kForgetNs) return true;
  for (const std::shared_ptr<Task>& task : tasks_) task->listed_.store(false, std::memory_order_seq_cst);
  // One that became busy after it was looked at, and saw itself listed, stays.
  std::erase_if(tasks_, [](const std::shared_ptr<Task>& task) {
    if (task->idle()) return true;
    task->listed_.store(true, std::memory_order_release);
    return false;
  });
  return !tasks_.empty();
}

void Progress::TendAlone() {
  std::int64_t moved_ns = sys::NowNs();
  while (!alone_.empty()) {
    bool moved = false;
    std::erase_if(alone_, [&](const std::shared_ptr<Task>& task) {
      moved |= task->Tend();
      return task->Look() != Task::Need::kAttention;
    });
    const std::int64_t now_ns = sys::NowNs();
    if (moved) moved_ns = now_ns;
    const std::int64_t still_ns = now_ns - moved_ns;
    if (still_ns < kPollNs) {
      sys::CpuPause();
    } else if (still_ns < kYieldNs) {
      sys::YieldCpu();
    } else {
      sys::SleepNs(kNapNs);
      if (!LookAtAll()) return;  // others may need it by now
    }
  }
}

void Progress::Run() {
  std::int64_t nap_ns = kFirstNapNs;
  for (;;) {
    if (!LookAtAll()) {
      // Nothing to do: sleep until something is added.
      const std::uint32_t call = calls_.load(std::memory_order_acquire);
      asleep_.store(true, std::memory_order_seq_cst);
      bool none;
      {
        std::lock_guard lock(mutex_);
        none = tasks_.empty();
      }
      if (none) sys::FutexWait(&calls_, call, -1);
      asleep_.store(false, std::memory_order_relaxed);
      nap_ns = kFirstNapNs;
      idle_since_ns_ = sys::NowNs();
      continue;
    }
    if (!alone_.empty()) {
      TendAlone();
      nap_ns = kFirstNapNs;
      continue;
    }
    sys::SleepNs(nap_ns);
    nap_ns = std::min(nap_ns * 2, kLongestNapNs);
  }
}

}  // namespace tutti::comm
