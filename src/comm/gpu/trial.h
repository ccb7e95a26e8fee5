// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_TRIAL_H_
#define TUTTI_COMM_GPU_TRIAL_H_

#include "tutti/status.h"

namespace tutti::comm {

struct GpuCore;
class GpuSubmitter;
class GpuWords;

// Every rank stores a word at every peer while all ranks' kernels run, and sees theirs: only this shows that a pair can
// really talk. Collective. REQUIRES: kernels are loaded, on all ranks. kUnsupported where two GPUs do not reach
// each other's memory.
Status TryPeers(const GpuCore& core, const GpuWords& words, GpuSubmitter& submitter);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_TRIAL_H_
