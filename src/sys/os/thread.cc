// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/thread.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <system_error>
#include <utility>

namespace tutti::sys {

Result<std::thread> StartThread(const char* what, std::function<void()> run) {
  // A thread begins with the mask of its maker, so there is no moment in which it takes a signal.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread made;
  std::string why;
  try {
    made = std::thread(std::move(run));
  } catch (const std::system_error& e) {
    why = e.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!why.empty()) {
    return Status(Code::kSystem,
                  fmt::format("starting a thread for {}: {}. Raise the limit of processes (ulimit -u)", what, why));
  }
  return made;
}

std::int64_t ThreadCpuNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
}

std::int32_t ThreadId() { return static_cast<std::int32_t>(syscall(SYS_gettid)); }

}  // namespace tutti::sys
