// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_HUGE_EDGES_H_
#define TUTTI_SYS_OS_HUGE_EDGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sys/os/huge_pages.h"
#include "sys/os/mappings.h"

namespace tutti::sys {

// Moves memory to huge pages, also where the program's memory ends within one. The rest of such a page is mapped then, beside the program's
// memory, and given back when this object ends. The program's part stays as it is, and the program may do with it whatever it likes, or free it.
//
// Threads: one at a time.
class HugeEdges {
 public:
  // At least a quarter of a page is the program's.
  static constexpr std::size_t kMostBesideBytes = kHugePageBytes / 4 * 3;
  // So much is mapped by one object at most.
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;

  explicit HugeEdges(std::size_t most_bytes = kMostBytes) : left_(most_bytes) {}
  ~HugeEdges();
  HugeEdges(const HugeEdges&) = delete;
  HugeEdges& operator=(const HugeEdges&) = delete;

  // As MoveToHugePage.
  MoveToHuge Move(std::byte* page);

 private:
  MoveToHuge MoveEdge(std::byte* page);

  std::vector<std::span<std::byte>> beside_;
  std::size_t left_;  // bytes that may still be mapped
};

namespace internal {
// Bytes of a huge page that nobody has mapped, before and behind the program's memory.
struct Unmapped {
  std::size_t before = 0, behind = 0;
  bool operator==(const Unmapped&) const = default;
};
// Of a huge page that holds one mapping and nothing else, of memory that has no name and is this process's own: the heap and the first
// thread's stack, which grow, have names. `page` is the address, a multiple of kHugePageBytes.
std::optional<Unmapped> UnmappedOf(std::span<const Mapping> mappings, std::uint64_t page);
}  // namespace internal

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_HUGE_EDGES_H_
