// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_START_GATE_H_
#define TUTTI_TESTS_SUPPORT_START_GATE_H_

// Forks ranks from a process that has other threads, such as the one where hosts meet. AddressSanitizer's allocator does
// not survive a fork while another thread allocates: the child finds it locked for ever. So ranks are forked only when all
// other threads sleep, and start when all are forked, for what they send to such a thread would wake it.

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/support/own_threads.h"

namespace tutti::tests {

class StartGate {
 public:
  // Returns when this process can be forked. A thread that is busy for ever does not hold it up for ever.
  StartGate() {
    if (pipe2(ends_, O_CLOEXEC) != 0) std::abort();
    for (int look = 0; look < 1000 && !OtherThreadsSleep(); ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  ~StartGate() { Open(); }
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;

  // In a child: returns when the parent has opened the gate, or has died.
  void Await() {
    close(ends_[1]);
    char none;
    (void)!read(ends_[0], &none, 1);
    close(ends_[0]);
  }
  // In the parent, which has forked all.
  void Open() {
    if (ends_[0] < 0) return;
    close(ends_[0]);
    close(ends_[1]);
    ends_[0] = -1;
  }

 private:
  int ends_[2];
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_START_GATE_H_
