// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_OVERLAP_LIMIT_H_
#define TUTTI_EXEC_GPU_LAUNCH_OVERLAP_LIMIT_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "exec/gpu/format/program.h"

namespace tutti::exec::gpu {

// Which kernels of a stream may be launched while the one before them runs (WaitForPreviousKernel). What waits there keeps
// others out, of other communicators too, for which the kernel before may be waiting. So all that may be there at the same
// time, running or waiting, gets a part of the GPU only, and large kernels are there alone
// (docs/decisions/0012-part-of-a-gpu.md). Threads: one at a time.
class OverlapLimit {
 public:
  // What kernels take of a GPU (tune::GpuShares).
  struct Room {
    int kernels = 2;  // of few blocks, there at once: they let the next one in as soon as they run
    int threads = 1;  // of a block that a multiprocessor has registers for
    int shares = 1;   // in which its room is counted
  };
  // How many multiprocessors that part has, where no other communicator is on the GPU and where some are; 0: none overlap.
  // REQUIRES: room.kernels > 1.
  void SetTo(int alone, int beside_others, const Room& room) {
    room_ = room;
    most_alone_ = alone * room.shares;
    most_beside_ = beside_others * room.shares;
    costs_.assign(static_cast<std::size_t>(room.kernels - 1), 0);
    next_ = 0;
    Forget();
  }

  // Whether the next kernel may overlap the one before it. To be asked for every kernel, in the order of the launches.
  // alone: no other communicator is on the GPU. One would be kept off a multiprocessor by the smallest block.
  bool Admit(int blocks, int threads, bool alone) {
    const bool few = blocks <= static_cast<int>(kFewBlocks);
    const int cost =
        blocks * (alone ? room_.shares / std::clamp(room_.threads / threads, 1, room_.shares) : room_.shares);
    const int most = alone ? most_alone_ : most_beside_;
    // A row of small kernels keeps within the limit. One of many blocks lets the next one in when the one before it has
    // ended, so two are there.
    const bool small = cost * (few && alone ? room_.kernels : 2) <= most;
    const bool fits = small && held_ + cost <= most;
    if (!fits || !few) Forget();  // whatever was there will be gone when a kernel after this one can come
    const int held = small ? cost : std::max(most_alone_, most_beside_);  // beside a large one is no room
    if (known_ == costs_.size()) {
      held_ -= costs_[next_];
    } else {
      ++known_;
    }
    held_ += held;
    costs_[next_] = held;
    if (++next_ == costs_.size()) next_ = 0;
    return fits;
  }

 private:
  void Forget() {
    known_ = 0;
    held_ = 0;
  }

  Room room_;
  int most_alone_ = 0, most_beside_ = 0;
  // Of the kernels that may still be there when the next one comes, as many as are known, and their sum.
  std::vector<int> costs_ = {0};
  std::size_t known_ = 0;
  int held_ = 0;
  std::size_t next_ = 0;  // of costs_; the oldest, where all are known
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_OVERLAP_LIMIT_H_
