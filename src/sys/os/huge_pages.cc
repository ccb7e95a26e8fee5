// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>

#include "base/words.h"
#include "sys/os/text_file.h"

namespace tutti::sys {
namespace {

constexpr int kMadvCollapse = 25;  // MADV_COLLAPSE, which older headers lack
constexpr std::size_t kLeastPageBytes = 4096;

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

std::optional<std::size_t> internal::MissingBytes(std::span<std::byte> range) {
  unsigned char there[kHugePageBytes / kLeastPageBytes] = {};
  const int kept = errno;
  const bool mapped = mincore(range.data(), range.size(), there) == 0;
  errno = kept;
  if (!mapped) return std::nullopt;
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto missing =
      std::count_if(there, there + range.size() / page_bytes, [](unsigned char c) { return (c & 1) == 0; });
  return static_cast<std::size_t>(missing) * page_bytes;
}

MoveToHuge internal::Collapse(std::byte* page) {
  const int kept = errno;
  MoveToHuge result = MoveToHuge::kMoved;
  if (madvise(page, kHugePageBytes, kMadvCollapse) != 0) {
    const bool none_free = errno == ENOMEM || errno == EBUSY;  // EBUSY: the control group has no room
    result = none_free ? MoveToHuge::kNoPages : MoveToHuge::kCannot;
  }
  errno = kept;
  return result;
}

MoveToHuge MoveToHugePage(std::byte* page) {
  const std::optional<std::size_t> missing = internal::MissingBytes({page, kHugePageBytes});
  return missing && *missing <= kMostMissingBytes ? internal::Collapse(page) : MoveToHuge::kCannot;
}

std::span<std::byte> ReserveHugePages(std::size_t bytes) {
  bytes = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  const std::size_t most = bytes + kHugePageBytes;
  void* const got = mmap(nullptr, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return {};
  void* begin = got;
  std::size_t left = most;
  std::align(kHugePageBytes, bytes, begin, left);
  const std::span reserved(static_cast<std::byte*>(begin), bytes);
  if (left < most) munmap(got, most - left);
  if (left > bytes) munmap(reserved.data() + bytes, left - bytes);
  return reserved;
}

}  // namespace tutti::sys
