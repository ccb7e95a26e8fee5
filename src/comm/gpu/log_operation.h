// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_LOG_OPERATION_H_
#define TUTTI_COMM_GPU_LOG_OPERATION_H_

namespace tutti {
struct Operation;
}

namespace tutti::comm {

struct Core;
class GpuRunner;

// What NCCL_DEBUG=INFO shows of a call on GPUs under COLL and TUNING.
void LogGpuOperation(Core& host, GpuRunner& runner, const Operation& operation);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_LOG_OPERATION_H_
