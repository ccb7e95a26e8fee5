// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/thread_stack.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "sys/os/huge_pages.h"

namespace tutti::sys {
namespace {

std::size_t GuardBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::array<ThreadStack, ThreadStack::kMost>& All() {
  static auto* const all = new std::array<ThreadStack, ThreadStack::kMost>;  // never destroyed: threads end after it
  return *all;
}

}  // namespace

ThreadStack* ThreadStack::Take(std::size_t bytes) {
  for (ThreadStack& stack : All()) stack.GiveBackIfEnded();
  for (ThreadStack& stack : All()) {
    std::int32_t nobody = kNobody;
    if (!stack.user_.compare_exchange_strong(nobody, kTaken, std::memory_order_acquire)) continue;
    if (stack.Map(bytes)) return &stack;
    stack.user_.store(kNobody, std::memory_order_release);
    return nullptr;
  }
  return nullptr;
}

std::span<std::byte> ThreadStack::usable() const { return pages_.subspan(GuardBytes()); }

void ThreadStack::GiveBack() {
  munmap(pages_.data(), pages_.size());
  user_.store(kNobody, std::memory_order_release);
}

bool ThreadStack::Map(std::size_t bytes) {
  pages_ = ReserveHugePages(bytes);
  if (pages_.empty()) return false;
  // Else the kernel takes 2 MiB for the first page that the thread touches, where huge pages are everybody's.
  (void)madvise(pages_.data(), pages_.size(), MADV_NOHUGEPAGE);
  if (mprotect(usable().data(), usable().size(), PROT_READ | PROT_WRITE) == 0) return true;
  munmap(pages_.data(), pages_.size());
  return false;
}

void ThreadStack::GiveBackIfEnded() {
  std::int32_t thread = user_.load(std::memory_order_relaxed);
  if (thread <= 0 || !user_.compare_exchange_strong(thread, kTaken, std::memory_order_acquire)) return;
  const bool has_ended = syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH;
  // In a child that the thread has forked the caller runs on it, under another number.
  const std::byte here{};
  const bool is_here = &here >= pages_.data() && &here < pages_.data() + pages_.size();
  if (has_ended && !is_here) {
    GiveBack();
  } else {
    user_.store(thread, std::memory_order_release);
  }
}

}  // namespace tutti::sys
