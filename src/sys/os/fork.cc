// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/fork.h"

#include <pthread.h>

#include <forward_list>

namespace tutti::sys {
namespace {

struct Registered {
  std::mutex mutex;
  std::forward_list<std::mutex*> mutexes;  // guarded by mutex, which is held during a fork too
};
Registered& TheRegistered() {
  static auto* const registered = new Registered;  // never destroyed: a fork may come at the end of the process
  return *registered;
}

void LockAll() {
  TheRegistered().mutex.lock();
  for (std::mutex* mutex : TheRegistered().mutexes) mutex->lock();
}
void UnlockAll() {
  for (std::mutex* mutex : TheRegistered().mutexes) mutex->unlock();
  TheRegistered().mutex.unlock();
}

}  // namespace

std::atomic<std::uint32_t> internal::fork_generation{0};

void WatchForks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { internal::fork_generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;  // without memory for it, a child's mistakes are not noticed; nothing else changes
}

void FreeInForkedChildren(std::mutex& mutex) {
  static const int watching = pthread_atfork(LockAll, UnlockAll, UnlockAll);
  (void)watching;  // without memory for it, forks do not wait
  std::lock_guard lock(TheRegistered().mutex);
  TheRegistered().mutexes.push_front(&mutex);
}

}  // namespace tutti::sys
