// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_THREAD_STACK_H_
#define TUTTI_SYS_OS_THREAD_STACK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::sys {

// Addresses for the stack of a thread of the library's own: whole huge pages, so that the program's memory beside it may move to huge pages
// (docs/decisions/0029-huge-pages.md). The lowest page is a guard. Only pages that the thread touches take memory.
//
// A process has kMost of them at a time. No lock guards them: a thread may be started while one is held, and a forked child finds them as
// they were. Threads: any, each object by whoever has taken it.
class ThreadStack {
 public:
  static constexpr int kMost = 64;

  // One of at least `bytes`, all in all. Null where all are in use, or where the address space does not suffice. First gives back those of
  // threads that have ended.
  static ThreadStack* Take(std::size_t bytes);

  std::span<std::byte> usable() const;  // all but the guard

  // Nobody waits for the thread's end: the stack is given back after it. Called by the thread itself.
  void GiveBackAfter(std::int32_t thread) { user_.store(thread, std::memory_order_release); }
  // REQUIRES: no thread uses it, or will.
  void GiveBack();

 private:
  static constexpr std::int32_t kNobody = 0, kTaken = -1;

  bool Map(std::size_t bytes);
  // If it was left to be given back after its thread, and that has ended.
  void GiveBackIfEnded();

  std::atomic<std::int32_t> user_ = kNobody;  // or the thread after which it is given back
  std::span<std::byte> pages_;                // the guard too
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_THREAD_STACK_H_
