// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_OWN_THREADS_H_
#define TUTTI_TESTS_SUPPORT_OWN_THREADS_H_

#include <filesystem>
#include <fstream>
#include <string>

namespace tutti::tests {

// The thread that sleeps until the process ends (sys/os/sleeping_thread.h).
inline constexpr char kSleeper[] = "tutti-sleeper";

// How many threads of this process have a name that counts.
template <typename Counts>
int CountThreads(Counts&& counts) {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    if (std::getline(file, name) && counts(name)) ++count;
  }
  return count;
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_OWN_THREADS_H_
