// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_TOP_BOXES_H_
#define TUTTI_TOOLS_TOP_BOXES_H_

// Black boxes of other processes, copied.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trace/view.h"
#include "tutti/status.h"

namespace tutti::tools {

// A copy of one rank's black box.
class BoxCopy {
 public:
  // Reads all of a range of memory, or says why not.
  using ReadMemory = std::function<Status(std::uint64_t address, std::byte* to, std::size_t bytes)>;
  // Copies it from somewhere, where `bytes` bytes can be read from `address` on.
  static Result<BoxCopy> Take(const ReadMemory& read, std::uint64_t address, std::size_t bytes);
  // The same from a process.
  static Result<BoxCopy> Take(std::int32_t pid, std::uint64_t address, std::size_t bytes);

  const trace::View& view() const { return view_; }
  std::int64_t taken_ns() const { return taken_ns_; }  // CLOCK_MONOTONIC
  // For memory that had stood still for long when it was copied.
  void set_taken_ns(std::int64_t ns) { taken_ns_ = ns; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  trace::View view_;
  std::int64_t taken_ns_ = 0;
};

// All black boxes of a process, by communicator and rank. Errors: no such process, not permitted, none in it.
Result<std::vector<BoxCopy>> TakeAll(std::int32_t pid);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_TOP_BOXES_H_
