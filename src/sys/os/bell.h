// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_BELL_H_
#define TUTTI_SYS_OS_BELL_H_

#include "sys/os/fd.h"
#include "tutti/status.h"

namespace tutti::sys {

// Wakes a thread that waits on descriptors: what has been rung is readable until it is cleared. Threads: any.
class Bell {
 public:
  Bell() = default;  // none: Ring and Clear do nothing
  // kSystem: no descriptor is left.
  static Result<Bell> Make();

  void Ring() const;
  void Clear() const;
  const Fd& fd() const { return fd_; }

 private:
  Fd fd_;
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_BELL_H_
