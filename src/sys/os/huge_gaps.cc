// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/huge_gaps.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "sys/os/huge_pages.h"

namespace tutti::sys {
namespace {

// From so much on malloc maps a buffer by itself.
constexpr std::uint64_t kLeastGapBytes = std::uint64_t{128} << 10;

}  // namespace

std::vector<internal::Range> internal::EndsOfGaps(std::span<const Mapping> mappings) {
  std::vector<Range> ends;
  for (std::size_t i = 1; i < mappings.size(); ++i) {
    const Mapping& above = mappings[i];
    const std::uint64_t begin = mappings[i - 1].end, end = above.begin;
    const std::uint64_t whole = std::max(begin, end / kHugePageBytes * kHugePageBytes);
    const bool is_long = end >= begin + kLeastGapBytes;
    if (is_long && whole < end && !above.IsOrdinaryMemory() && !above.path.starts_with('['))
      ends.push_back({whole, end});
  }
  return ends;
}

HugeGaps::HugeGaps() {
  const Result<std::vector<Mapping>> mappings = ReadMappings(getpid());
  if (!mappings.ok()) return;
  for (const internal::Range& range : internal::EndsOfGaps(*mappings)) {
    const std::size_t length = range.end - range.begin;
    if (bytes() + length > kMostBytes) return;
    const std::span kept(reinterpret_cast<std::byte*>(range.begin), length);
    if (MapIfFree(kept, PROT_NONE)) kept_.push_back(kept);
  }
}

HugeGaps::~HugeGaps() {
  for (const std::span<std::byte> range : kept_) munmap(range.data(), range.size());
}

std::size_t HugeGaps::bytes() const {
  std::size_t sum = 0;
  for (const std::span<std::byte> range : kept_) sum += range.size();
  return sum;
}

}  // namespace tutti::sys
