// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/engine_lock.h"

#include "sys/os/clock.h"

namespace tutti::comm {

void EngineLock::LockSlowly() {
  constexpr int kSpins = 200, kYields = 2000;
  constexpr std::int64_t kNapNs = 100'000;
  wanting_.fetch_add(1, std::memory_order_relaxed);
  for (int turn = 0;; ++turn) {
    if (word_.load(std::memory_order_relaxed) == 0 && try_lock()) break;
    if (turn < kSpins) {
      sys::CpuPause();
    } else if (turn < kYields) {
      sys::YieldCpu();
    } else {
      sys::SleepNs(kNapNs);
    }
  }
  wanting_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace tutti::comm
