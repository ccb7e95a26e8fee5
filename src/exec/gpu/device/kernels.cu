// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of one element type, or of all moves. Compiled once for each: TUTTI_TYPE is the type's short name (see
// images.cc), TUTTI_SUM and so on are the codecs of its operators; for moves only TUTTI_MOVE is defined.

#include "exec/gpu/device/kernel.cuh"
#include "exec/gpu/device/relay.cuh"

namespace tutti::exec::gpu {

// The most threads that a block has. One block per multiprocessor is all that is asked for.
#define TUTTI_BOUNDS __launch_bounds__(512, 1)
#define TUTTI_JOIN(a, b, c, d) a##b##_##c##_##d
#define TUTTI_JOIN_ALL(a, b, c, d) TUTTI_JOIN(a, b, c, d)
#define TUTTI_NAME(op, type, protocol) TUTTI_JOIN_ALL(ncclTutti, op, type, protocol)
#define TUTTI_KERNEL(op, protocol, id, ...)                                                                       \
  extern "C" __global__ void TUTTI_BOUNDS TUTTI_NAME(op, TUTTI_TYPE, protocol)(const TUTTI_ARGUMENT(Program) p) { \
    RunProgram<__VA_ARGS__, proto::Protocol::id>(p);                                                              \
  }                                                                                                               \
  TUTTI_KERNEL_IS(TUTTI_NAME(op, TUTTI_TYPE, protocol), Program)
// Of batches: Batch or FewBatch.
#define TUTTI_BATCH_KERNEL(batch, op, protocol, id, ...)                                                               \
  extern "C" __global__ void TUTTI_BOUNDS TUTTI_NAME(op##batch, TUTTI_TYPE, protocol)(const TUTTI_ARGUMENT(batch) b) { \
    RunBatch<__VA_ARGS__, proto::Protocol::id>(b);                                                                     \
  }                                                                                                                    \
  TUTTI_KERNEL_IS(TUTTI_NAME(op##batch, TUTTI_TYPE, protocol), batch)
#define TUTTI_BATCH_KERNELS(batch, op, ...)                 \
  TUTTI_BATCH_KERNEL(batch, op, LL, kLl, __VA_ARGS__)       \
  TUTTI_BATCH_KERNEL(batch, op, LL128, kLl128, __VA_ARGS__) \
  TUTTI_BATCH_KERNEL(batch, op, Simple, kSimple, __VA_ARGS__)
#define TUTTI_KERNELS(op, ...)                 \
  TUTTI_KERNEL(op, LL, kLl, __VA_ARGS__)       \
  TUTTI_KERNEL(op, LL128, kLl128, __VA_ARGS__) \
  TUTTI_KERNEL(op, Simple, kSimple, __VA_ARGS__)

#define TUTTI_RELAY(op, ...)                                             \
  extern "C" __global__ void __launch_bounds__(kLargeThreads, 1)         \
      TUTTI_NAME(op, TUTTI_TYPE, Relay)(const TUTTI_ARGUMENT(Relay) r) { \
    WaitForPreviousKernel(r);                                            \
    RunRelay<__VA_ARGS__>(r);                                            \
  }                                                                      \
  TUTTI_KERNEL_IS(TUTTI_NAME(op, TUTTI_TYPE, Relay), Relay)

template <typename Op>
using I8 = IntegerCodec<signed char, Op>;
template <typename Op>
using U8 = IntegerCodec<u8, Op>;
template <typename Op>
using I32 = IntegerCodec<i32, Op>;
template <typename Op>
using U32 = IntegerCodec<u32, Op>;
template <typename Op>
using I64 = IntegerCodec<i64, Op>;
template <typename Op>
using U64 = IntegerCodec<u64, Op>;
template <typename Op>
using E4M3 = Fp8Codec<Op, true>;
template <typename Op>
using E5M2 = Fp8Codec<Op, false>;
template <typename Op>
using OrderedF32 = OrderedCodec<u32, 0x7f800000, Op>;
template <typename Op>
using OrderedF64 = OrderedCodec<u64, 0x7ff0000000000000, Op>;
template <typename Op>
using OrderedF16 = OrderedCodec<u16, 0x7c00, Op>;
template <typename Op>
using OrderedBF16 = OrderedCodec<u16, 0x7f80, Op>;
template <typename Op>
using OrderedE4M3 = OrderedCodec<u8, 0x7e, Op>;
template <typename Op>
using OrderedE5M2 = OrderedCodec<u8, 0x7c, Op>;

#if defined(TUTTI_MOVE)

#define TUTTI_TYPE bytes
TUTTI_KERNELS(Move, MoveCodec)
TUTTI_RELAY(Move, MoveCodec)
TUTTI_BATCH_KERNELS(Batch, Move, MoveCodec)
TUTTI_BATCH_KERNELS(FewBatch, Move, MoveCodec)

#define TUTTI_SEND_RECV(name, threads, kernel, batch)                                            \
  extern "C" __global__ void __launch_bounds__(threads, 1) name(const TUTTI_ARGUMENT(Group) g) { \
    WaitForPreviousKernel(g);                                                                    \
    RunGroup<GroupKernel::kernel, batch>(g);                                                     \
  }                                                                                              \
  TUTTI_KERNEL_IS(name, Group)
TUTTI_SEND_RECV(ncclTuttiSendRecv, kUsualThreads, kUsual, 8)
TUTTI_SEND_RECV(ncclTuttiSendRecvLarge, kLargeThreads, kLarge, 8)
TUTTI_SEND_RECV(ncclTuttiSendRecvWide, kWideThreads, kWide, 4)

// The trial at init: this rank's word goes to every peer, and the peers' words are waited for while all ranks' kernels
// run. One block; thread t deals with peer t.
extern "C" __global__ void ncclTuttiHandshake(const TUTTI_ARGUMENT(Handshake) h) {
  const int peer = threadIdx.x;
  if (peer >= h.ranks || peer == h.rank) return;
  StoreShared8(h.segments[peer] + h.peer_word[peer], h.token);
  const std::byte* word = h.segments[h.rank] + h.own_words + Place(h.rank, peer) * 8;
  const u64 begin = GlobalNs();
  bool seen;
  while (!(seen = LoadAcquire8(word) == h.token) && GlobalNs() - begin < h.timeout_ns) {
  }
  if (seen) h.seen[peer] = 1;
}
TUTTI_KERNEL_IS(ncclTuttiHandshake, Handshake)

#else

TUTTI_KERNELS(Sum, TUTTI_CODEC<SumOp>)
TUTTI_RELAY(Sum, TUTTI_CODEC<SumOp>)
TUTTI_BATCH_KERNELS(Batch, Sum, TUTTI_CODEC<SumOp>)
TUTTI_BATCH_KERNELS(FewBatch, Sum, TUTTI_CODEC<SumOp>)
TUTTI_KERNELS(Prod, TUTTI_CODEC<ProdOp>)
TUTTI_RELAY(Prod, TUTTI_CODEC<ProdOp>)
TUTTI_KERNELS(Max, TUTTI_ORDERED<MaxOp>)
TUTTI_RELAY(Max, TUTTI_ORDERED<MaxOp>)
TUTTI_KERNELS(Min, TUTTI_ORDERED<MinOp>)
TUTTI_RELAY(Min, TUTTI_ORDERED<MinOp>)

#endif

}  // namespace tutti::exec::gpu
