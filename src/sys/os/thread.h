// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_THREAD_H_
#define TUTTI_SYS_OS_THREAD_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "tutti/status.h"

namespace tutti::sys {

// A thread of the library's own, which takes no signals: those are the program's. kSystem where the system gives no thread;
// `what` it is for, for that sentence.
Result<std::thread> StartThread(const char* what, std::function<void()> run);

// The calling thread, as /proc/<pid>/task lists it. A system call.
std::int32_t ThreadId();

// How long the calling thread has run on a core, ns. Costs a system call.
std::int64_t ThreadCpuNs();

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_THREAD_H_
