// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_PACK_CUH_
#define TUTTI_EXEC_GPU_DEVICE_PACK_CUH_

// Thread level: how a pack of 8 or 16 bytes comes from and goes to memory of any alignment.

#include "exec/gpu/device/primitives.cuh"

namespace tutti::exec::gpu {

__device__ inline bool IsAligned(const void* at, u32 bytes) {
  return (reinterpret_cast<std::uintptr_t>(at) & (bytes - 1)) == 0;
}

// The first `valid` bytes at any address, zeros behind them. Reads whole aligned words, but only such as hold a valid
// byte.
template <int W>
__device__ __forceinline__ Pack<W> LoadBytes(const std::byte* at, u32 valid) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const u32 skew = address & 3;
  const auto* words = reinterpret_cast<const u32*>(address - skew);
  u32 raw[W + 1];
#pragma unroll
  for (int i = 0; i <= W; ++i) raw[i] = static_cast<u32>(4 * i) < skew + valid ? words[i] : 0;
  Pack<W> v;
#pragma unroll
  for (int i = 0; i < W; ++i) {
    v.w[i] = __funnelshift_r(raw[i], raw[i + 1], skew * 8);
    const u32 begin = 4 * i;
    if (begin >= valid) {
      v.w[i] = 0;
    } else if (valid - begin < 4) {
      v.w[i] &= (1u << (8 * (valid - begin))) - 1;
    }
  }
  return v;
}

// The first `valid` bytes, one element of `element` bytes after the other.
template <int W>
__device__ __forceinline__ void StoreElements(std::byte* at, const Pack<W>& v, u32 valid, u32 element) {
  u64 low = v.w[0] | static_cast<u64>(v.w[1]) << 32;
  u64 high = 0;
  if constexpr (W == 4) high = v.w[2] | static_cast<u64>(v.w[3]) << 32;
#pragma unroll 1
  for (u32 i = 0; i < valid; i += element) {
    switch (element) {
      case 1:
        *reinterpret_cast<u8*>(at + i) = static_cast<u8>(low);
        break;
      case 2:
        *reinterpret_cast<u16*>(at + i) = static_cast<u16>(low);
        break;
      case 4:
        *reinterpret_cast<u32*>(at + i) = static_cast<u32>(low);
        break;
      default:
        *reinterpret_cast<u64*>(at + i) = low;
        low = high;
        continue;
    }
    low = low >> (8 * element) | high << (64 - 8 * element);
    high >>= 8 * element;
  }
}

// valid: bytes that count, 1 to the pack's size. kInWords: a part of a pack that consists of aligned words is moved in words.
// That saves a float of its own 0.2 us; where it takes registers of kernels that move whole packs, it costs them 1 %.
template <int W, bool kInWords = W == 2>
__device__ __forceinline__ Pack<W> LoadPack(const std::byte* at, u32 valid) {
  Pack<W> v;
  if (valid == Pack<W>::kBytes && IsAligned(at, Pack<W>::kBytes)) {
    LoadWhole(at, v);
    return v;
  }
  if constexpr (kInWords) {
    if (valid % 4 == 0 && IsAligned(at, 4)) {
#pragma unroll
      for (u32 i = 0; i < W; ++i) v.w[i] = 4 * i < valid ? reinterpret_cast<const u32*>(at)[i] : 0;
      return v;
    }
  }
  return LoadBytes<W>(at, valid);
}
template <int W, bool kInWords = W == 2>
__device__ __forceinline__ void StorePack(std::byte* at, const Pack<W>& v, u32 valid, u32 element) {
  if (valid == Pack<W>::kBytes && IsAligned(at, Pack<W>::kBytes)) return StoreWhole(at, v);
  if constexpr (kInWords) {
    if (valid % 4 == 0 && IsAligned(at, 4)) {
#pragma unroll
      for (u32 i = 0; i < W; ++i) {
        if (4 * i < valid) reinterpret_cast<u32*>(at)[i] = v.w[i];
      }
      return;
    }
  }
  StoreElements(at, v, valid, element);
}

// What of it lies behind the first `bytes` bytes.
__device__ __forceinline__ Pack<4> WithoutFirst(const Pack<4>& v, u32 bytes) {
  u64 low = v.w[0] | static_cast<u64>(v.w[1]) << 32, high = v.w[2] | static_cast<u64>(v.w[3]) << 32;
#pragma unroll 1
  for (u32 i = 0; i < bytes; ++i) {
    low = low >> 8 | high << 56;
    high >>= 8;
  }
  return {{static_cast<u32>(low), static_cast<u32>(low >> 32), static_cast<u32>(high), static_cast<u32>(high >> 32)}};
}

// Of eight words, four that begin `bits` bits behind word kFirst.
template <int kFirst>
__device__ __forceinline__ Pack<4> Shifted(const u32 (&words)[8], u32 bits) {
  Pack<4> v;
#pragma unroll
  for (int i = 0; i < 4; ++i) v.w[i] = __funnelshift_r(words[kFirst + i], words[kFirst + i + 1], bits);
  return v;
}

// 16 bytes at any address, by the one or two aligned vectors that hold them.
__device__ __forceinline__ Pack<4> LoadAnywhere(const std::byte* at) {
  const u32 skew = static_cast<u32>(reinterpret_cast<std::uintptr_t>(at) & 15);
  Pack<4> first, second{};
  LoadWhole(at - skew, first);
  if (skew == 0) return first;
  LoadWhole(at - skew + 16, second);
  const u32 words[8] = {first.w[0],  first.w[1],  first.w[2],  first.w[3],
                        second.w[0], second.w[1], second.w[2], second.w[3]};
  const u32 bits = skew % 4 * 8;
  switch (skew / 4) {
    case 0:
      return Shifted<0>(words, bits);
    case 1:
      return Shifted<1>(words, bits);
    case 2:
      return Shifted<2>(words, bits);
    default:
      return Shifted<3>(words, bits);
  }
}
// 16 bytes to memory that is aligned to 4 bytes.
__device__ __forceinline__ void StoreInWords(std::byte* at, const Pack<4>& v) {
  if (IsAligned(at, 16)) return StoreWhole(at, v);
#pragma unroll
  for (int i = 0; i < 4; ++i) reinterpret_cast<u32*>(at)[i] = v.w[i];
}
// 16 bytes to any address, in parts as long as its alignment allows.
__device__ __forceinline__ void StoreAnywhere(std::byte* at, const Pack<4>& v) {
  if (IsAligned(at, 16)) return StoreWhole(at, v);
  if (IsAligned(at, 8)) {
    StoreWhole(at, Pack<2>{{v.w[0], v.w[1]}});
    StoreWhole(at + 8, Pack<2>{{v.w[2], v.w[3]}});
  } else if (IsAligned(at, 4)) {
#pragma unroll
    for (int i = 0; i < 4; ++i) reinterpret_cast<u32*>(at)[i] = v.w[i];
  } else {
    StoreElements(at, v, 16, IsAligned(at, 2) ? 2 : 1);
  }
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_PACK_CUH_
