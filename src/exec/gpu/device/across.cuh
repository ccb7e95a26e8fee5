// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_ACROSS_CUH_
#define TUTTI_EXEC_GPU_DEVICE_ACROSS_CUH_

// Kernel level: a small operation between hosts (exec/gpu/format/across.h). One block, which copies there and back and waits in
// between. To device code pinned host memory is shared memory, like that of a peer.

#include "exec/gpu/device/pack.cuh"
#include "exec/gpu/format/across.h"

namespace tutti::exec::gpu {

// The caller's memory at one end, pinned memory at the other.
struct ToPinned {
  static __device__ __forceinline__ void Load(const std::byte* at, Pack<4>& v) { LoadWhole(at, v); }
  static __device__ __forceinline__ void Load(const std::byte* at, u8& v) { v = *reinterpret_cast<const u8*>(at); }
  static __device__ __forceinline__ void Store(std::byte* at, const Pack<4>& v) { StoreShared16(at, v); }
  static __device__ __forceinline__ void Store(std::byte* at, u8 v) { StoreShared1(at, v); }
};
struct FromPinned {
  static __device__ __forceinline__ void Load(const std::byte* at, Pack<4>& v) { v = LoadShared16(at); }
  static __device__ __forceinline__ void Load(const std::byte* at, u8& v) { v = LoadShared1(at); }
  static __device__ __forceinline__ void Store(std::byte* at, const Pack<4>& v) { StoreWhole(at, v); }
  static __device__ __forceinline__ void Store(std::byte* at, u8 v) { *reinterpret_cast<u8*>(at) = v; }
};

// Bytes [begin, end) of a copy in units. A thread has several on their way, since each takes as long as the way to the host.
template <typename Ends, typename Unit>
__device__ __forceinline__ void CopyUnits(const AcrossCopy& copy, u32 begin, u32 end) {
  constexpr u32 kAtOnce = 8, kUnit = sizeof(Unit);
  const u32 stride = blockDim.x * kUnit;
  for (u32 first = begin + threadIdx.x * kUnit; first < end; first += stride * kAtOnce) {
    Unit v[kAtOnce];
#pragma unroll
    for (u32 i = 0; i < kAtOnce; ++i) {
      if (first + i * stride < end) Ends::Load(copy.from + first + i * stride, v[i]);
    }
#pragma unroll
    for (u32 i = 0; i < kAtOnce; ++i) {
      if (first + i * stride < end) Ends::Store(copy.to + first + i * stride, v[i]);
    }
  }
}

template <typename Ends>
__device__ __forceinline__ void CopyAll(const AcrossCopy* copies, int count) {
  for (int i = 0; i < count; ++i) {
    const AcrossCopy& copy = copies[i];
    const u32 whole = copy.InVectors() ? copy.bytes / 16 * 16 : 0;
    CopyUnits<Ends, Pack<4>>(copy, 0, whole);
    CopyUnits<Ends, u8>(copy, whole, copy.bytes);
  }
}

// By one thread, behind a barrier: the fence orders what all threads have stored before the word.
__device__ __forceinline__ void SayReady(const Across& a) {
  if (!TUTTI_PLANT(kNoFenceOfAcross)) FenceSystem();
  if (a.captured != 0) {
    StoreShared8(a.ready, a.ready_value);
  } else {
    StoreShared4(a.ready, static_cast<u32>(a.ready_value));
  }
}

// By one thread. The host ends the wait where the communicator breaks (HostRunner).
__device__ __forceinline__ void AwaitDone(const Across& a) {
  while (static_cast<i32>(LoadAcquire4(a.done) - a.done_value) < 0) Pause(kWaitedForData, 0, 0);
}

__device__ __forceinline__ void RunAcross(const Across& a) {
  const bool speaks = threadIdx.x == 0;
  if (speaks && a.captured != 0 && !TUTTI_PLANT(kDoneNotCleared)) StoreShared4(a.done, 0);
  CopyAll<ToPinned>(a.in, a.ins);
  if (!TUTTI_PLANT(kNoBarrierBeforeReady)) __syncthreads();
  if (speaks) {
    SayReady(a);
    AwaitDone(a);
  }
  if (!TUTTI_PLANT(kNoBarrierBehindDone)) __syncthreads();
  CopyAll<FromPinned>(a.out, a.outs);
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_ACROSS_CUH_
