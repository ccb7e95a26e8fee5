// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_SEGMENTS_H_
#define TUTTI_COMM_GPU_SEGMENTS_H_

#include "tutti/status.h"

namespace tutti::transport::p2p {
struct FabricOptions;
}

namespace tutti::comm {

struct GpuCore;
class GpuExchange;
class GpuSubmitter;
class GpuWords;

// Makes this rank's segment, connects it with all others, and tries every pair: core.fabric. Collective. `options`: all but what
// says which process this is. The same error on all ranks; kUnsupported where two GPUs do not reach each other's memory.
Status ConnectSegments(const transport::p2p::FabricOptions& options, GpuCore& core, GpuExchange& exchange,
                       const GpuWords& words, GpuSubmitter& submitter);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_SEGMENTS_H_
