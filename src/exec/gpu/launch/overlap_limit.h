// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_OVERLAP_LIMIT_H_
#define TUTTI_EXEC_GPU_LAUNCH_OVERLAP_LIMIT_H_

#include <algorithm>
#include <array>
#include <cstddef>

#include "exec/gpu/format/program.h"

namespace tutti::exec::gpu {

// Which kernels of a stream may be launched while the one before them runs (WaitForPreviousKernel). What waits there keeps
// others out, of other communicators too, for which the kernel before may be waiting. So all that may be there at the same
// time, running or waiting, gets a part of the GPU only, and large kernels are there alone
// (docs/decisions/0012-part-of-a-gpu.md). Threads: one at a time.
class OverlapLimit {
 public:
  // How many multiprocessors that part has, where no other communicator is on the GPU and where some are; 0: none overlap.
  void SetTo(int alone, int beside_others) {
    most_alone_ = alone * kShares;
    most_beside_ = beside_others * kShares;
  }

  // Whether the next kernel may overlap the one before it. To be asked for every kernel, in the order of the launches.
  // alone: no other communicator is on the GPU. One would be kept off a multiprocessor by the smallest block.
  bool Admit(int blocks, int threads, bool alone) {
    const bool few = blocks <= static_cast<int>(kFewBlocks);
    const int cost = blocks * (alone ? kShares / std::clamp(kThreads / threads, 1, kShares) : kShares);
    const int most = alone ? most_alone_ : most_beside_;
    // A row of small kernels keeps within the limit. One of many blocks lets the next one in when the one before it has
    // ended, so two are there.
    const bool small = cost * (few && alone ? kThere : 2) <= most;
    const bool fits = small && held_ + cost <= most;
    if (!fits || !few) {  // whatever was there will be gone when a kernel after this one can come
      costs_.fill(0);
      held_ = 0;
    }
    const int held = small ? cost : std::max(most_alone_, most_beside_);  // beside a large one is no room
    held_ += held - costs_[next_];
    costs_[next_] = held;
    next_ = (next_ + 1) % costs_.size();
    return fits;
  }

 private:
  // Kernels of few blocks let the next one in at once. One that runs and seven that wait were seen, no more.
  static constexpr int kThere = 8;
  // A multiprocessor has registers for a block of 512 threads, or for two of 256. Counted in sixteenths of it.
  static constexpr int kThreads = 512, kShares = 16;

  int most_alone_ = 0, most_beside_ = 0;
  // Of the kernels that may still be there when the next one comes, and their sum.
  std::array<int, kThere - 1> costs_ = {};
  int held_ = 0;
  std::size_t next_ = 0;  // of costs_
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_OVERLAP_LIMIT_H_
