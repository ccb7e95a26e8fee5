// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_SHORT_LL_CUH_
#define TUTTI_EXEC_GPU_SHORT_LL_CUH_

// The short form of a plan (program.h) with LL: what step_ll.cuh does, for small operations. Those spend their time
// between the start of the kernel and the first store, a warp alone on its multiprocessor, where every instruction that
// needs the one before it costs five cycles and every number that is looked up in the plan a hundred. So loops are
// unrolled, and whatever is known to the host is there as a constant.

#include "exec/gpu/step_ll.cuh"

namespace tutti::exec::gpu {

// A channel's share of an operation.
template <typename Codec>
struct ShortLl {
  const Program& p;
  const ShortForm& form;
  const u64 ring, data;  // how far behind channel 0's
  const u32 mask, bytes;
  u64 base = 0;
  Patience patience;

  __device__ __forceinline__ explicit ShortLl(const Program& program)
      : p(program),
        form(program.short_form()),
        ring(u64{blockIdx.x} * form.ring_bytes),
        data(u64{blockIdx.x} * form.bytes[0]),
        mask((1u << program.log2_ring_units) - 1),
        bytes(form.bytes[blockIdx.x < program.full_parts ? 0 : 1]) {}

  __device__ __forceinline__ u32 Valid(u32 i) const { return bytes - i * 8 < 8 ? bytes - i * 8 : 8; }
  // Pack i of an input.
  __device__ __forceinline__ Pack<2> Input(u64 at, u32 i) const {
    Pack<2> v = LoadPack<2>(reinterpret_cast<const std::byte*>(at + data) + i * 8, Valid(i));
    if (kScales<Codec> && p.scale != 0) v = ScalePack<Codec, 2>(v, p);
    return v;
  }
  // Line i of a message, and its flag.
  __device__ __forceinline__ std::byte* Line(u64 at, u32 unit, u32 i) const {
    return reinterpret_cast<std::byte*>(at + ring) +
           ((static_cast<u32>(base) + unit + i) & mask) * sizeof(proto::LlLine);
  }
  __device__ __forceinline__ u32 Flag(u32 unit, u32 i) const {
    return transport::p2p::LlFlag(base + unit + i, p.log2_ring_units);
  }

  // Sends pack i to all; `v`: that of the first send.
  __device__ __forceinline__ void Send(u32 i, Pack<2> v) const {
#pragma unroll
    for (int k = 0; k < kMostShortSends; ++k) {
      if (k >= form.sends) break;
      const ShortSend& s = form.send[k];
      if (k > 0 && s.again == 0) v = Input(s.from, i);
      const u32 flag = Flag(s.unit, i);
      StoreShared16(Line(s.to, s.unit, i), {{v.w[0], flag, v.w[1], flag}});
    }
  }

  // The line of a take as it is now: an input's is complete.
  __device__ __forceinline__ Pack<4> Look(const ShortTake& t, u32 i) const {
    if (t.ring != 0) return LoadShared16(Line(t.at, t.unit, i));
    const Pack<2> v = Input(t.at, i);
    return {{v.w[0], Flag(t.unit, i), v.w[1], Flag(t.unit, i)}};
  }
  __device__ __forceinline__ Pack<2> Await(const ShortTake& t, int number, u32 i, Pack<4> line) {
    const u32 flag = Flag(t.unit, i);
    while (line.w[1] != flag || line.w[3] != flag) {
      if (!KeepWaiting(patience, p, kWaitedForData, number, t.peer)) break;
      line = LoadShared16(Line(t.at, t.unit, i));
    }
    return {{line.w[0], line.w[2]}};
  }
  // Takes pack i of all; several are asked for at once.
  __device__ __forceinline__ void Take(u32 i) {
    Fold<std::conditional_t<kFolds<Codec>, Codec, FloatCodec<SumOp>>, 2> fold;
#pragma unroll
    for (int first = 0; first < kMostShortTakes; first += kLlBatch) {
      if (first >= form.takes) break;
      Pack<4> line[kLlBatch];
#pragma unroll
      for (int k = 0; k < kLlBatch; ++k) {
        if (first + k < form.takes) line[k] = Look(form.take[first + k], i);
      }
#pragma unroll
      for (int k = 0; k < kLlBatch; ++k) {
        if (first + k >= form.takes) break;
        const ShortTake& t = form.take[first + k];
        Pack<2> v = Await(t, first + k, i, line[k]);
        if constexpr (kFolds<Codec>) {
          if (t.first == 0) {
            fold.Add(v);
          } else if (t.out == 0) {
            fold.Start(v);
          }
          if (t.out != 0 && t.first == 0) v = fold.Result();
        }
        if (t.out != 0) StorePack(reinterpret_cast<std::byte*>(t.out + data) + i * 8, v, Valid(i), p.element);
      }
    }
  }
};

template <typename Codec>
__device__ __forceinline__ void RunShortLl(const Program& p) {
  std::byte* own = p.segments[p.rank];
  auto* counts = reinterpret_cast<LaunchCounts*>(own + p.counts);
  auto* state = reinterpret_cast<ulonglong2*>(own + p.states) + blockIdx.x * 2;
  const ulonglong2 a = __ldcg(state), b = __ldcg(state + 1);
  if (p.captured != 0 && threadIdx.x == 0) CountUp(counts->captured_begun);
  ShortLl<Codec> c(p);
  Pack<2> v{};  // asked for before the position is there
  if (c.form.sends > 0 && threadIdx.x * 8 < c.bytes) v = c.Input(c.form.send[0].from, threadIdx.x);
  c.base = a.x;
  u64 safe = a.y, published = b.x;
  const u64 end = c.base + static_cast<u64>(p.messages_per_round) * p.message_units;
  if (c.base - published > c.mask / 4) {
    PublishFrom(p, threadIdx.x, c.base);
    published = c.base;
  }
  if (end > safe) safe = WaitForRoom(p, end);
  for (u32 i = threadIdx.x; i * 8 < c.bytes && c.form.sends > 0; i += blockDim.x) {
    if (i != threadIdx.x) v = c.Input(c.form.send[0].from, i);
    c.Send(i, v);
  }
  for (u32 i = threadIdx.x; i * 8 < c.bytes; i += blockDim.x) c.Take(i);
  __syncthreads();
  if (threadIdx.x == 0) {
    __stcg(state, make_ulonglong2(end, safe));
    __stcg(state + 1, make_ulonglong2(published, b.y + p.messages_per_round));
    CountUp(p.captured != 0 ? counts->captured_ended : counts->ended);
  }
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_SHORT_LL_CUH_
