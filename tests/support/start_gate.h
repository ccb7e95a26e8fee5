// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_START_GATE_H_
#define TUTTI_TESTS_SUPPORT_START_GATE_H_

// Forked ranks start when all are forked. What they send to a thread of their parent, such as the one where hosts meet,
// would wake it while the parent still forks. AddressSanitizer's allocator does not survive that: a child that is forked
// while another thread allocates finds the allocator locked for ever.

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace tutti::tests {

class StartGate {
 public:
  StartGate() {
    if (pipe2(ends_, O_CLOEXEC) != 0) std::abort();
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
