// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/presence.h"

#include <algorithm>

namespace tutti::comm {
namespace {

constexpr int kDevices = 64;  // the last one stands for all that come after it

std::atomic<int>& CountOn(int device) {
  static std::atomic<int> counts[kDevices];
  return counts[std::clamp(device, 0, kDevices - 1)];
}

}  // namespace

void GpuPresence::Begin(int device) {
  std::atomic<int>& count = CountOn(device);
  count.fetch_add(1, std::memory_order_relaxed);
  count_.store(&count, std::memory_order_relaxed);
}

void GpuPresence::End() {
  if (std::atomic<int>* count = count_.exchange(nullptr, std::memory_order_relaxed); count != nullptr) {
    count->fetch_sub(1, std::memory_order_relaxed);
  }
}

}  // namespace tutti::comm
