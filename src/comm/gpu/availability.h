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
// Why a communicator works on host memory only although this process has a GPU: the end of a sentence. None where it has not.
std::optional<std::string> WhyHostOnly(const Core& host);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_AVAILABILITY_H_
