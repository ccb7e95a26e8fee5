// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_OWN_THREADS_H_
#define TUTTI_TESTS_SUPPORT_OWN_THREADS_H_

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
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

// Whether all threads of this process but the caller sleep. One that has just ended counts as asleep.
inline bool OtherThreadsSleep() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::ranges::all_of(threads, [](const std::filesystem::directory_entry& thread) {
    if (std::stoi(thread.path().filename()) == gettid()) return true;
    std::ifstream file(thread.path() / "stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_end = stat.rfind(") ");  // the state is the field after the name
    return name_end == std::string::npos || stat[name_end + 2] == 'S';
  });
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_OWN_THREADS_H_
