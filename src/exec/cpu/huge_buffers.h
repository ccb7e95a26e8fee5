// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_HUGE_BUFFERS_H_
#define TUTTI_EXEC_CPU_HUGE_BUFFERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sys/os/huge_pages.h"

namespace tutti::exec::cpu {

// Moves buffers that come again and again to huge pages. The system call by which a rank reads another process's memory looks up each page
// there, and takes a fifth less time where pages are huge (docs/decisions/0029). Moving takes as long as some calls do, so a buffer that is
// used once stays where it is.
//
// It counts uses by huge page and not by buffer: buffers may be parts of one, and lie side by side. Who frees memory and gets other memory at
// the same address is not told from who keeps it, so what has been moved is moved again from time to time, which costs nothing where it
// still is.
//
// Threads: one at a time.
class HugeBuffers {
 public:
  using Move = std::function<sys::MoveToHuge(std::byte* page)>;
  explicit HugeBuffers(Move move) : move_(std::move(move)) {}

  // What is shorter is read in the same time.
  static constexpr std::size_t kLeastBytes = std::size_t{64} << 10;
  // Uses of a page until it is moved, and from then on between two tries. Each try that fails makes the next one wait four times as long.
  static constexpr std::uint32_t kUsesBefore = 16;
  static constexpr std::uint32_t kUsesBetween = 1024;
  // Uses of buffers without a move after the system had no huge page free; twice as many each time, until it has one.
  static constexpr std::uint32_t kRest = 64;
  // Pages that one call moves at most, some hundred microseconds each. The others have their turn in the calls after it.
  static constexpr int kMovesPerCall = 4;

  // A call's buffer. Null, or less than kLeastBytes: nothing happens.
  void Use(const std::byte* data, std::size_t bytes);

 private:
  // A page that has been used, at the place that its address is given. It stays until another one has that place.
  struct Page {
    std::uintptr_t number = 0;  // its address / kHugePageBytes
    std::uint32_t left = 0;     // uses until it is moved
    std::uint32_t failures = 0;
  };
  static constexpr std::size_t kPages = 1024;  // 2 GiB of buffers side by side
  static constexpr std::uint32_t kMostFailures = 8, kMostRests = 16;
  void Try(Page& page);

  const Move move_;
  std::vector<Page> pages_;   // since the first use
  std::uint32_t rest_ = 0;    // uses until it moves again
  std::uint32_t rested_ = 0;  // times, since the last page was moved
};

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_HUGE_BUFFERS_H_
