// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_PROGRAM_CALLS_H_
#define TUTTI_COMM_GPU_PROGRAM_CALLS_H_

// Between hosts the program's calls run in communicators that the library has made for itself, parts (trace/layout.h, "whole"). Which of them
// a part works for is kept with what is enqueued there, so that a wait in a part can be told as one in the program's call.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>

#include "trace/call.h"
#include "trace/view.h"

namespace tutti::comm {

// Calls in a row.
struct ProgramCalls {
  std::uint64_t last = 0;  // the latest one's number in the black box of the whole; 0: they are not written down
  std::size_t count = 0;
  bool captured = false;  // in a CUDA graph, where calls have no numbers

  bool operator==(const ProgramCalls&) const = default;

  // The i-th of them, from 0.
  ProgramCalls Only(std::size_t i) const;
};

// Which of the calls a wait in a part is for. `in_whole`: the part's ranks there; empty: they have the same numbers. nullopt: it is not known.
std::optional<trace::WholeCall> CallThatWaits(const trace::View& whole, const ProgramCalls& calls,
                                              const trace::WaitView& wait, std::span<const int> in_whole);

// Which calls of the program those of a part are for: the last ones, as many as its black box keeps. Threads: any.
class EnqueuedCalls {
 public:
  // The part's calls `first` to `last`. REQUIRES: they come after those before.
  void Add(std::uint64_t first, std::uint64_t last, const ProgramCalls& calls);
  std::optional<ProgramCalls> Find(std::uint64_t number) const;

 private:
  struct Enqueued {
    std::uint64_t first = 0, last = 0;
    ProgramCalls calls;
  };
  mutable std::mutex mutex_;
  std::deque<Enqueued> enqueued_;  // guarded by mutex_
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_PROGRAM_CALLS_H_
