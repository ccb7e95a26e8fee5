// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_KERNEL_CUH_
#define TUTTI_EXEC_GPU_DEVICE_KERNEL_CUH_

// Kernel level: the interpreter. One block, one channel.

#include "exec/gpu/device/short_form.cuh"
#include "exec/gpu/device/step_ll.cuh"
#include "exec/gpu/device/step_ll128.cuh"
#include "exec/gpu/device/step_simple.cuh"
#include "proto/protocol.h"

namespace tutti::exec::gpu {

template <typename Codec, proto::Protocol kProtocol>
__device__ __forceinline__ void RunStep(Block& b, int step, u32 round) {
  const ProgramStep s = b.p.step(step);
  const u32 bytes = b.Length(s, round);
  if (bytes == 0) return;
  if constexpr (kProtocol == proto::Protocol::kLl) StepLl<Codec>(b, s, step, round, bytes);
  if constexpr (kProtocol == proto::Protocol::kLl128) StepLl128<Codec>(b, s, step, round, bytes);
  if constexpr (kProtocol == proto::Protocol::kSimple) StepSimple<Codec>(b, s, step, round, bytes);
}

// Divides a channel's part of the finished output: the end of an integer average.
template <typename Codec>
__device__ __noinline__ void DivideOutput(std::byte* out, u64 bytes, u32 element, u32 divisor) {
  if constexpr (kDivides<Codec>) {
    if (!TUTTI_PLANT(kNoBarrierBeforeDivision)) __syncthreads();
    constexpr u32 kUnit = Codec::kWords * 4;
    for (u64 at = threadIdx.x * u64{kUnit}; at < bytes; at += blockDim.x * u64{kUnit}) {
      const u32 valid = bytes - at < kUnit ? static_cast<u32>(bytes - at) : kUnit;
      Pack<2> v = LoadBytes<2>(out + at, valid);
      Codec::Pack(Codec::Divided(Codec::Unpack(v.w), divisor), v.w);
      StoreElements(out + at, v, valid, element);
    }
  }
}

// Small operations wait for their position and for their input; so both are asked for at once.
__device__ __forceinline__ void Prefetch(const Block& b) {
  const ProgramStep s = b.p.step(0);
  const ProgramOperand operand = b.p.operand(s.first_operand);
  if (operand.kind != ProgramOperand::kIn) return;
  constexpr u32 kLine = 128;
  if (u64{threadIdx.x} * kLine >= b.part.block * b.Item().element) return;
  PrefetchLine(b.Local(operand, 0) + threadIdx.x * kLine);
}

// The launch of this kernel may overlap the stream's kernel before it (Launcher); memory is touched only after that one has
// ended. The next one may be launched at once where this one has few blocks, so several small ones come to wait, which hides
// their launches; else when the one before has ended, so that no more than one large one waits (OverlapLimit). From Hopper on;
// earlier GPUs never overlap them. P: as of NoteBegun.
template <typename P>
__device__ __forceinline__ void WaitForPreviousKernel(const P& p) {
  if (gridDim.x <= kFewBlocks) LaunchNextGrid();
  AwaitPreviousGrid();
  LaunchNextGrid();
  NoteBegun(p);
}

// Whether peers are to be told how far this channel has come. Within an operation of several rounds they count on all
// that lies before it.
__device__ __forceinline__ bool OwesCredit(const Block& b) {
  const u64 ring = static_cast<u64>(b.mask) + 1;
  return b.base - b.published >= (b.Item().rounds > 1 ? 1 : ring / 4);
}

// The item at hand.
template <typename Codec, proto::Protocol kProtocol>
__device__ __forceinline__ void RunItem(Block& b) {
  const Program& p = b.p;
  const u64 round_units = b.RoundUnits();
  const u32 rounds = b.Item().rounds;
  if (rounds == 1) b.MakeRoom(b.base + round_units, 0);
  const u32 slots = rounds + p.max_stage;
  for (u32 slot = 0; slot < slots; ++slot) {
    if (rounds > 1) b.MakeRoom(b.base + (slot + 1 < rounds ? slot + 1 : rounds) * round_units, slot);
    for (int step = 0; step < p.steps; ++step) {
      const u32 round = slot - p.step(step).stage;
      if (round < rounds) RunStep<Codec, kProtocol>(b, step, round);  // also where the difference is negative
    }
    if (rounds > 1 && slot >= p.max_stage) {
      if (!TUTTI_PLANT(kNoBarrierBeforeCredit)) __syncthreads();
      b.Publish(b.base + (slot - p.max_stage + 1) * round_units);
    }
  }
  if (kDivides<Codec> && p.divisor > 1 && b.Item().out != nullptr) {
    const u32 element = b.Item().element;
    DivideOutput<Codec>(b.Item().out + b.first * element, b.part.count * element, element, p.divisor);
  }
}

template <typename Codec, proto::Protocol kProtocol>
__device__ __forceinline__ void RunProgram(const Program& p) {
  WaitForPreviousKernel(p);
  if constexpr (kProtocol != proto::Protocol::kSimple) {
    using Unit = std::conditional_t<kProtocol == proto::Protocol::kLl, LlUnit, Ll128Unit>;
    if (p.is_short == kShort) return RunShortForm<Codec, Unit, false>(p);
    if constexpr (kProtocol == proto::Protocol::kLl) {
      if (p.is_short == kShortTogether) return RunShortForm<Codec, Unit, true>(p);
    }
  }
  Block b(p, nullptr, 0, blockIdx.x);
  Prefetch(b);
  if (p.captured != 0 && threadIdx.x == 0) CountUp(b.Counts().captured_begun);
  if (kScales<Codec> && p.scale == kScaleFromMemory) ReadFactor(p, p.element);
  if (OwesCredit(b)) b.Publish(b.base);
  RunItem<Codec, kProtocol>(b);
  b.Leave();
}

// A channel's items, one after the other.
template <typename Codec, proto::Protocol kProtocol, int kItems>
__device__ __forceinline__ void RunBatch(const BatchOf<kItems>& batch) {
  const Program& p = batch.program;
  WaitForPreviousKernel(p);
  u32 item = batch.first_item[blockIdx.x];
  Block b(p, batch.items, item, blockIdx.x - batch.items[item].first_channel);
  Prefetch(b);
  if (p.captured != 0 && threadIdx.x == 0) CountUp(b.Counts().captured_begun);
  if (OwesCredit(b)) b.Publish(b.base);
  while (true) {
    RunItem<Codec, kProtocol>(b);
    item = batch.items[item].next;
    if (item == kNoItem) break;
    b.GoOn(item);
    if (!OwesCredit(b)) continue;
    __syncthreads();
    b.Publish(b.base);
  }
  b.Leave();
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_KERNEL_CUH_
