// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_KEEP_FOR_EVER_H_
#define TUTTI_BASE_KEEP_FOR_EVER_H_

#include <atomic>
#include <utility>

namespace tutti {

// Keeps a value until the process ends, for one whose destructor must not run: its end would speak to peers, or take
// away what somebody still uses. In a list, so that leak checkers know of it. Any thread.
template <typename T>
void KeepForEver(T value) {
  struct Kept {
    T value;
    Kept* next;
  };
  static constinit std::atomic<Kept*> first{nullptr};
  auto* kept = new Kept{std::move(value), first.load(std::memory_order_relaxed)};
  while (!first.compare_exchange_weak(kept->next, kept, std::memory_order_acq_rel)) {
  }
}

}  // namespace tutti

#endif  // TUTTI_BASE_KEEP_FOR_EVER_H_
