// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_FILE_LIMIT_H_
#define TUTTI_SYS_OS_FILE_LIMIT_H_

#include <csignal>

namespace tutti::sys {

// While it lives, a file that would grow beyond this process's limit (ulimit -f) is an error, EFBIG, of this thread's
// call. Otherwise the system ends the process with SIGXFSZ, without a word.
class FileLimitIsAnError {
 public:
  FileLimitIsAnError();
  ~FileLimitIsAnError();
  FileLimitIsAnError(const FileLimitIsAnError&) = delete;
  FileLimitIsAnError& operator=(const FileLimitIsAnError&) = delete;

 private:
  sigset_t before_;           // the thread's mask
  bool was_pending_ = false;  // the signal, for reasons that are not ours
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_FILE_LIMIT_H_
