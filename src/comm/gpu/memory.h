// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_MEMORY_H_
#define TUTTI_COMM_GPU_MEMORY_H_

#include <cstddef>

#include "tutti/status.h"

namespace tutti::comm {

// The CUDA device that this thread uses at present, as the CUDA runtime sees it; 0 where there is no GPU.
int CurrentGpu();

// Memory of that device which other processes can map, zeros. Null where no GPU is used: no driver, a build without
// kernels, TUTTI_GPU=0. kSystem where the device has no room. Any thread.
Result<void*> AllocateOnGpu(std::size_t bytes);
// False where AllocateOnGpu did not give this memory, or it was given back before. What kernels are still to do with it
// must have been done.
bool FreeOnGpu(void* memory);

// Whether this build has kernels, and the process a driver for them.
bool CanUseGpu();

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_MEMORY_H_
