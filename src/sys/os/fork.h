// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_FORK_H_
#define TUTTI_SYS_OS_FORK_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

namespace tutti::sys {

namespace internal {
extern std::atomic<std::uint32_t> fork_generation;
}

// Makes ForkGeneration count from here on. Any thread, any number of times.
void WatchForks();

// Differs between a process and its forked children: what was made under another value belongs to the parent, whose
// threads do not exist here. Costs one load. REQUIRES: WatchForks was called before the value is remembered.
inline std::uint32_t ForkGeneration() { return internal::fork_generation.load(std::memory_order_relaxed); }

// From here on a fork waits until nobody holds `mutex`, so that the child, which lacks the thread that held it, finds it
// free. For the few mutexes that belong to the process as a whole: each registered once, living for ever, and never held
// while another of them is taken.
void FreeInForkedChildren(std::mutex& mutex);

// A descriptor that a forked child shall not hold on to: a port or a name, which would stay taken when this process has ended. While
// this lives, a fork closes it in the child. For the few descriptors of the process as a whole. REQUIRES: this ends before the
// descriptor is closed.
class ClosedInForkedChildren {
 public:
  ClosedInForkedChildren() = default;  // none
  explicit ClosedInForkedChildren(int fd);
  ClosedInForkedChildren(ClosedInForkedChildren&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}
  ClosedInForkedChildren& operator=(ClosedInForkedChildren&& other) noexcept {
    std::swap(place_, other.place_);
    return *this;
  }
  ~ClosedInForkedChildren();

 private:
  std::atomic<int>* place_ = nullptr;
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_FORK_H_
