// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_STEP_LL_CUH_
#define TUTTI_EXEC_GPU_DEVICE_STEP_LL_CUH_

// A step with LL: every thread for itself, 8 bytes at a time, no barrier. The same thread has the same bytes of a chunk
// in every step, so a step may read what an earlier one stored.

#include "exec/gpu/device/block.cuh"
#include "exec/gpu/device/fold.cuh"
#include "proto/ll.h"

namespace tutti::exec::gpu {

// Operands that are asked for at once.
static constexpr int kLlBatch = 4;

__device__ __forceinline__ std::byte* LlLineAt(std::byte* ring, u32 mask, u64 unit) {
  return ring + (static_cast<u32>(unit) & mask) * sizeof(proto::LlLine);
}

__device__ __forceinline__ void SendLl(const Block& b, const ProgramTarget& target, u32 round, u32 i,
                                       const Pack<2>& v) {
  const u64 unit = b.Unit(round, target.message) + i;
  const u32 flag = TUTTI_PLANT(kFlagOfEveryPass) ? 1 : transport::p2p::LlFlag(unit, b.p.log2_ring_units);
  StoreShared16(LlLineAt(b.RingTo(target.peer), b.mask, unit), {{v.w[0], flag, v.w[1], flag}});
}

// The operands' pack i, folded.
template <typename Codec>
__device__ __forceinline__ Pack<2> GatherLl(Block& b, const ProgramStep& s, int step, u32 round, u32 i, u32 valid) {
  const Program& p = b.p;
  Fold<std::conditional_t<kFolds<Codec>, Codec, FloatCodec<SumOp>>, 2> fold;
  Pack<2> v{};
  for (int first = 0; first < s.operands; first += kLlBatch) {
    Pack<4> line[kLlBatch];
    const std::byte* at[kLlBatch];
    u32 flag[kLlBatch];
#pragma unroll
    for (int k = 0; k < kLlBatch; ++k) {
      if (first + k >= s.operands) break;
      const ProgramOperand operand = p.operand(s.first_operand + first + k);
      if (operand.kind == ProgramOperand::kRecv) {
        const u64 unit = b.Unit(round, operand.index) + i;
        at[k] = LlLineAt(b.RingFrom(operand.peer), b.mask, unit);
        flag[k] = transport::p2p::LlFlag(unit, p.log2_ring_units);
        line[k] = LoadShared16(at[k]);
      } else {
        at[k] = nullptr;
        Pack<2> own = LoadPack<2>(b.Local(operand, round) + i * 8, valid);
        if (kScales<Codec> && p.scale != 0 && operand.kind == ProgramOperand::kIn) own = ScalePack<Codec, 2>(own, p);
        line[k] = {{own.w[0], 0, own.w[1], 0}};
      }
    }
#pragma unroll
    for (int k = 0; k < kLlBatch; ++k) {
      if (first + k >= s.operands) break;
      if (at[k] != nullptr) {
        while (line[k].w[1] != flag[k] || (line[k].w[3] != flag[k] && !TUTTI_PLANT(kHalfALine))) {
          if (!KeepWaiting(b.patience, p, kWaitedForData, {step, round}, p.operand(s.first_operand + first + k).peer))
            break;
          line[k] = LoadShared16(at[k]);
        }
      }
      v = {{line[k].w[0], line[k].w[2]}};
      if constexpr (kFolds<Codec>) {
        if (s.operands > 1) {
          if (first + k == 0) {
            fold.Start(v);
          } else {
            fold.Add(v);
          }
        }
      }
    }
  }
  if constexpr (kFolds<Codec>) {
    if (s.operands > 1) return fold.Result();
  }
  return v;
}

template <typename Codec>
__device__ __forceinline__ void StepLl(Block& b, const ProgramStep& s, int step, u32 round, u32 bytes) {
  const u32 packs = (bytes + 7) / 8;
  for (u32 i = threadIdx.x; i < packs; i += blockDim.x) {
    const u32 valid = bytes - i * 8 < 8 ? bytes - i * 8 : 8;
    const Pack<2> v = GatherLl<Codec>(b, s, step, round, i, valid);
    for (int t = 0; t < s.targets; ++t) SendLl(b, b.p.target(s.first_target + t), round, i, v);
    if (s.stores) StorePack(b.Output(s, round) + i * 8, v, valid, b.Item().element);
  }
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_STEP_LL_CUH_
