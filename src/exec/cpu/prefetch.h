// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_PREFETCH_H_
#define TUTTI_EXEC_CPU_PREFETCH_H_

// Cache lines are asked for before they are needed, because each one that the other end of a link has touched last is a miss of a
// tenth of a microsecond, and only those asked for together wait together (docs/decisions/0024-lines-asked-for-early.md).
//
// * A writer asks for the lines that its next message will be written to.
// * A reader asks for the lines of messages that follow. It leaves alone those of the next message, as long as that is not there: a
//   writer that is not ahead writes just these. What follows lies in the reader's own cache then, and asking costs nothing.

#include <algorithm>
#include <cstddef>

namespace tutti::exec::cpu {

inline constexpr std::size_t kCacheLine = 64;

// Asks for a cache line in writable state.
inline void PrefetchForWrite(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" ::"m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}
inline void PrefetchForWrite(const std::byte* p, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kCacheLine) PrefetchForWrite(p + at);
}
inline void PrefetchForRead(const std::byte* p, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kCacheLine) __builtin_prefetch(p + at);
}

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_PREFETCH_H_
