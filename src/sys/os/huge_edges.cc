// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/huge_edges.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace tutti::sys {
namespace {

// Memory like that of allocators, which the kernel joins with what lies beside it. False where somebody has come first.
bool MapBeside(std::span<std::byte> range) { return range.empty() || MapIfFree(range, PROT_READ | PROT_WRITE); }

void Unmap(std::span<std::byte> range) {
  if (!range.empty()) munmap(range.data(), range.size());
}

}  // namespace

std::optional<internal::Unmapped> internal::UnmappedOf(std::span<const Mapping> mappings, std::uint64_t page) {
  const std::uint64_t end = page + kHugePageBytes;
  const Mapping* found = nullptr;
  for (const Mapping& mapping : mappings) {
    if (mapping.end <= page || mapping.begin >= end) continue;
    if (found != nullptr) return std::nullopt;
    found = &mapping;
  }
  if (found == nullptr || !found->IsOrdinaryMemory()) return std::nullopt;
  return Unmapped{.before = found->begin > page ? found->begin - page : 0,
                  .behind = found->end < end ? end - found->end : 0};
}

HugeEdges::~HugeEdges() {
  for (const std::span<std::byte> range : beside_) Unmap(range);
}

MoveToHuge HugeEdges::Move(std::byte* page) {
  const MoveToHuge whole = MoveToHugePage(page);
  if (whole != MoveToHuge::kCannot || internal::MissingBytes({page, kHugePageBytes})) return whole;
  const int kept = errno;
  const MoveToHuge edge = MoveEdge(page);
  errno = kept;
  return edge;
}

MoveToHuge HugeEdges::MoveEdge(std::byte* page) {
  const Result<std::vector<Mapping>> mappings = ReadMappings(getpid());
  if (!mappings.ok()) return MoveToHuge::kCannot;
  const std::optional<internal::Unmapped> unmapped =
      internal::UnmappedOf(*mappings, reinterpret_cast<std::uintptr_t>(page));
  if (!unmapped) return MoveToHuge::kCannot;
  const std::size_t bytes = unmapped->before + unmapped->behind;
  if (bytes == 0 || bytes > kMostBesideBytes || bytes > left_) return MoveToHuge::kCannot;
  const std::span whole(page, kHugePageBytes);
  const std::optional<std::size_t> missing =
      internal::MissingBytes(whole.subspan(unmapped->before, kHugePageBytes - bytes));
  if (!missing || *missing > kMostMissingBytes) return MoveToHuge::kCannot;

  const std::span before = whole.first(unmapped->before), behind = whole.last(unmapped->behind);
  if (!MapBeside(before)) return MoveToHuge::kCannot;
  if (!MapBeside(behind)) {
    Unmap(before);
    return MoveToHuge::kCannot;
  }
  const MoveToHuge result = internal::Collapse(page);
  if (result != MoveToHuge::kMoved) {
    Unmap(before);
    Unmap(behind);
    return result;
  }
  left_ -= bytes;
  beside_.push_back(before);
  beside_.push_back(behind);
  return result;
}

}  // namespace tutti::sys
