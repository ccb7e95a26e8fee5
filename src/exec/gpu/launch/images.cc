// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/images.h"

// TUTTI_KERNELS: the folder of the compiled kernels, where they were compiled.
#ifdef TUTTI_KERNELS
#define TUTTI_IMAGE(name)                                                                                  \
  asm(".section .rodata\n.balign 64\n.hidden tutti_kernels_" #name "\n.globl tutti_kernels_" #name         \
      "\ntutti_kernels_" #name ":\n.incbin \"" TUTTI_KERNELS "/" #name ".fatbin\"\n.byte 0\n.previous\n"); \
  extern "C" __attribute__((visibility("hidden"))) const char tutti_kernels_##name[];
TUTTI_IMAGE(i8)
TUTTI_IMAGE(u8)
TUTTI_IMAGE(i32)
TUTTI_IMAGE(u32)
TUTTI_IMAGE(i64)
TUTTI_IMAGE(u64)
TUTTI_IMAGE(f16)
TUTTI_IMAGE(f32)
TUTTI_IMAGE(f64)
TUTTI_IMAGE(bf16)
TUTTI_IMAGE(e4m3)
TUTTI_IMAGE(e5m2)
TUTTI_IMAGE(move)
TUTTI_IMAGE(across)
#define TUTTI_IMAGE_OF(name) tutti_kernels_##name
#else
#define TUTTI_IMAGE_OF(name) nullptr
#endif

namespace tutti::exec::gpu {

const void* KernelImage(DataType type) {
  static const void* const kImages[kNcclDataTypes] = {TUTTI_IMAGE_OF(i8),   TUTTI_IMAGE_OF(u8),   TUTTI_IMAGE_OF(i32),
                                                      TUTTI_IMAGE_OF(u32),  TUTTI_IMAGE_OF(i64),  TUTTI_IMAGE_OF(u64),
                                                      TUTTI_IMAGE_OF(f16),  TUTTI_IMAGE_OF(f32),  TUTTI_IMAGE_OF(f64),
                                                      TUTTI_IMAGE_OF(bf16), TUTTI_IMAGE_OF(e4m3), TUTTI_IMAGE_OF(e5m2)};
  return kImages[static_cast<int>(type)];
}

const void* MoveKernelImage() { return TUTTI_IMAGE_OF(move); }
const void* AcrossKernelImage() { return TUTTI_IMAGE_OF(across); }

std::string_view KernelTypeName(DataType type) {
  constexpr std::string_view kNames[kNcclDataTypes] = {"i8",  "u8",  "i32", "u32",  "i64",  "u64",
                                                       "f16", "f32", "f64", "bf16", "e4m3", "e5m2"};
  return kNames[static_cast<int>(type)];
}

}  // namespace tutti::exec::gpu
