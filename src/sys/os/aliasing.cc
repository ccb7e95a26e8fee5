// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/aliasing.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "sys/os/clock.h"

namespace tutti::sys {
namespace {

#if defined(__x86_64__)

std::int64_t TimeOf(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr int kTries = 3;
  std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kTries; ++i) {
    void* target = to;
    const void* source = from;
    std::size_t left = bytes;
    const std::int64_t begin_ns = NowNs();
    asm volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(left) : : "memory");
    least_ns = std::min(least_ns, NowNs() - begin_ns);
  }
  return least_ns;
}

bool FindOut() {
  constexpr std::size_t kPage = 4096, kBytes = 2 * kPage;
  std::vector<std::byte> memory(6 * kPage, std::byte{1});
  std::byte* const from = memory.data();
  const std::int64_t apart_ns = TimeOf(from + 3 * kPage + kPage / 2, from, kBytes);
  return TimeOf(from + 3 * kPage + 16, from, kBytes) > 4 * apart_ns;
}

#else

bool FindOut() { return false; }

#endif

}  // namespace

bool AliasedCopiesAreSlow() {
  static const bool slow = FindOut();
  return slow;
}

}  // namespace tutti::sys
