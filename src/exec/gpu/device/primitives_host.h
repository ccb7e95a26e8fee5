// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_PRIMITIVES_HOST_H_
#define TUTTI_EXEC_GPU_DEVICE_PRIMITIVES_HOST_H_

// primitives.cuh for tests: a thread of a block is a fibre, device memory is host memory. What is declared in `host` is
// defined by tests/kernels/machine.cc, which decides who goes on and when stores arrive; the library has none of it.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/float_types.h"
#include "exec/gpu/device/plants.h"
#include "exec/gpu/device/words.h"

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)

// A variable of its own for every block, and for every instance of a template.
#define TUTTI_SHARED(type, name)  \
  static const char name##_key{}; \
  type& name = *static_cast<type*>(host::SharedVariable(&name##_key, sizeof(type)))
#define TUTTI_ARGUMENT(type) type&
#define TUTTI_KERNEL_IS(name, type) TUTTI_KERNEL_IS_NAMED(name, type)
#define TUTTI_KERNEL_IS_NAMED(name, type)              \
  [[maybe_unused]] static const bool name##_is_known = \
      host::Register(#name, [](const void* argument) { name(*static_cast<const type*>(argument)); });
#define TUTTI_PLANT(name) host::IsPlanted(Plant::name)

namespace tutti::exec::gpu {

struct Index {
  unsigned x = 0;
};
// Of the thread that runs.
extern Index threadIdx, blockIdx, blockDim, gridDim;

struct ulonglong2 {
  u64 x, y;
};
inline ulonglong2 make_ulonglong2(u64 x, u64 y) { return {x, y}; }

static constexpr u32 kPollsPerLook = 4;

namespace host {

// A store to a rank's memory, which arrives whole, some time.
void Store(void* at, const void* data, u32 bytes);
// Of one thread of a warp; all of them call it together.
void StoreLine(void* at, const Pack<4>& v);
Pack<4> LoadLine(const void* at);
// What has arrived, or was there before; 8 bytes at most. kAcquire: the newest, and what is loaded later is not older.
enum class Order : std::uint8_t { kNone, kAcquire };
u64 Load(const void* at, Order order, u32 bytes = 8);
void Fence();

// All threads of a warp, with the value of each.
enum class Vote : std::uint8_t { kAll, kAny, kLeast };
u32 Meet(Vote vote, u32 value);
void MeetWarp();
void Barrier(u32 number, u32 threads);
void* SharedVariable(const void* key, std::size_t bytes);
void Post(u32* count, u32 value);
u32 Posted(const u32* count);

void Pause(int what, int step, int peer);
void Sleep();
u64 Nanoseconds();

bool IsPlanted(Plant plant);
using Kernel = void (*)(const void* argument);
bool Register(const char* name, Kernel kernel);

}  // namespace host

// Shared memory.
inline Pack<4> LoadShared16(const void* at) {
  const u64 low = host::Load(at, host::Order::kNone);
  const u64 high = host::Load(static_cast<const std::byte*>(at) + 8, host::Order::kNone);
  return {{static_cast<u32>(low), static_cast<u32>(low >> 32), static_cast<u32>(high), static_cast<u32>(high >> 32)}};
}
inline void StoreShared16(void* at, const Pack<4>& v) {
  host::Store(at, v.w, 8);
  host::Store(static_cast<std::byte*>(at) + 8, v.w + 2, 8);
}
inline Pack<4> LoadLine16(const void* at) { return host::LoadLine(at); }
inline void StoreLine16(void* at, const Pack<4>& v) { host::StoreLine(at, v); }
inline u64 LoadShared8(const void* at) { return host::Load(at, host::Order::kNone); }
inline u64 LoadAcquire8(const void* at) { return host::Load(at, host::Order::kAcquire); }
inline void StoreShared8(void* at, u64 v) { host::Store(at, &v, 8); }
inline u32 LoadAcquire4(const void* at) { return static_cast<u32>(host::Load(at, host::Order::kAcquire, 4)); }
inline void StoreShared4(void* at, u32 v) { host::Store(at, &v, 4); }
inline u8 LoadShared1(const void* at) { return static_cast<u8>(host::Load(at, host::Order::kNone, 1)); }
inline void StoreShared1(void* at, u8 v) { host::Store(at, &v, 1); }
inline void StoreRing16(std::byte* at, const Pack<4>& v) { StoreShared16(at, v); }
inline void FenceSystem() { host::Fence(); }

// User memory.
template <int W>
inline void LoadWhole(const std::byte* at, Pack<W>& v) {
  std::memcpy(v.w, at, sizeof(v.w));
}
template <int W>
inline void StoreWhole(std::byte* at, const Pack<W>& v) {
  std::memcpy(at, v.w, sizeof(v.w));
}
inline void PrefetchLine(const void* /*at*/) {}

// State and counters.
inline ulonglong2 __ldcg(const ulonglong2* at) { return *at; }
inline void __stcg(ulonglong2* at, const ulonglong2& v) { *at = v; }
inline void __stcg(u64* at, u64 v) { *at = v; }
inline void LoadOnce16(const void* at, u64& low, u64& high) {
  const ulonglong2 v = *static_cast<const ulonglong2*>(at);
  low = v.x;
  high = v.y;
}
inline void LoadOnce8(const void* at, u64& v) { v = *static_cast<const u64*>(at); }
inline void CountUp(std::uint64_t& count) { ++count; }

// Threads of a block.
inline void BarrierSync(u32 number, u32 threads) { host::Barrier(number, threads); }
inline void __syncthreads() { host::Barrier(0, blockDim.x); }
inline void __syncwarp() { host::MeetWarp(); }
inline bool __all_sync(u32 /*mask*/, bool value) { return host::Meet(host::Vote::kAll, value ? 1 : 0) != 0; }
inline bool __any_sync(u32 /*mask*/, bool value) { return host::Meet(host::Vote::kAny, value ? 1 : 0) != 0; }
inline u32 __reduce_min_sync(u32 /*mask*/, u32 value) { return host::Meet(host::Vote::kLeast, value); }
inline void Post(u32* count, u32 messages) { host::Post(count, messages); }
inline u32 Posted(const u32* count) { return host::Posted(count); }

// Time. The stream starts a grid when the one before has ended.
inline void Pause(int what, int step, int peer) { host::Pause(what, step, peer); }
inline void __nanosleep(u32 /*ns*/) { host::Sleep(); }
inline u64 GlobalNs() { return host::Nanoseconds(); }
inline void LaunchNextGrid() {}
inline void AwaitPreviousGrid() {}

// Bits and conversions.
inline u32 __funnelshift_r(u32 low, u32 high, u32 shift) {
  return static_cast<u32>((u64{high} << 32 | low) >> (shift & 31));
}
inline float __uint_as_float(u32 v) { return std::bit_cast<float>(v); }
inline u32 __float_as_uint(float v) { return std::bit_cast<u32>(v); }
inline double __hiloint2double(u32 high, u32 low) { return std::bit_cast<double>(u64{high} << 32 | low); }
inline u32 __double2loint(double v) { return static_cast<u32>(std::bit_cast<u64>(v)); }
inline u32 __double2hiint(double v) { return static_cast<u32>(std::bit_cast<u64>(v) >> 32); }
inline float FloatOfHalf(u16 h) { return HalfToFloat(h); }
inline u32 HalvesOfFloats(float low, float high) { return FloatToHalf(low) | u32{FloatToHalf(high)} << 16; }
inline u32 Bfloat16sOfFloats(float low, float high) { return FloatToBfloat16(low) | u32{FloatToBfloat16(high)} << 16; }
template <bool kE4M3>
inline u32 HalvesOfFp8(u16 pair) {
  const auto half = [](u8 code) { return u32{FloatToHalf(kE4M3 ? E4M3ToFloat(code) : E5M2ToFloat(code))}; };
  return half(static_cast<u8>(pair)) | half(static_cast<u8>(pair >> 8)) << 16;
}
template <bool kE4M3>
inline u16 Fp8OfFloats(float low, float high) {
  const auto code = [](float v) { return kE4M3 ? FloatToE4M3(v) : FloatToE5M2(v); };
  return static_cast<u16>(code(low) | code(high) << 8);
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_PRIMITIVES_HOST_H_
