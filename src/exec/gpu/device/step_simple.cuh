// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_STEP_SIMPLE_CUH_
#define TUTTI_EXEC_GPU_DEVICE_STEP_SIMPLE_CUH_

// A step with Simple: groups of 128 threads each move their part of a chunk, then one fence, then a word that says that
// the part is there. Groups do not wait for each other, so that one's fence overlaps with others' moves.
//
// That word is one of 2^kLog2Flags per link and group, chosen by the message's running number; it holds that number plus
// one. A message takes at least that share of the ring, so a word is free again when the ring's place is.
// A thread has the same 16-byte vectors of a chunk in every step, so a step may read what an earlier one stored.

#include "exec/gpu/device/block.cuh"
#include "exec/gpu/device/fold.cuh"

namespace tutti::exec::gpu {

// Vectors that a thread has under way, in folds and in moves.
static constexpr int kUnroll = 4;
static constexpr int kMoveUnroll = 8;

// A group of threads of the block: a kFlagGroups-th of them, or all, where those would not be whole warps.
struct Team {
  u32 number, teams, thread, threads;

  __device__ __forceinline__ explicit Team(u32 flag_groups) {
    teams = flag_groups;
    threads = blockDim.x / teams;
    number = threadIdx.x / threads;
    thread = threadIdx.x - number * threads;
  }
  __device__ __forceinline__ void Sync() const { BarrierSync(number + 1, threads); }
  // Its part of `vectors`: [begin, end).
  __device__ __forceinline__ u32 Begin(u32 vectors) const {
    const u32 each = (vectors + teams - 1) / teams;
    return number * each < vectors ? number * each : vectors;
  }
  __device__ __forceinline__ u32 End(u32 vectors) const {
    const u32 each = (vectors + teams - 1) / teams;
    return (number + 1) * each < vectors ? (number + 1) * each : vectors;
  }
};

__device__ __forceinline__ std::byte* FlagWord(std::byte* segment, const Program& p, u32 group, int place,
                                               u64 message) {
  const u64 link = blockIdx.x * (p.ranks - 1u) + place;
  const u64 flag = (link << kLog2Flags) + (message & ((1u << kLog2Flags) - 1));
  return segment + p.flags + (flag * transport::p2p::kFlagGroups + group) * 8;
}
__device__ __forceinline__ u64 MessageNumber(const Block& b, u32 round, u32 message) {
  return b.messages + static_cast<u64>(round) * b.p.messages_per_round + message;
}

// Thread k of the team waits for operand k. True where the team then needs a barrier.
__device__ __forceinline__ bool AwaitOperands(Block& b, const Team& team, const ProgramStep& s, int step, u32 round) {
  const Program& p = b.p;
  bool receives = false;
  for (int k = 0; k < s.operands; ++k) {
    const ProgramOperand operand = p.operand(s.first_operand + k);
    if (operand.kind != ProgramOperand::kRecv) continue;
    receives = true;
    if (team.thread != k) continue;
    const u64 number = MessageNumber(b, round, operand.index);
    const std::byte* word = FlagWord(p.segments[p.rank], p, team.number, Place(p.rank, operand.peer), number);
    while ((TUTTI_PLANT(kFlagWithoutAcquire) ? LoadShared8(word) : LoadAcquire8(word)) != number + 1) {
      if (TUTTI_PLANT(kAnyFlag) && LoadAcquire8(word) != 0) break;
      if (!KeepWaiting(b.patience, p, kWaitedForData, {step, round}, operand.peer)) break;
    }
  }
  return receives;
}

// Where operand k's vectors are: user memory, or a ring from `start` on.
struct Source {
  const std::byte* at;
  u32 start;
  bool ring;
};
__device__ __forceinline__ Source SourceOf(const Block& b, const ProgramOperand& operand, u32 round) {
  if (operand.kind == ProgramOperand::kRecv) {
    return {b.RingFrom(operand.peer), static_cast<u32>(b.Unit(round, operand.index)), true};
  }
  return {b.Local(operand, round), 0, false};
}

// Vectors i, i + stride, ... below `end` of an operand, N at most. kWhole: aligned and complete.
template <typename Codec, bool kWhole, int N>
__device__ __forceinline__ void LoadVectors(const Block& b, const ProgramOperand& operand, u32 round, u32 i, u32 stride,
                                            u32 end, u32 valid, Pack<4> (&v)[N]) {
  const Source source = SourceOf(b, operand, round);
  const bool scale = kScales<Codec> && b.p.scale != 0 && operand.kind == ProgramOperand::kIn;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const u32 at = i + j * stride;
    if (at >= end) break;
    if (source.ring) {
      v[j] = LoadShared16(source.at + static_cast<u64>((source.start + at) & b.mask) * 16);
    } else if constexpr (kWhole) {
      LoadWhole(source.at + static_cast<u64>(at) * 16, v[j]);
    } else {
      v[j] = LoadPack<4>(source.at + static_cast<u64>(at) * 16, valid);
    }
  }
  if constexpr (kScales<Codec>) {
    if (scale) {
#pragma unroll
      for (int j = 0; j < N; ++j) v[j] = ScalePack<Codec, 4>(v[j], b.p);
    }
  }
}

// Vectors i, i + stride, ... below `end` of the step's value, N at most.
template <typename Codec, bool kWhole, int N, bool kFold = true>
__device__ __forceinline__ void MoveVectors(const Block& b, const ProgramStep& s, u32 round, u32 i, u32 stride, u32 end,
                                            u32 valid) {
  const Program& p = b.p;
  Pack<4> v[N] = {};
  LoadVectors<Codec, kWhole, N>(b, p.operand(s.first_operand), round, i, stride, end, valid, v);
  if constexpr (kFolds<Codec> && kFold) {
    if (s.operands > 1) {
      Fold<Codec, 4> fold[N];
#pragma unroll
      for (int j = 0; j < N; ++j) fold[j].Start(v[j]);
      for (int k = 1; k < s.operands; ++k) {
        LoadVectors<Codec, kWhole, N>(b, p.operand(s.first_operand + k), round, i, stride, end, valid, v);
#pragma unroll
        for (int j = 0; j < N; ++j) fold[j].Add(v[j]);
      }
#pragma unroll
      for (int j = 0; j < N; ++j) v[j] = fold[j].Result();
    }
  }
  for (int t = 0; t < s.targets; ++t) {
    const ProgramTarget target = p.target(s.first_target + t);
    std::byte* ring = b.RingTo(target.peer);
    const u32 start = static_cast<u32>(b.Unit(round, target.message));
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const u32 at = i + j * stride;
      if (at < end) StoreRing16(ring + static_cast<u64>((start + at) & b.mask) * 16, v[j]);
    }
  }
  if (!s.stores) return;
  std::byte* out = b.Output(s, round);
#pragma unroll
  for (int j = 0; j < N; ++j) {
    const u32 at = i + j * stride;
    if (at >= end) break;
    if constexpr (kWhole) {
      StoreWhole(out + static_cast<u64>(at) * 16, v[j]);
    } else {
      StorePack(out + static_cast<u64>(at) * 16, v[j], valid, b.Item().element);
    }
  }
}

// Whether all user memory that a step touches is aligned to vectors.
__device__ __forceinline__ bool StepIsAligned(const Block& b, const ProgramStep& s, u32 round) {
  bool aligned = s.stores == 0 || IsAligned(b.Output(s, round), 16);
  for (int k = 0; k < s.operands; ++k) {
    const ProgramOperand operand = b.p.operand(s.first_operand + k);
    if (operand.kind != ProgramOperand::kRecv) aligned &= IsAligned(b.Local(operand, round), 16);
  }
  return aligned;
}

// Whole vectors [begin, end) of the step's value by the team's threads.
template <typename Codec>
__device__ __forceinline__ void MoveRange(const Block& b, const Team& team, const ProgramStep& s, u32 round, u32 begin,
                                          u32 end) {
  if (!StepIsAligned(b, s, round)) {
    for (u32 i = begin + team.thread; i < end; i += team.threads) {
      MoveVectors<Codec, false, 1>(b, s, round, i, 1, i + 1, 16);
    }
  } else if (s.operands == 1) {
    for (u32 i = begin + team.thread; i < end; i += team.threads * kMoveUnroll) {
      MoveVectors<Codec, true, kMoveUnroll, false>(b, s, round, i, team.threads, end, 16);
    }
  } else {
    for (u32 i = begin + team.thread; i < end; i += team.threads * kUnroll) {
      MoveVectors<Codec, true, kUnroll>(b, s, round, i, team.threads, end, 16);
    }
  }
}

template <typename Codec>
__device__ __forceinline__ void StepSimple(Block& b, const ProgramStep& s, int step, u32 round, u32 bytes) {
  const Team team(b.p.flag_groups);
  if (AwaitOperands(b, team, s, step, round) && !TUTTI_PLANT(kNoBarrierBehindFlag)) team.Sync();
  const u32 whole = bytes / 16;
  MoveRange<Codec>(b, team, s, round, team.Begin(whole), team.End(whole));
  if (bytes % 16 != 0 && team.number == team.teams - 1 && team.thread == 0) {
    MoveVectors<Codec, false, 1>(b, s, round, whole, 1, whole + 1, bytes % 16);
  }
  if (s.targets == 0) return;
  if (!TUTTI_PLANT(kNoBarrierBeforeFlag)) team.Sync();
  if (team.thread < s.targets) {
    const ProgramTarget target = b.p.target(s.first_target + team.thread);
    const u64 number = MessageNumber(b, round, target.message);
    if (!TUTTI_PLANT(kNoFenceOfStep)) FenceSystem();
    StoreShared8(FlagWord(b.p.segments[target.peer], b.p, team.number, Place(target.peer, b.p.rank), number),
                 number + 1);
  }
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_STEP_SIMPLE_CUH_
