// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_ENGINE_LOCK_H_
#define TUTTI_COMM_HOST_ENGINE_LOCK_H_

#include <atomic>
#include <cstdint>

namespace tutti::comm {

// Held for short times, or by a thread that waits for peers. One exchange when it is free.
class EngineLock {
 public:
  bool try_lock() { return word_.exchange(1, std::memory_order_acquire) == 0; }
  void lock() {
    if (!try_lock()) [[unlikely]]
      LockSlowly();
  }
  void unlock() { word_.store(0, std::memory_order_release); }
  // How many threads wait for it.
  const std::atomic<std::uint32_t>& wanting() const { return wanting_; }

 private:
  void LockSlowly();
  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::uint32_t> wanting_{0};
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_ENGINE_LOCK_H_
