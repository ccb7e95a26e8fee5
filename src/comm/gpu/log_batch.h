// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_LOG_BATCH_H_
#define TUTTI_COMM_GPU_LOG_BATCH_H_

namespace tutti {
struct Operation;
namespace exec::gpu {
struct Shape;
}
}  // namespace tutti

namespace tutti::comm {

// What NCCL_DEBUG=INFO shows under TUNING of operations that are alike as one launch, the first of them `first`.
void LogBatch(const Operation& first, int operations, const exec::gpu::Shape& shape, int channels);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_LOG_BATCH_H_
