// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "sys/os/error.h"

namespace tutti::sys {

void Fd::Close() {
  if (fd_ < 0) return;
  const int saved = errno;
  close(fd_);  // Linux frees the descriptor even where close fails, EINTR included
  errno = saved;
  fd_ = -1;
}

Result<Fd> Fd::Duplicate() const {
  const int copy = fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return SystemError(errno, fmt::format("cannot duplicate file descriptor {}", fd_));
  return Fd(copy);
}

int CountOpenFds() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return -1;
  int count = -1;  // the directory's own descriptor
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(directory);
  return count;
}

}  // namespace tutti::sys
