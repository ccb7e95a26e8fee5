// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_AVAILABILITY_H_
#define TUTTI_COMM_GPU_AVAILABILITY_H_

// Whether and how much a process uses a GPU for a communicator, before the ranks have told each other.

#include <optional>
#include <string>

#include "sys/cuda/cuda.h"

namespace tutti::comm {

struct Core;

bool CanUseGpuFor(const Core& host);
// The most blocks of a rank where its GPU is shared out in so many parts; nothing: as where the process has other communicators
// there (docs/decisions/0012-part-of-a-gpu.md). Before anything is agreed: a rank's own view.
int BlocksOfPart(const Core& host, sys::cuda::Device device, std::optional<int> parts = {});
// Why a communicator works on host memory only although this process has a GPU: the end of a sentence. None where it has not.
std::optional<std::string> WhyHostOnly(const Core& host);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_AVAILABILITY_H_
