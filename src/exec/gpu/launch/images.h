// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_IMAGES_H_
#define TUTTI_EXEC_GPU_LAUNCH_IMAGES_H_

#include <string_view>

#include "tutti/types.h"

namespace tutti::exec::gpu {

// Images of compiled kernels, one per element type and one for what only moves data (kernels.cu), and one for small operations
// between hosts (across.cu); null in a build without CUDA. For cuLibraryLoadData.
const void* KernelImage(DataType type);
const void* MoveKernelImage();
const void* AcrossKernelImage();

// The short name of a type within the kernels' names: "f32".
std::string_view KernelTypeName(DataType type);

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_IMAGES_H_
