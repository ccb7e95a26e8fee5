// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "sys/os/clock.h"

namespace tutti::sys {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

bool FutexWait(const std::atomic<std::uint32_t>* word, std::uint32_t expected, std::int64_t timeout_ns) {
  timespec timeout = {.tv_sec = timeout_ns / kNsPerSecond, .tv_nsec = timeout_ns % kNsPerSecond};
  const long result = syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

int FutexWakeAll(const std::atomic<std::uint32_t>* word) {
  const long woken = syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return woken < 0 ? 0 : static_cast<int>(woken);
}

}  // namespace tutti::sys
