// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_STEP_LL128_CUH_
#define TUTTI_EXEC_GPU_DEVICE_STEP_LL128_CUH_

// A step with LL128: every warp for itself, a unit of 8 lines (960 bytes of data) at a time, no barrier.
//
// A warp stores a unit with two instructions of 16 bytes per thread, 4 lines each. Of 8 threads the last has the flag
// in the upper half of its 16 bytes, so it has room for 8 bytes of data in each line: one pack for both. The others have
// a pack per line.
//
//   thread   0       1   ...  6       7              8 ...
//   line a   pack 0  pack 1   pack 6  pack 56 low, flag    pack 7 ...       packs: 16 bytes of the unit's data
//   line b   28      29       34      pack 56 high, flag   35 ...
//
// A line arrives whole over NVLink when a warp stores it with one instruction, so whoever sees its flag has the data.

#include "exec/gpu/device/block.cuh"
#include "exec/gpu/device/fold.cuh"
#include "proto/ll128.h"

namespace tutti::exec::gpu {

static constexpr int kLl128Batch = 4;
static constexpr u32 kUnitData = 960, kUnitWire = 1024, kHalfUnit = 512;
static_assert(kUnitWire == 8 * sizeof(proto::Ll128Line) && kUnitData == 8 * proto::kLl128PayloadBytes);

// A thread's share of a unit.
struct Share {
  bool flags;     // this thread has the flags
  u32 offset[2];  // of its packs in the unit's data
  u32 lane;

  __device__ __forceinline__ Share() {
    lane = threadIdx.x & 31;
    const u32 group = lane >> 3, place = lane & 7;
    flags = place == 7;
    offset[0] = flags ? (56 + group) * 16 : (group * 7 + place) * 16;
    offset[1] = flags ? kUnitData : offset[0] + 28 * 16;  // a flag thread has no second pack
  }
};

// Bytes of a pack that lie before the message's end.
__device__ __forceinline__ u32 ValidBytes(u32 offset, u32 bytes) {
  return offset >= bytes ? 0 : bytes - offset < 16 ? bytes - offset : 16;
}

__device__ __forceinline__ std::byte* UnitAt(std::byte* ring, u32 mask, u64 unit) {
  return ring + static_cast<u64>(static_cast<u32>(unit) & mask) * kUnitWire;
}

// A thread's share of a unit as it lies in a ring.
__device__ __forceinline__ void WireOf(const Share& share, u64 flag, const Pack<4> (&v)[2], Pack<4> (&wire)[2]) {
  const u32 low = static_cast<u32>(flag), high = static_cast<u32>(flag >> 32);
  wire[0] = share.flags ? Pack<4>{{v[0].w[0], v[0].w[1], low, high}} : v[0];
  wire[1] = share.flags ? Pack<4>{{v[0].w[2], v[0].w[3], low, high}} : v[1];
}

// Stores a unit, which the flag makes valid. All threads of the warp together.
__device__ __forceinline__ void StoreUnit(std::byte* at, const Share& share, u64 flag, const Pack<4> (&v)[2]) {
  Pack<4> wire[2];
  WireOf(share, flag, v, wire);
  StoreLine16(at, wire[0]);
  StoreLine16(at + kHalfUnit, wire[1]);
}

__device__ __forceinline__ void SendLl128(const Block& b, const Share& share, const ProgramTarget& target, u32 round,
                                          u32 i, const Pack<4> (&v)[2]) {
  const u64 unit = b.Unit(round, target.message) + i;
  const u64 flag = transport::p2p::Ll128Flag(unit, b.p.log2_ring_units);
  StoreUnit(UnitAt(b.RingTo(target.peer), b.mask, unit) + share.lane * 16, share, flag, v);
}

// Waits until both halves of a unit have arrived. All threads of the warp together.
template <typename P>
__device__ __forceinline__ void AwaitLl128(Patience& patience, const P& p, const Share& share, const std::byte* at,
                                           u64 flag, const Where& where, int peer, Pack<4> (&v)[2]) {
  while (true) {
    const u64 a = v[0].w[2] | static_cast<u64>(v[0].w[3]) << 32, c = v[1].w[2] | static_cast<u64>(v[1].w[3]) << 32;
    const bool here = !share.flags || (a == flag && (c == flag || TUTTI_PLANT(kHalfAUnit)));
    if (__all_sync(~0u, here)) break;
    const bool stop = !KeepWaiting(patience, p, kWaitedForData, where, peer);
    if (__any_sync(~0u, stop)) {
      patience.since_ns = kGone;
      break;
    }
    v[0] = LoadLine16(at);
    v[1] = LoadLine16(at + kHalfUnit);
  }
  if (share.flags) v[0] = {{v[0].w[0], v[0].w[1], v[1].w[0], v[1].w[1]}};
}

// The operands' packs of unit i, folded.
template <typename Codec>
__device__ __forceinline__ void GatherLl128(Block& b, const Share& share, const ProgramStep& s, int step, u32 round,
                                            u32 i, const u32 (&valid)[2], Pack<4> (&v)[2]) {
  const Program& p = b.p;
  using FoldCodec = std::conditional_t<kFolds<Codec>, Codec, FloatCodec<SumOp>>;
  Fold<FoldCodec, 4> fold[2];
  for (int first = 0; first < s.operands; first += kLl128Batch) {
    Pack<4> got[kLl128Batch][2];
    const std::byte* at[kLl128Batch];
#pragma unroll
    for (int k = 0; k < kLl128Batch; ++k) {
      if (first + k >= s.operands) break;
      const ProgramOperand operand = p.operand(s.first_operand + first + k);
      if (operand.kind == ProgramOperand::kRecv) {
        at[k] = UnitAt(b.RingFrom(operand.peer), b.mask, b.Unit(round, operand.index) + i) + share.lane * 16;
        got[k][0] = LoadLine16(at[k]);
        got[k][1] = LoadLine16(at[k] + kHalfUnit);
      } else {
        at[k] = nullptr;
        const std::byte* from = b.Local(operand, round) + i * kUnitData;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          got[k][h] = valid[h] != 0 ? LoadPack<4>(from + share.offset[h], valid[h]) : Pack<4>{};
          if (kScales<Codec> && p.scale != 0 && operand.kind == ProgramOperand::kIn) {
            got[k][h] = ScalePack<Codec, 4>(got[k][h], p);
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kLl128Batch; ++k) {
      if (first + k >= s.operands) break;
      if (at[k] != nullptr) {
        const ProgramOperand operand = p.operand(s.first_operand + first + k);
        const u64 flag = transport::p2p::Ll128Flag(b.Unit(round, operand.index) + i, p.log2_ring_units);
        AwaitLl128(b.patience, p, share, at[k], flag, {step, round}, operand.peer, got[k]);
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        v[h] = got[k][h];
        if constexpr (kFolds<Codec>) {
          if (s.operands > 1) {
            if (first + k == 0) {
              fold[h].Start(v[h]);
            } else {
              fold[h].Add(v[h]);
            }
          }
        }
      }
    }
  }
  if constexpr (kFolds<Codec>) {
    if (s.operands > 1) {
      v[0] = fold[0].Result();
      v[1] = fold[1].Result();
    }
  }
}

template <typename Codec>
__device__ __forceinline__ void StepLl128(Block& b, const ProgramStep& s, int step, u32 round, u32 bytes) {
  const Share share;
  const u32 units = (bytes + kUnitData - 1) / kUnitData;
  for (u32 i = threadIdx.x / 32; i < units; i += blockDim.x / 32) {
    const u32 valid[2] = {ValidBytes(i * kUnitData + share.offset[0], bytes),
                          share.flags ? 0 : ValidBytes(i * kUnitData + share.offset[1], bytes)};
    Pack<4> v[2];
    GatherLl128<Codec>(b, share, s, step, round, i, valid, v);
    for (int t = 0; t < s.targets; ++t) SendLl128(b, share, b.p.target(s.first_target + t), round, i, v);
    if (!s.stores) continue;
    std::byte* out = b.Output(s, round) + i * kUnitData;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (valid[h] != 0) StorePack(out + share.offset[h], v[h], valid[h], b.Item().element);
    }
  }
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_STEP_LL128_CUH_
