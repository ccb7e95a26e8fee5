// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_GAP_H_
#define TUTTI_TESTS_SUPPORT_GAP_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "sys/os/huge_pages.h"
#include "sys/os/mappings.h"

namespace tutti::tests {

// A gap of three and a half huge pages of addresses, from the start of one on, between memory that is not the program's own. It is far below
// all else that is mapped, where the kernel puts nothing unasked. One at a time in a process.
class Gap {
 public:
  static constexpr std::size_t kEndBytes = sys::kHugePageBytes / 2, kRestBytes = 3 * sys::kHugePageBytes;

  Gap() {
    std::uintptr_t where = 0x7e90'0000'0000;  // sanitizers leave it to the program
    for (; all_ == MAP_FAILED && where < 0x7f00'0000'0000; where += kBytes) {
      all_ = mmap(reinterpret_cast<void*>(where), kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                  -1, 0);
    }
    munmap(begin(), kRestBytes + kEndBytes);
  }
  ~Gap() { munmap(all_, kBytes); }
  Gap(const Gap&) = delete;
  Gap& operator=(const Gap&) = delete;

  // Whether something is mapped in the half of a huge page.
  bool EndIsTaken() const { return !IsFree(begin() + kRestBytes, kEndBytes); }
  bool RestIsFree() const { return IsFree(begin(), kRestBytes); }

 private:
  static constexpr std::size_t kBytes = 6 * sys::kHugePageBytes;

  std::byte* begin() const { return static_cast<std::byte*>(all_) + sys::kHugePageBytes; }
  static bool IsFree(std::byte* data, std::size_t bytes) {
    const bool is_free = sys::MapIfFree({data, bytes}, PROT_NONE);
    if (is_free) munmap(data, bytes);
    return is_free;
  }

  void* all_ = MAP_FAILED;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_GAP_H_
