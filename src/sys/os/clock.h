// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_CLOCK_H_
#define TUTTI_SYS_OS_CLOCK_H_

#include <cstdint>

namespace tutti::sys {

// Nanoseconds of CLOCK_MONOTONIC: the same clock in all processes of a host, never set back. Costs about 20
// ns; no system call where the kernel offers the vdso.
std::int64_t NowNs();

// Nanoseconds since 1970, of the clock that people see. It may be set back.
std::int64_t UnixNs();

// Tells the core that the caller spins: frees the other hardware thread and saves power for a few dozen
// cycles.
inline void CpuPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // `yield` is a no-op on most Arm cores; `isb` waits about as long as pause does on x86.
  asm volatile("isb" ::: "memory");
#endif
}

// Gives the core to another runnable thread, if there is one.
void YieldCpu();

// The core that the calling thread runs on, at this moment; -1 where the system does not say.
int CurrentCpu();
// Moves the calling thread to a core that it may run on, once: afterwards the system may move it again as before.
// Returns false, having changed nothing, where it may not run there.
bool StepOverTo(int cpu);

// Sleeps for at least `ns`, through signals. Returns at once for ns <= 0.
void SleepNs(std::int64_t ns);

inline constexpr std::int64_t kNsPerMs = 1'000'000;
inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_CLOCK_H_
