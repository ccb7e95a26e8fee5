// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_PRIMITIVES_CUH_
#define TUTTI_EXEC_GPU_DEVICE_PRIMITIVES_CUH_

// Thread level: all that device code asks of a GPU. There are two sets of the same functions: NVIDIA's instructions
// (primitives_gpu.cuh), and the host's (primitives_host.h), by which tests run the same kernels on fibres (tests/kernels/).
//
// Memory that other GPUs or the host write or read, "shared" below, is never read from a cache that may be stale, and accesses to it are
// never merged. Stores to a peer leave in any order, and loads may see what was there before, unless a fence, a release or
// an acquire orders them. What arrives whole:
//
//   StoreShared16   each of its halves of 8 bytes                          LoadShared16
//   StoreLine16     lines of 128 bytes: a warp's threads store together    LoadLine16
//   StoreShared8    8 bytes                                                LoadShared8, LoadAcquire8
//   StoreShared4    4 bytes                                                LoadAcquire4
//   StoreShared1    a byte                                                 LoadShared1
//   StoreRing16     nothing: plain vectors
//
// Of CUDA's own functions the device code uses: threadIdx, blockIdx, blockDim, gridDim, __syncthreads, __syncwarp,
// __all_sync, __any_sync, __reduce_min_sync, __nanosleep, __ldcg, __stcg, __funnelshift_r and conversions of bits.
//
//   LoadWhole, StoreWhole      user memory that is aligned to the pack
//   LoadOnce8, LoadOnce16      the own state, the same for all threads, which the compiler must not know
//   FenceSystem                all that happened before is visible to whoever sees what is stored next
//   BarrierSync                some of the block's threads, `number` of 1 to 15
//   Post, Posted               a counter in the block's memory: release, acquire
//   CountUp                    an atomic counter in device memory
//   Pause                      between polls of something that has not come: nothing on a GPU
//   GlobalNs                   the GPU's clock
//   LaunchNextGrid, AwaitPreviousGrid   overlap of launches in a stream, from Hopper on
//   HalvesOfFloats and so on   conversions of two numbers at a time, rounded to nearest even
//   TUTTI_SHARED(type, name)   a variable that the block's threads share
//   TUTTI_ARGUMENT(type)       type of a kernel's argument
//   TUTTI_KERNEL_IS(name, type)   behind a kernel's definition, so that tests find it by name
//   TUTTI_PLANT(name)          whether a test has planted this error (plants.h): never on a GPU

#ifdef __CUDACC__
#include "exec/gpu/device/primitives_gpu.cuh"
#else
#include "exec/gpu/device/primitives_host.h"
#endif

#endif  // TUTTI_EXEC_GPU_DEVICE_PRIMITIVES_CUH_
