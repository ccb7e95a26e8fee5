// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_FOLD_CUH_
#define TUTTI_EXEC_GPU_DEVICE_FOLD_CUH_

// Thread level: the arithmetic of folds, with the same bits as exec/cpu/fold.h, whose "Numerics" holds here too.
//
// A codec says what the elements in one or two words are: Unpack makes an accumulator of them, Combine adds another,
// Pack rounds and gives the words back. Compile with -fmad=false: a product must be rounded before it is added.

#include <type_traits>

#include "exec/gpu/device/pack.cuh"
#include "exec/gpu/format/program.h"

namespace tutti::exec::gpu {

struct SumOp {
  template <typename T>
  __device__ static T Combine(T a, T b) {
    return a + b;
  }
};
struct ProdOp {
  template <typename T>
  __device__ static T Combine(T a, T b) {
    return a * b;
  }
};
struct MaxOp {
  template <typename T>
  __device__ static T Combine(T a, T b) {
    return a > b ? a : b;
  }
};
struct MinOp {
  template <typename T>
  __device__ static T Combine(T a, T b) {
    return a < b ? a : b;
  }
};

// N values side by side.
template <typename T, int N>
struct Lanes {
  T v[N];
};
template <typename Op, typename T, int N>
__device__ __forceinline__ Lanes<T, N> CombineLanes(const Lanes<T, N>& a, const Lanes<T, N>& b) {
  Lanes<T, N> r;
#pragma unroll
  for (int i = 0; i < N; ++i) r.v[i] = Op::template Combine<T>(a.v[i], b.v[i]);
  return r;
}

// Integers, of 1, 4 or 8 bytes. Sums and products wrap.
template <typename T, typename Op>
struct IntegerCodec {
  static constexpr int kWords = sizeof(T) == 8 ? 2 : 1;
  static constexpr int kLanes = sizeof(T) == 1 ? 4 : 1;
  using Acc = Lanes<T, kLanes>;
  using U = std::make_unsigned_t<T>;

  __device__ static Acc Unpack(const u32* w) {
    if constexpr (sizeof(T) == 8) return {{static_cast<T>(w[0] | static_cast<u64>(w[1]) << 32)}};
    if constexpr (sizeof(T) == 4) return {{static_cast<T>(w[0])}};
    if constexpr (sizeof(T) == 1) {
      return {
          {static_cast<T>(w[0]), static_cast<T>(w[0] >> 8), static_cast<T>(w[0] >> 16), static_cast<T>(w[0] >> 24)}};
    }
  }
  __device__ static void Pack(const Acc& a, u32* w) {
    if constexpr (sizeof(T) == 8) {
      w[0] = static_cast<u32>(a.v[0]);
      w[1] = static_cast<u32>(static_cast<u64>(a.v[0]) >> 32);
    } else if constexpr (sizeof(T) == 4) {
      w[0] = static_cast<u32>(a.v[0]);
    } else {
      w[0] = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) w[0] |= static_cast<u32>(static_cast<u8>(a.v[i])) << (8 * i);
    }
  }
  __device__ static Acc Combine(const Acc& a, const Acc& b) {
    if constexpr (std::is_same_v<Op, MaxOp> || std::is_same_v<Op, MinOp>) {
      return CombineLanes<Op>(a, b);
    } else {
      Acc r;
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        r.v[i] = static_cast<T>(Op::template Combine<U>(static_cast<U>(a.v[i]), static_cast<U>(b.v[i])));
      }
      return r;
    }
  }
  __device__ static Acc Factor(const Scaling& p) { return {{static_cast<T>(p.integer_scalar)}}; }
  __device__ static Acc Scaled(Acc a, const Acc& factor) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) a.v[i] = static_cast<T>(static_cast<U>(a.v[i]) * static_cast<U>(factor.v[0]));
    return a;
  }
  // Truncates toward zero. A divisor that T cannot hold is larger than any value.
  __device__ static Acc Divided(Acc a, u32 divisor) {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      if constexpr (sizeof(T) == 1) {
        a.v[i] = static_cast<T>(static_cast<int>(a.v[i]) / static_cast<int>(divisor));
      } else {
        a.v[i] = static_cast<T>(a.v[i] / static_cast<T>(divisor));
      }
    }
    return a;
  }
};

template <typename Op>
struct FloatCodec {
  static constexpr int kWords = 1;
  using Acc = Lanes<float, 1>;
  __device__ static Acc Unpack(const u32* w) { return {{__uint_as_float(w[0])}}; }
  __device__ static void Pack(const Acc& a, u32* w) { w[0] = __float_as_uint(a.v[0]); }
  __device__ static Acc Combine(const Acc& a, const Acc& b) { return CombineLanes<Op>(a, b); }
  __device__ static Acc Factor(const Scaling& p) { return {{static_cast<float>(p.scalar)}}; }
  __device__ static Acc Scaled(const Acc& a, const Acc& factor) { return {{a.v[0] * factor.v[0]}}; }
};

template <typename Op>
struct DoubleCodec {
  static constexpr int kWords = 2;
  using Acc = Lanes<double, 1>;
  __device__ static Acc Unpack(const u32* w) { return {{__hiloint2double(w[1], w[0])}}; }
  __device__ static void Pack(const Acc& a, u32* w) {
    w[0] = __double2loint(a.v[0]);
    w[1] = __double2hiint(a.v[0]);
  }
  __device__ static Acc Combine(const Acc& a, const Acc& b) { return CombineLanes<Op>(a, b); }
  __device__ static Acc Factor(const Scaling& p) { return {{p.scalar}}; }
  __device__ static Acc Scaled(const Acc& a, const Acc& factor) { return {{a.v[0] * factor.v[0]}}; }
};

// Types that fold in float: what they have in common.
template <typename Op, int N>
struct InFloat {
  static constexpr int kWords = 1;
  using Acc = Lanes<float, N>;
  __device__ static Acc Combine(const Acc& a, const Acc& b) { return CombineLanes<Op>(a, b); }
  __device__ static Acc Factor(const Scaling& p) { return {{static_cast<float>(p.scalar)}}; }
  __device__ static Acc Scaled(Acc a, const Acc& factor) {
#pragma unroll
    for (int i = 0; i < N; ++i) a.v[i] = a.v[i] * factor.v[0];
    return a;
  }
};

template <typename Op>
struct HalfCodec : InFloat<Op, 2> {
  using Acc = typename InFloat<Op, 2>::Acc;
  __device__ static Acc Unpack(const u32* w) {
    return {{FloatOfHalf(static_cast<u16>(w[0])), FloatOfHalf(static_cast<u16>(w[0] >> 16))}};
  }
  __device__ static void Pack(const Acc& a, u32* w) { w[0] = HalvesOfFloats(a.v[0], a.v[1]); }
};

template <typename Op>
struct Bfloat16Codec : InFloat<Op, 2> {
  using Acc = typename InFloat<Op, 2>::Acc;
  __device__ static Acc Unpack(const u32* w) {
    return {{__uint_as_float(w[0] << 16), __uint_as_float(w[0] & 0xffff0000u)}};
  }
  __device__ static void Pack(const Acc& a, u32* w) { w[0] = Bfloat16sOfFloats(a.v[0], a.v[1]); }
};

template <typename Op, bool kE4M3>
struct Fp8Codec : InFloat<Op, 4> {
  using Acc = typename InFloat<Op, 4>::Acc;
  __device__ static Acc Unpack(const u32* w) {
    const u32 low = HalvesOfFp8<kE4M3>(static_cast<u16>(w[0])), high = HalvesOfFp8<kE4M3>(static_cast<u16>(w[0] >> 16));
    return {{FloatOfHalf(static_cast<u16>(low)), FloatOfHalf(static_cast<u16>(low >> 16)),
             FloatOfHalf(static_cast<u16>(high)), FloatOfHalf(static_cast<u16>(high >> 16))}};
  }
  __device__ static void Pack(const Acc& a, u32* w) {
    w[0] = Fp8OfFloats<kE4M3>(a.v[0], a.v[1]) | static_cast<u32>(Fp8OfFloats<kE4M3>(a.v[2], a.v[3])) << 16;
  }
};

// Floating types for minimum and maximum: bits mapped one to one to signed integers in the numbers' order, with all
// NaNs at the end that wins (exec/cpu/fold_kernels.inc, "Ordered", explains the mapping).
template <typename U, u64 kInfinity, typename Op>
struct OrderedCodec {
  static constexpr int kWords = sizeof(U) == 8 ? 2 : 1;
  static constexpr int kLanes = sizeof(U) == 8 ? 1 : 4 / sizeof(U);
  static constexpr bool kMax = std::is_same_v<Op, MaxOp>;
  using S = std::make_signed_t<U>;
  using Acc = Lanes<S, kLanes>;
  static constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  static constexpr U kMagnitude = static_cast<U>(~kSign);
  static constexpr U kEnd = static_cast<U>(kInfinity + 1);
  static constexpr U kShift = static_cast<U>(kMax ? kEnd + kSign : kSign - kEnd);

  __device__ static U FlipNegative(U v) { return static_cast<S>(v) < 0 ? v ^ kMagnitude : v; }
  __device__ static S Key(U v) { return static_cast<S>(static_cast<U>(FlipNegative(v) + kShift)); }
  __device__ static U Bits(S key) { return FlipNegative(static_cast<U>(static_cast<U>(key) - kShift)); }

  __device__ static Acc Unpack(const u32* w) {
    Acc a;
    if constexpr (sizeof(U) == 8) {
      a.v[0] = Key(w[0] | static_cast<u64>(w[1]) << 32);
    } else {
#pragma unroll
      for (int i = 0; i < kLanes; ++i) a.v[i] = Key(static_cast<U>(w[0] >> (8 * sizeof(U) * i)));
    }
    return a;
  }
  __device__ static void Pack(const Acc& a, u32* w) {
    if constexpr (sizeof(U) == 8) {
      const u64 bits = Bits(a.v[0]);
      w[0] = static_cast<u32>(bits);
      w[1] = static_cast<u32>(bits >> 32);
    } else {
      w[0] = 0;
#pragma unroll
      for (int i = 0; i < kLanes; ++i) w[0] |= static_cast<u32>(Bits(a.v[i])) << (8 * sizeof(U) * i);
    }
  }
  __device__ static Acc Combine(const Acc& a, const Acc& b) { return CombineLanes<Op>(a, b); }
};

// Codec for a kernel that only moves.
struct MoveCodec {};

template <typename Codec>
inline constexpr bool kFolds = !std::is_same_v<Codec, MoveCodec>;
template <typename Codec, typename = void>
inline constexpr bool kScales = false;
template <typename Codec>
inline constexpr bool kScales<Codec, std::void_t<decltype(&Codec::Scaled)>> = true;
template <typename Codec, typename = void>
inline constexpr bool kDivides = false;
template <typename Codec>
inline constexpr bool kDivides<Codec, std::void_t<decltype(&Codec::Divided)>> = true;

// The fold of packs, left to right.
template <typename Codec, int W>
struct Fold {
  static constexpr int kUnits = W / Codec::kWords;
  typename Codec::Acc acc[kUnits];

  __device__ __forceinline__ void Start(const Pack<W>& v) {
#pragma unroll
    for (int i = 0; i < kUnits; ++i) acc[i] = Codec::Unpack(v.w + i * Codec::kWords);
  }
  __device__ __forceinline__ void Add(const Pack<W>& v) {
#pragma unroll
    for (int i = 0; i < kUnits; ++i) acc[i] = Codec::Combine(acc[i], Codec::Unpack(v.w + i * Codec::kWords));
  }
  // Integers only.
  __device__ __forceinline__ void Divide(u32 divisor) {
#pragma unroll
    for (int i = 0; i < kUnits; ++i) acc[i] = Codec::Divided(acc[i], divisor);
  }
  __device__ __forceinline__ Pack<W> Result() const {
    Pack<W> v;
#pragma unroll
    for (int i = 0; i < kUnits; ++i) Codec::Pack(acc[i], v.w + i * Codec::kWords);
    return v;
  }
};

// The factor that lies in memory (Scaling::factor), where all threads of the block find it. Set by ReadFactor.
__device__ __forceinline__ u64& SharedFactor() {
  TUTTI_SHARED(u64, factor);
  return factor;
}
// All threads of the block together, before anything is scaled.
__device__ __forceinline__ void ReadFactor(const Scaling& p, u32 element) {
  if (threadIdx.x == 0) {
    const Pack<2> bits = LoadBytes<2>(p.factor, element);
    SharedFactor() = bits.w[0] | static_cast<u64>(bits.w[1]) << 32;
  }
  __syncthreads();
}

// An input's elements times the scalar, rounded to the element type.
template <typename Codec, int W>
__device__ __forceinline__ Pack<W> ScalePack(Pack<W> v, const Scaling& p) {
  if constexpr (kScales<Codec>) {
    typename Codec::Acc factor = Codec::Factor(p);
    if (p.scale == kScaleFromMemory) {
      const u64 bits = SharedFactor();
      const u32 words[2] = {static_cast<u32>(bits), static_cast<u32>(bits >> 32)};
      factor = Codec::Unpack(words);
    }
#pragma unroll
    for (int i = 0; i < W; i += Codec::kWords) Codec::Pack(Codec::Scaled(Codec::Unpack(v.w + i), factor), v.w + i);
  }
  return v;
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_FOLD_CUH_
