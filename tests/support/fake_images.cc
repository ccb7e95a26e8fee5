// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Linked in place of exec/gpu/launch/images.cc by programs that load the driver of fake_cuda.cc: no kernel is ever run, so any
// image does, and the kernels need not have been compiled.
#include "exec/gpu/launch/images.h"

namespace tutti::exec::gpu {

const void* KernelImage(DataType) { return "fake"; }
const void* MoveKernelImage() { return "fake"; }
const void* AcrossKernelImage() { return "fake"; }
std::string_view KernelTypeName(DataType type) {
  constexpr std::string_view kNames[kNcclDataTypes] = {"i8",  "u8",  "i32", "u32",  "i64",  "u64",
                                                       "f16", "f32", "f64", "bf16", "e4m3", "e5m2"};
  return kNames[static_cast<int>(type)];
}

}  // namespace tutti::exec::gpu
