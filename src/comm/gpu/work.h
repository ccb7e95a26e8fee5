// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_WORK_H_
#define TUTTI_COMM_GPU_WORK_H_

// Operations as executors take them.

#include <cstddef>

#include "tutti/operation.h"

namespace tutti::exec::gpu {
struct Work;
}  // namespace tutti::exec::gpu

namespace tutti::comm {

// What a choice goes by; a barrier moves one byte.
inline std::size_t BytesOf(const Operation& o) { return o.kind == Collective::kBarrier ? 1 : o.count * SizeOf(o.type); }
inline bool IsEmpty(const Operation& o) { return BytesOf(o) == 0; }
exec::gpu::Work WorkOf(const Operation& operation);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_WORK_H_
