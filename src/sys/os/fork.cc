// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/fork.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
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

// Descriptors plus one; 0: none. A fork may come at any moment, so nothing here takes a lock.
constinit std::array<std::atomic<int>, 32> g_closed_in_children;

void CloseInChild() {
  for (std::atomic<int>& place : g_closed_in_children) {
    const int fd = place.exchange(0, std::memory_order_relaxed) - 1;
    if (fd >= 0) (void)close(fd);
  }
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

ClosedInForkedChildren::ClosedInForkedChildren(int fd) {
  static const int watching = pthread_atfork(nullptr, nullptr, CloseInChild);
  (void)watching;  // without memory for it, and without a free place, the child keeps the descriptor
  for (std::atomic<int>& place : g_closed_in_children) {
    int free = 0;
    if (!place.compare_exchange_strong(free, fd + 1)) continue;
    place_ = &place;
    return;
  }
}

ClosedInForkedChildren::~ClosedInForkedChildren() {
  if (place_ != nullptr) place_->store(0);
}

}  // namespace tutti::sys
