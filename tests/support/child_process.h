// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_CHILD_PROCESS_H_
#define TUTTI_TESTS_SUPPORT_CHILD_PROCESS_H_

// Processes that tests start, whose output they read.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tutti::tests {

// How long a test waits for what must happen, however slow the machine.
inline constexpr std::chrono::milliseconds kPatience{60'000};

// A child process whose output is kept. It has a process group of its own, and dies with the test.
class ChildProcess {
 public:
  // Runs `body` in a forked child, which exits with what it returns. Standard output and standard error go to output(),
  // standard input is empty. REQUIRES: the caller has one thread, or `body` does little but exec.
  explicit ChildProcess(const std::function<int()>& body);
  // The same with the program's words; it is looked for in PATH. What is left of `environment` is added to that of this
  // process.
  explicit ChildProcess(std::vector<std::string> words, std::vector<std::string> environment = {});
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // What it and its children have written so far.
  std::string output() const;
  // Waits for its end: its exit code, or 128 + the signal that ended it. A process that is still there after `limit` fails
  // the test, is killed, and counts as -1.
  int Wait(std::chrono::milliseconds limit = kPatience);
  // Waits until the output holds a text. False where the process ends without it or `limit` is over.
  bool WaitForOutput(const std::string& text, std::chrono::milliseconds limit = kPatience);
  void Signal(int signal) const;

 private:
  bool HasEnded();

  pid_t pid_ = -1;
  int output_ = -1;  // a file without a name
  bool ended_ = false;
  int wait_status_ = 0;
};

// For the child of a fork: becomes the program. Only returns where that cannot be: its exit code, after a sentence.
int Exec(std::vector<std::string> words, const std::vector<std::string>& environment);

// Waits until `done` says so; what it says at last.
bool WaitUntil(const std::function<bool()>& done, std::chrono::milliseconds limit = kPatience);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_CHILD_PROCESS_H_
