// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/file_limit.h"

#include <cerrno>
#include <ctime>

namespace tutti::sys {
namespace {

sigset_t OnlyFileLimit() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

FileLimitIsAnError::FileLimitIsAnError() {
  const sigset_t held = OnlyFileLimit();
  pthread_sigmask(SIG_BLOCK, &held, &before_);
  sigset_t pending;
  was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

FileLimitIsAnError::~FileLimitIsAnError() {
  const int saved = errno;
  const sigset_t held = OnlyFileLimit();
  const timespec now{};
  while (!was_pending_ && sigtimedwait(&held, nullptr, &now) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = saved;
}

}  // namespace tutti::sys
