// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_ALIASING_H_
#define TUTTI_SYS_OS_ALIASING_H_

// libc and the kernel copy long blocks by one instruction (rep movsb). On AMD's Zen 3 and Zen 4 it crawls where the target lies a few
// bytes above the source, counted within their pages. An EPYC of Zen 3, 64 KiB, us per KiB:
//
//   target - source, modulo 4096     memcpy     memcpy by vectors     process_vm_readv
//   0, or 32 and more                0.02       0.02                  0.10
//   1 to 31                          0.34       0.03                  0.43
//
// An allocator's large blocks lie 16 bytes into a page, shared memory lies at its begin, so it happens every day.

#include <cstddef>
#include <cstdint>

namespace tutti::sys {

inline constexpr std::size_t kLeastAliased = 2048;  // shorter ones are copied by other instructions

// Whether a copy of so many bytes may be slow. A little more than what was measured to be.
inline bool CopyAliases(const void* to, const void* from, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096, kNear = 64;
  const std::uintptr_t above = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
  return bytes >= kLeastAliased && (above - 1) % kPage < kNear - 1;
}

// Whether this CPU's instruction is slow there: found out once, in less than 50 us.
bool AliasedCopiesAreSlow();

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_ALIASING_H_
