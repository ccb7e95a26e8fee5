// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/footprint.h"

#include "comm/host/impl.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

Result<MemoryFootprint> FootprintOf(Queue& queue) {
  MemoryFootprint bytes;
  const Status s = queue.WithCommunicator([&](Communicator& c) {
    if (c.impl()->fabric == nullptr) return Status::Ok();
    const transport::shm::Geometry& geometry = c.impl()->fabric->own().geometry();
    bytes = {.releasable = geometry.pool_bytes, .fixed = geometry.bytes - geometry.pool_bytes};
    return Status::Ok();
  });
  if (!s.ok()) return s;
  return bytes;
}

Status ReleaseBuffers(Queue& queue) {
  return queue.WithIdle([](Communicator& c) -> Status {
    TUTTI_RETURN_IF_ERROR(c.Run(Barrier()));  // from here on no rank reads another one's buffers
    return c.impl()->fabric == nullptr ? Status::Ok() : c.impl()->fabric->own().ReleasePool();
  });
}

Status RestoreBuffers(Queue& queue) {
  return queue.WithIdle([](Communicator& c) { return c.Run(Barrier()); });
}

}  // namespace tutti::comm
