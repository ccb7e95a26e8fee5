// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/huge_buffers.h"

#include <algorithm>

namespace tutti::exec::cpu {

void HugeBuffers::Use(const std::byte* data, std::size_t bytes) {
  if (data == nullptr || bytes < kLeastBytes) return;
  if (pages_.empty()) pages_.resize(kPages);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  int moves = 0;
  for (std::uintptr_t number = begin / sys::kHugePageBytes; number <= (begin + bytes - 1) / sys::kHugePageBytes;
       ++number) {
    Page& page = pages_[number % kPages];
    if (page.number != number) page = {.number = number, .left = kUsesBefore};
    if (page.left > 1 || moves == kMovesPerCall) {
      page.left -= page.left > 1 ? 1 : 0;
      continue;
    }
    ++moves;
    const bool moved = move_(reinterpret_cast<std::byte*>(number * sys::kHugePageBytes));
    page.failures = moved ? 0 : std::min(page.failures + 1, kMostFailures);
    page.left = kUsesBetween << (2 * page.failures);
  }
}

}  // namespace tutti::exec::cpu
