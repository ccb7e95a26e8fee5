// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_PERF_BUFFERS_H_
#define TUTTI_TOOLS_PERF_BUFFERS_H_

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::tools {

// Behind what an operation may write; the check finds every byte of it that changed.
inline constexpr std::size_t kGuardBytes = 64;

// The two buffers of a rank, each of `bytes` and a guard, aligned to 4096.
class Buffers {
 public:
  // Pages of this process alone.
  static Result<Buffers> Allocate(std::size_t bytes);
  // Collective: pages that the ranks of `communicator` share. They go when the communicator goes.
  static Result<Buffers> AllocateShared(Communicator& communicator, std::size_t bytes);

  std::byte* first() const { return first_; }
  std::byte* second() const { return second_; }

  // Bytes that Allocate takes for `bytes`.
  static std::size_t Footprint(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> owned_;  // null where shared
  std::byte* first_ = nullptr;
  std::byte* second_ = nullptr;
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_PERF_BUFFERS_H_
