// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_PRIMITIVES_GPU_CUH_
#define TUTTI_EXEC_GPU_DEVICE_PRIMITIVES_GPU_CUH_

// primitives.cuh by NVIDIA's instructions.

#if __CUDA_ARCH__ < 890
#include <cuda_fp8.h>
#endif

#include "exec/gpu/device/words.h"

#define TUTTI_SHARED(type, name) __shared__ type name
#define TUTTI_ARGUMENT(type) __grid_constant__ type
#define TUTTI_KERNEL_IS(name, type)
#define TUTTI_PLANT(name) false

namespace tutti::exec::gpu {

static constexpr u32 kPollsPerLook = 4096;

// Shared memory.
__device__ inline Pack<4> LoadShared16(const void* at) {
  Pack<4> v;
  asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
               : "l"(at)
               : "memory");
  return v;
}
__device__ inline void StoreShared16(void* at, const Pack<4>& v) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(at), "r"(v.w[0]), "r"(v.w[1]), "r"(v.w[2]),
               "r"(v.w[3])
               : "memory");
}
__device__ inline Pack<4> LoadLine16(const void* at) { return LoadShared16(at); }
__device__ inline void StoreLine16(void* at, const Pack<4>& v) { StoreShared16(at, v); }
__device__ inline u64 LoadShared8(const void* at) {
  u64 v;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
  return v;
}
__device__ inline u64 LoadAcquire8(const void* at) {
  u64 v;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(at) : "memory");
  return v;
}
__device__ inline void StoreShared8(void* at, u64 v) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(v) : "memory");
}
__device__ __forceinline__ u32 LoadAcquire4(const void* at) {
  u32 v;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
  return v;
}
__device__ __forceinline__ void StoreShared4(void* at, u32 v) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(at), "r"(v) : "memory");
}
__device__ __forceinline__ u8 LoadShared1(const void* at) {
  u32 v;
  asm volatile("ld.relaxed.sys.global.u8 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
  return static_cast<u8>(v);
}
__device__ __forceinline__ void StoreShared1(void* at, u8 v) {
  asm volatile("st.relaxed.sys.global.u8 [%0], %1;" ::"l"(at), "r"(static_cast<u32>(v)) : "memory");
}
__device__ __forceinline__ void FenceSystem() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

// User memory.
__device__ inline void LoadWhole(const std::byte* at, Pack<2>& v) {
  const uint2 got = *reinterpret_cast<const uint2*>(at);
  v = {{got.x, got.y}};
}
__device__ inline void LoadWhole(const std::byte* at, Pack<4>& v) {
  const uint4 got = *reinterpret_cast<const uint4*>(at);
  v = {{got.x, got.y, got.z, got.w}};
}
__device__ inline void StoreWhole(std::byte* at, const Pack<2>& v) {
  *reinterpret_cast<uint2*>(at) = make_uint2(v.w[0], v.w[1]);
}
__device__ inline void StoreWhole(std::byte* at, const Pack<4>& v) {
  *reinterpret_cast<uint4*>(at) = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
}
__device__ inline void StoreRing16(std::byte* at, const Pack<4>& v) { StoreWhole(at, v); }
__device__ __forceinline__ void PrefetchLine(const void* at) { asm volatile("prefetch.global.L1 [%0];" ::"l"(at)); }

// State and counters.
__device__ __forceinline__ void LoadOnce16(const void* at, u64& low, u64& high) {
  asm volatile("ld.global.cg.v2.u64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "l"(at));
}
__device__ __forceinline__ void LoadOnce8(const void* at, u64& v) {
  asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(v) : "l"(at));
}
__device__ __forceinline__ void CountUp(std::uint64_t& count) {
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], 1;" ::"l"(&count) : "memory");
}

// Threads of a block. Post and Posted are atomic, so that tools see that no race is meant.
__device__ __forceinline__ void BarrierSync(u32 number, u32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
__device__ __forceinline__ void Post(u32* count, u32 messages) {
  [[maybe_unused]] u32 before;
  asm volatile("atom.release.cta.shared.exch.b32 %0, [%1], %2;"
               : "=r"(before)
               : "r"(static_cast<u32>(__cvta_generic_to_shared(count))), "r"(messages)
               : "memory");
}
__device__ __forceinline__ u32 Posted(const u32* count) {
  u32 messages;
  asm volatile("atom.acquire.cta.shared.or.b32 %0, [%1], 0;"
               : "=r"(messages)
               : "r"(static_cast<u32>(__cvta_generic_to_shared(count)))
               : "memory");
  return messages;
}

// Time.
__device__ __forceinline__ void Pause(int /*what*/, int /*step*/, int /*peer*/) {}
__device__ inline u64 GlobalNs() {
  u64 t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}
__device__ __forceinline__ void LaunchNextGrid() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void AwaitPreviousGrid() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Conversions.
__device__ inline float FloatOfHalf(u16 h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
__device__ __forceinline__ u32 HalvesOfFloats(float low, float high) {
  u32 pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ u32 Bfloat16sOfFloats(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
// Two fp8 numbers as two halves, exactly, and two floats rounded to fp8, beyond its range to the largest. GPUs from sm_89 on
// have instructions for it; for others CUDA's header computes the same.
template <bool kE4M3>
__device__ __forceinline__ u32 HalvesOfFp8(u16 pair) {
#if __CUDA_ARCH__ >= 890
  u32 halves;
  if constexpr (kE4M3) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
  } else {
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(pair));
  }
  return halves;
#else
  const __half2_raw halves = __nv_cvt_fp8x2_to_halfraw2(pair, kE4M3 ? __NV_E4M3 : __NV_E5M2);
  return halves.x | static_cast<u32>(halves.y) << 16;
#endif
}
template <bool kE4M3>
__device__ __forceinline__ u16 Fp8OfFloats(float low, float high) {
#if __CUDA_ARCH__ >= 890
  u16 pair;
  if constexpr (kE4M3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  }
  return pair;
#else
  return __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, kE4M3 ? __NV_E4M3 : __NV_E5M2);
#endif
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_PRIMITIVES_GPU_CUH_
