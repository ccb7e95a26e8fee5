// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_KERNEL_CUH_
#define TUTTI_EXEC_GPU_KERNEL_CUH_

// Kernel level: the interpreter. One block, one channel.

#include "exec/gpu/step_ll.cuh"
#include "exec/gpu/step_ll128.cuh"
#include "exec/gpu/step_simple.cuh"
#include "proto/protocol.h"
#ifdef TUTTI_MOVE
#include "exec/gpu/bulk.cuh"
#endif

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

// Divides this channel's part of the finished output: the end of an integer average.
template <typename Codec>
__device__ __noinline__ void DivideOutput(const Program& p, u64 first, u64 count) {
  if constexpr (kDivides<Codec>) {
    __syncthreads();
    constexpr u32 kUnit = Codec::kWords * 4;
    std::byte* out = p.out + first * p.element;
    const u64 bytes = count * p.element;
    for (u64 at = threadIdx.x * u64{kUnit}; at < bytes; at += blockDim.x * u64{kUnit}) {
      const u32 valid = bytes - at < kUnit ? static_cast<u32>(bytes - at) : kUnit;
      Pack<2> v = LoadBytes<2>(out + at, valid);
      Codec::Pack(Codec::Divided(Codec::Unpack(v.w), p.divisor), v.w);
      StoreElements(out + at, v, valid, p.element);
    }
  }
}

// Small operations wait for their position and for their input; so both are asked for at once.
__device__ __forceinline__ void Prefetch(const Program& p) {
  const ProgramStep s = p.step(0);
  const ProgramOperand operand = p.operand(s.first_operand);
  if (operand.kind != ProgramOperand::kIn) return;
  const u64 block = p.parts[blockIdx.x < p.full_parts ? 0 : 1].block;
  const u64 element = operand.index * p.count + blockIdx.x * p.part_elements + operand.block * block;
  constexpr u32 kLine = 128;
  const u64 bytes = block * p.element;
  if (u64{threadIdx.x} * kLine >= bytes) return;
  asm volatile("prefetch.global.L1 [%0];" ::"l"(p.in + element * p.element + threadIdx.x * kLine));
}

// The launch of this kernel and of the next one in the stream may overlap the kernel before them (Launcher); memory is
// touched only after that one has ended. From Hopper on; earlier GPUs never overlap them.
__device__ __forceinline__ void WaitForPreviousKernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <typename Codec, proto::Protocol kProtocol>
__device__ __forceinline__ void RunProgram(const Program& p) {
  WaitForPreviousKernel();
  Block b(p);
  Prefetch(p);
  if (p.captured != 0 && threadIdx.x == 0) CountUp(b.Counts().captured_begun);
  if (kScales<Codec> && p.scale == kScaleFromMemory) ReadFactor(p);
  const u64 round_units = static_cast<u64>(p.messages_per_round) * p.message_units;
  const u64 ring = static_cast<u64>(b.mask) + 1;
  // Within an operation of several rounds peers count on all that lies before it.
  if (b.base - b.published >= (p.rounds > 1 ? 1 : ring / 4)) b.Publish(b.base);
#if defined(TUTTI_MOVE) && __CUDA_ARCH__ >= 900
  if constexpr (kProtocol == proto::Protocol::kSimple) {
    if (p.bulk != 0) {
      RunBulk(b);
      return b.Leave();
    }
  }
#endif
  if (p.rounds == 1) b.MakeRoom(b.base + round_units);
  const u32 slots = p.rounds + p.max_stage;
  for (u32 slot = 0; slot < slots; ++slot) {
    if (p.rounds > 1) b.MakeRoom(b.base + (slot + 1 < p.rounds ? slot + 1 : p.rounds) * round_units);
    for (int step = 0; step < p.steps; ++step) {
      const u32 round = slot - p.step(step).stage;
      if (round < p.rounds) RunStep<Codec, kProtocol>(b, step, round);  // also where the difference is negative
    }
    if (p.rounds > 1 && slot >= p.max_stage) {
      __syncthreads();
      b.Publish(b.base + (slot - p.max_stage + 1) * round_units);
    }
  }
  if (kDivides<Codec> && p.divisor > 1 && p.out != nullptr) DivideOutput<Codec>(p, b.first, b.part.count);
  b.Leave();
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_KERNEL_CUH_
