// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/words.h"
#include "sys/os/text_file.h"

namespace tutti::sys {
namespace {

constexpr int kMadvCollapse = 25;  // MADV_COLLAPSE, which older headers lack
constexpr std::size_t kLeastPageBytes = 4096;

// Memory that nobody has touched is not there yet: to move it takes memory that the program has not asked for. Allocators leave a page or
// some between two buffers, which would keep both from being moved.
bool IsThere(std::byte* page) {
  unsigned char there[kHugePageBytes / kLeastPageBytes] = {};
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (mincore(page, kHugePageBytes, there) != 0) return false;
  const auto missing =
      std::count_if(there, there + kHugePageBytes / bytes, [](unsigned char c) { return (c & 1) == 0; });
  return static_cast<std::size_t>(missing) * bytes <= kMostMissingBytes;
}

}  // namespace

bool internal::AllowsHugePages(std::string_view enabled, std::string_view bytes) {
  const bool allowed =
      enabled.find("[always]") != std::string_view::npos || enabled.find("[madvise]") != std::string_view::npos;
  return allowed && ParseNumber<std::size_t>(Trim(bytes)) == kHugePageBytes;
}

bool MayUseHugePages() {
  const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
  const Result<std::string> enabled = ReadFile(folder + "enabled"), bytes = ReadFile(folder + "hpage_pmd_size");
  return enabled.ok() && bytes.ok() && internal::AllowsHugePages(*enabled, *bytes);
}

MoveToHuge MoveToHugePage(std::byte* page) {
  const int kept = errno;
  MoveToHuge result = MoveToHuge::kCannot;
  if (IsThere(page)) {
    if (madvise(page, kHugePageBytes, kMadvCollapse) == 0) {
      result = MoveToHuge::kMoved;
    } else if (errno == ENOMEM || errno == EBUSY) {  // EBUSY: the control group has no room
      result = MoveToHuge::kNoPages;
    }
  }
  errno = kept;
  return result;
}

}  // namespace tutti::sys
