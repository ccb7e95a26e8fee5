// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Linked in place of exec/gpu/launch/images.cc: the library as it is without nvcc, whatever this build has.
#include "exec/gpu/launch/images.h"

namespace tutti::exec::gpu {

const void* KernelImage(DataType) { return nullptr; }
const void* MoveKernelImage() { return nullptr; }
const void* AcrossKernelImage() { return nullptr; }
std::string_view KernelTypeName(DataType) { return ""; }

}  // namespace tutti::exec::gpu
