// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_WATCH_H_
#define TUTTI_COMM_GPU_WATCH_H_

#include "tutti/status.h"

namespace tutti::comm {

// What the thread looks at.
class Watched {
 public:
  Watched() = default;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Called ten times a second, by that thread alone.
  virtual Status Look() = 0;

 protected:
  ~Watched() = default;
};

// The thread of the process that looks after communicators whose kernels may run while no thread of the program calls
// anything: ten times a second it lets each of them Look. It starts with the first communicator and uses nothing that
// the end of a process takes down. Any thread may call these.
void Watch(Watched& watched);
// Returns when the thread will not look at it again.
void Unwatch(Watched& watched);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_WATCH_H_
