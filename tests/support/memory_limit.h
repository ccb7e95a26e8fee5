// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_MEMORY_LIMIT_H_
#define TUTTI_TESTS_SUPPORT_MEMORY_LIMIT_H_

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

namespace tutti::tests {

// A control group of its own, whose processes the kernel ends where they take more memory than this.
class MemoryLimit {
 public:
  // Whether there can be one: as root, where the groups' folder may be written.
  static bool IsPossible() {
    if (geteuid() != 0 || (!IsFirst() && !IsSecond())) return false;
    const std::string folder = fmt::format("{}/tutti-try-{}", Root(), getpid());
    std::error_code error;
    if (!std::filesystem::create_directory(folder, error)) return false;
    const bool limited = std::filesystem::exists(folder + LimitFile(), error);
    std::filesystem::remove(folder, error);
    return limited;
  }

  explicit MemoryLimit(std::int64_t bytes) : folder_(fmt::format("{}/tutti-{}", Root(), getpid())) {
    std::filesystem::create_directory(folder_);
    std::ofstream(folder_ + LimitFile()) << bytes << std::flush;
    if (!IsFirst()) std::ofstream(folder_ + "/memory.swap.max") << 0 << std::flush;
  }
  ~MemoryLimit() {
    // Its processes have ended, and leave it a little later.
    std::error_code busy;
    for (int i = 0; i < 200 && !std::filesystem::remove(folder_, busy); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

  void Enter(pid_t pid) const { std::ofstream(folder_ + "/cgroup.procs") << pid << std::flush; }
  // Takes memory for ever.
  [[noreturn]] static void TakeUntilKilled() {
    constexpr std::size_t kPiece = 16 << 20;
    while (true) mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  }

 private:
  static bool IsFirst() { return std::filesystem::exists("/sys/fs/cgroup/memory/memory.limit_in_bytes"); }
  static bool IsSecond() { return std::filesystem::exists("/sys/fs/cgroup/cgroup.subtree_control"); }
  static std::string Root() { return IsFirst() ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup"; }
  static std::string LimitFile() { return IsFirst() ? "/memory.limit_in_bytes" : "/memory.max"; }

  const std::string folder_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_MEMORY_LIMIT_H_
