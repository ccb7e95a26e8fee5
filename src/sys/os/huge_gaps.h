// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_HUGE_GAPS_H_
#define TUTTI_SYS_OS_HUGE_GAPS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sys/os/mappings.h"

namespace tutti::sys {

// The kernel puts new memory at the upper end of a gap between mappings. Where that end lies within a huge page, the memory shares the page with
// what is mapped above, a library's file for instance, and can never move to it. This keeps the addresses between such an end and the huge
// page's begin for as long as it lives, so that memory which the program asks for meanwhile ends where a huge page does. They take no memory.
class HugeGaps {
 public:
  // So much is kept by one object at most.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  HugeGaps();
  ~HugeGaps();
  HugeGaps(const HugeGaps&) = delete;
  HugeGaps& operator=(const HugeGaps&) = delete;

  std::size_t bytes() const;  // of addresses that are kept

 private:
  std::vector<std::span<std::byte>> kept_;
};

namespace internal {
// A range of addresses.
struct Range {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};
// What HugeGaps keeps where these are mapped, in ascending order: of every gap that is long enough for a buffer. Nothing below memory of the
// program that may move to huge pages itself, nor below the first thread's stack, which grows down, and other memory that the kernel names.
std::vector<Range> EndsOfGaps(std::span<const Mapping> mappings);
}  // namespace internal

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_HUGE_GAPS_H_
