// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/clock.h"

#include <sched.h>
#include <time.h>

#include <cerrno>

namespace tutti::sys {

std::int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

std::int64_t UnixNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

void YieldCpu() { sched_yield(); }

int CurrentCpu() { return sched_getcpu(); }

bool StepOverTo(int cpu) {
  cpu_set_t allowed, target;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || !CPU_ISSET(cpu, &allowed)) return false;
  CPU_ZERO(&target);
  CPU_SET(cpu, &target);
  const bool moved = sched_setaffinity(0, sizeof(target), &target) == 0;
  return sched_setaffinity(0, sizeof(allowed), &allowed) == 0 && moved;
}

void SleepNs(std::int64_t ns) {
  if (ns <= 0) return;
  const std::int64_t end_ns = NowNs() + ns;
  const timespec end = {.tv_sec = end_ns / kNsPerSecond, .tv_nsec = end_ns % kNsPerSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == EINTR) {
  }
}

}  // namespace tutti::sys
