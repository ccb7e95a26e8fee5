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

// Memory that nobody has touched is not there yet: to move it would take memory that the program has not asked for.
bool IsThere(std::byte* page) {
  unsigned char there[kHugePageBytes / kLeastPageBytes] = {};
  const std::size_t pages = kHugePageBytes / static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return mincore(page, kHugePageBytes, there) == 0 &&
         std::all_of(there, there + pages, [](unsigned char c) { return (c & 1) != 0; });
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
