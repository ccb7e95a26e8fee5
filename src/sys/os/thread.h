// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_THREAD_H_
#define TUTTI_SYS_OS_THREAD_H_

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "tutti/status.h"

namespace tutti::sys {

class ThreadStack;

// A thread of the library's own.
class Thread {
 public:
  ~Thread();  // waits until it has ended
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

 private:
  friend Result<std::unique_ptr<Thread>> StartThread(const char* what, std::function<void()> run);
  Thread(pthread_t handle, ThreadStack* stack) : handle_(handle), stack_(stack) {}

  pthread_t handle_;
  ThreadStack* stack_;  // null: the C library's
};

// Starts a thread that takes no signals: those are the program's. kSystem where the system gives no thread; `what` it is for, for that
// sentence. Its stack keeps no memory beside it out of huge pages, if it is among the first ThreadStack::kMost.
Result<std::unique_ptr<Thread>> StartThread(const char* what, std::function<void()> run);
// The same, of a thread for whose end nobody waits.
Status StartDetachedThread(const char* what, std::function<void()> run);

// The calling thread, as /proc/<pid>/task lists it. A system call.
std::int32_t ThreadId();

// How long the calling thread has run on a core, ns. Costs a system call.
std::int64_t ThreadCpuNs();

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_THREAD_H_
