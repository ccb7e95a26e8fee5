// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_FD_H_
#define TUTTI_SYS_OS_FD_H_

#include <utility>

#include "tutti/status.h"

namespace tutti::sys {

// Owns a file descriptor, or none; closes it when destroyed. A value that moves and does not copy.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}  // takes ownership; negative: none
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = other.Release();
    }
    return *this;
  }
  ~Fd() { Close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // The descriptor, which the caller now owns.
  int Release() { return std::exchange(fd_, -1); }
  // Closes it now. Leaves errno as it was.
  void Close();
  // A second descriptor of the same open file, close-on-exec.
  Result<Fd> Duplicate() const;

 private:
  int fd_ = -1;
};

// How many descriptors this process has open; -1 where /proc cannot be read. For tests of leaks.
int CountOpenFds();

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_FD_H_
