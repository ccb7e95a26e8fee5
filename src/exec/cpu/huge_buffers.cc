// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/huge_buffers.h"

#include <algorithm>

namespace tutti::exec::cpu {

void HugeBuffers::Use(const std::byte* data, std::size_t bytes) {
  if (data == nullptr || bytes < kLeastBytes) return;
  if (pages_.empty()) pages_.resize(kPages);
  rest_ -= rest_ > 0 ? 1 : 0;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  int tries = 0;
  for (std::uintptr_t number = begin / sys::kHugePageBytes; number <= (begin + bytes - 1) / sys::kHugePageBytes;
       ++number) {
    Page& page = pages_[number % kPages];
    if (page.number != number) page = {.number = number, .left = kUsesBefore};
    if (page.left > 1) {
      --page.left;
    } else if (rest_ == 0 && tries < kMovesPerCall) {
      ++tries;
      Try(page);
    }
  }
}

void HugeBuffers::Try(Page& page) {
  const sys::MoveToHuge result = move_(reinterpret_cast<std::byte*>(page.number * sys::kHugePageBytes));
  if (result == sys::MoveToHuge::kNoPages) {
    rest_ = kRest << rested_;
    rested_ = std::min(rested_ + 1, kMostRests);
    return;
  }
  const bool moved = result == sys::MoveToHuge::kMoved;
  if (moved) rested_ = 0;
  page.failures = moved ? 0 : std::min(page.failures + 1, kMostFailures);
  page.left = kUsesBetween << (2 * page.failures);
}

}  // namespace tutti::exec::cpu
