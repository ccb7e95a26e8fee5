// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_FOOTPRINT_H_
#define TUTTI_COMM_HOST_FOOTPRINT_H_

#include <cstddef>

#include "comm/host/queue.h"
#include "tutti/status.h"

namespace tutti::comm {

// Shared pages of a rank, bytes. They take memory once they are touched.
struct MemoryFootprint {
  std::size_t releasable = 0;  // buffers that hold nothing between operations
  std::size_t fixed = 0;       // what the links need all the time
};
Result<MemoryFootprint> FootprintOf(Queue& queue);

// Collective. Waits for all operations on all ranks, then gives the pages of the buffers back to the system; they come
// back, empty, when they are touched. No operation may begin on any rank until all have called RestoreBuffers.
Status ReleaseBuffers(Queue& queue);
Status RestoreBuffers(Queue& queue);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_FOOTPRINT_H_
