// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_SIDE_H_
#define TUTTI_COMM_GPU_SIDE_H_

// How a communicator gets its side that works on device memory.

#include <algorithm>
#include <memory>
#include <optional>

#include "comm/gpu/addresses.h"
#include "tutti/gpu.h"

namespace tutti::comm {

// See GpuQueue::Options.
struct GpuWishes {
  int device = 0;
  int max_blocks = 0;
  bool zero_blocks = false;
  int shared_blocks = 0;
  bool beside_others = false;
};

// Neither of both where this process has no GPU.
struct GpuSide {
  std::optional<GpuCommunicator> gpu;
  std::unique_ptr<HostOnly> host_only;
};

// The lesser of two limits, of which 0 is none; `if_none` where both are.
inline int LeastSet(int a, int b, int if_none) {
  if (a == 0 || b == 0) return a + b == 0 ? if_none : a + b;
  return std::min(a, b);
}

// Collective. No GPU for any rank where some rank has none for this.
Result<GpuSide> MakeGpuSide(Communicator& communicator, const GpuWishes& wishes);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_SIDE_H_
