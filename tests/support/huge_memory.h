// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_HUGE_MEMORY_H_
#define TUTTI_TESTS_SUPPORT_HUGE_MEMORY_H_

// Memory that may be moved to huge pages, and how much of it has been.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "sys/os/huge_pages.h"

namespace tutti::tests {

// Memory of this process, nobody's until it is touched, from the start of a huge page on. It is a mapping of its own: nothing beside it may be
// touched.
class HugeMemory {
 public:
  explicit HugeMemory(std::size_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS, int fd = -1)
      : bytes_(bytes + 2 * sys::kHugePageBytes),
        all_(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(all_) / sys::kHugePageBytes + 1;
    void* const wanted = reinterpret_cast<void*>(number * sys::kHugePageBytes);
    data_ = static_cast<std::byte*>(mmap(wanted, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0));
  }
  ~HugeMemory() { munmap(all_, bytes_); }
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* all_;
  std::byte* data_;
};

// How much of the mapping that holds an address lies in huge pages, KiB, by /proc/self/smaps; -1: no such mapping.
inline long HugeKib(const void* address) {
  std::ifstream file("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin, end;
    char dash;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') {
      const auto wanted = reinterpret_cast<std::uintptr_t>(address);
      here = begin <= wanted && wanted < end;
    }
    if (here && line.starts_with("AnonHugePages:")) return std::stol(line.substr(std::strlen("AnonHugePages:")));
  }
  return -1;
}

// Whether this system puts memory in huge pages at its first touch, so that nothing can be said of who moves it.
inline bool HugePagesUnasked() {
  const HugeMemory memory(sys::kHugePageBytes);
  memory.data()[0] = std::byte{1};
  return HugeKib(memory.data()) > 0;
}

// Whether the kernel moves memory to huge pages when it is asked to, whatever its administrator says of them.
inline bool KernelMovesMemory() {
  const HugeMemory memory(sys::kHugePageBytes);
  std::memset(memory.data(), 1, sys::kHugePageBytes);
  constexpr int kCollapse = 25;
  return madvise(memory.data(), sys::kHugePageBytes, kCollapse) == 0;
}

// Whether the library moves memory to huge pages on this system. Where it does not, nothing must happen.
inline bool HugePagesWork() { return sys::MayUseHugePages() && KernelMovesMemory(); }

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_HUGE_MEMORY_H_
