// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/sleeping_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "sys/os/fork.h"
#include "sys/os/thread.h"

namespace tutti::sys {
namespace {

struct Made {
  std::mutex mutex;
  std::int32_t pid = 0;  // of the process that has made it: a forked child has none of its parent's threads
  std::int32_t thread = 0;
};
Made& TheMade() {
  static auto* const made = [] {
    auto* const m = new Made;  // never destroyed: threads may ask at the end of the process
    FreeInForkedChildren(m->mutex);
    return m;
  }();
  return *made;
}

std::int32_t Make() {
  const auto number = std::make_shared<std::atomic<std::int32_t>>(0);
  const Status started = StartDetachedThread("system calls of peers", [number] {
    (void)pthread_setname_np(pthread_self(), "tutti-sleeper");
    number->store(ThreadId());
    number->notify_one();
    for (;;) (void)pause();
  });
  if (!started.ok()) return 0;
  number->wait(0);
  return number->load();
}

}  // namespace

std::int32_t SleepingThread() {
  Made& made = TheMade();
  std::lock_guard lock(made.mutex);
  if (made.pid != getpid()) made.thread = Make();
  made.pid = getpid();
  return made.thread;
}

}  // namespace tutti::sys
