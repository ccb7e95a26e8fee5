// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_HUGE_PAGES_H_
#define TUTTI_SYS_OS_HUGE_PAGES_H_

// Transparent huge pages: one entry of the page table for 2 MiB of ordinary memory instead of 512 of 4 KiB.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tutti::sys {

// How long a huge page is, and what its address is a multiple of.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Whether memory of this process may be moved to huge pages: the kernel has them at that length, and its administrator has not forbidden
// them. Costs some system calls.
bool MayUseHugePages();

// So much of a huge page may be memory that nobody has touched when it is moved. It is there from then on, which takes memory that the program has
// not asked for; but allocators leave a page or some between two buffers, which would keep both from being moved.
inline constexpr std::size_t kMostMissingBytes = kHugePageBytes / 8;

enum class MoveToHuge : std::uint8_t {
  kMoved,   // it lies in a huge page now, or did before
  kCannot,  // a part is not mapped, or more than kMostMissingBytes have not been touched, or it is not this process's own: of a file, shared, held by a device
  kNoPages,  // no huge page is free, even though the kernel has looked for one, which may have taken milliseconds
};

// Moves the memory at [page, page + kHugePageBytes) to a huge page, if all of it is mapped and nearly all has been touched. Its contents, its addresses and what a fork
// sees stay as they are, and other threads may use it meanwhile. Where it is not moved nothing has changed. Takes some hundred microseconds
// where it moves something and some where there is nothing to do. Needs Linux 6.1. Any thread; errno is kept.
// REQUIRES: `page` is a multiple of kHugePageBytes.
MoveToHuge MoveToHugePage(std::byte* page);

// Addresses in whole huge pages, at least `bytes`, at which nothing can be read or written. What the library maps there by MAP_FIXED shares no
// huge page with memory of the program, which it would keep from moving. Empty where the address space does not suffice; errno says more.
// Given back by munmap of all of it.
std::span<std::byte> ReserveHugePages(std::size_t bytes);

namespace internal {
// MayUseHugePages by the two files of /sys/kernel/mm/transparent_hugepage: "always [madvise] never" and "2097152".
bool AllowsHugePages(std::string_view enabled, std::string_view bytes);
// How much of these pages nobody has touched; nothing where a part is not mapped. REQUIRES: no more than kHugePageBytes.
std::optional<std::size_t> MissingBytes(std::span<std::byte> range);
// Moves a huge page that is mapped, however much of it is there.
MoveToHuge Collapse(std::byte* page);
}  // namespace internal

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_HUGE_PAGES_H_
