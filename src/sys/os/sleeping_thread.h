// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_SLEEPING_THREAD_H_
#define TUTTI_SYS_OS_SLEEPING_THREAD_H_

#include <cstdint>

namespace tutti::sys {

// A thread of this process that sleeps until the process ends, by its number (ThreadId); 0 where the system gives none. A process has one,
// which the first call makes.
//   For the system calls by which others read and write this process's memory: any thread names it, and these calls count up and down in
// what the system keeps of the named one. A thread that runs needs the same cache lines (docs/decisions/0027-a-thread-that-sleeps.md).
//   Threads: any.
std::int32_t SleepingThread();

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_SLEEPING_THREAD_H_
