// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_BATCH_H_
#define TUTTI_EXEC_GPU_LAUNCH_BATCH_H_

// Several operations that follow the same plan as one kernel (Batch): which channels each of them gets.

#include <span>

#include "exec/gpu/lower/compile.h"

namespace tutti::exec::gpu {

struct BatchCut {
  int blocks = 0;                 // of the kernel: channels in use
  std::size_t message_bytes = 0;  // the largest message of a channel
};

// Fills in the items. Each gets channels by its bytes; those for which that is less than one share what is left, in turn.
// The cut depends on nothing but the counts, so it is the same on all ranks. REQUIRES: 1 to kMaxItems works, none of
// count 0, of one type where they reduce; shape.channels within the geometry's and kMaxBatchChannels.
BatchCut CompileItems(const PreparedPlan& plan, std::span<const Work> works, const Shape& shape,
                      const transport::p2p::Geometry& geometry, const plan::Cuts& cuts, Batch& batch);

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_BATCH_H_
