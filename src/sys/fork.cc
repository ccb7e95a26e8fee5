// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/fork.h"

#include <pthread.h>

namespace tutti::sys {

std::atomic<std::uint32_t> internal::fork_generation{0};

void WatchForks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { internal::fork_generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;  // without memory for it, a child's mistakes are not noticed; nothing else changes
}

}  // namespace tutti::sys
