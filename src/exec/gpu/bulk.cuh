// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_BULK_CUH_
#define TUTTI_EXEC_GPU_BULK_CUH_

// Simple for plans whose steps only copy, on GPUs that have bulk copies (sm_90): a warp copies through shared memory with
// many pieces under way, so that a few blocks fill a link. The wire is that of step_simple.cuh: the two ends of a link
// need not do the same.
//
//   warp 0   sends: steps that read the input          memory --> stage --> peers' rings, output
//   warp 1   receives: steps that read a ring          ring --> stage --> output, peers' rings
//   warp 2   tells peers what warp 0 has sent          a fence and flags, while warp 0 goes on
//   warp 3   the same for what warp 1 passes on
//
// Each warp goes through its steps in the order of time slots. A piece is loaded when its message is there and its stage is
// free, and stored when the ring has room; neither waits for the other, so nobody holds up what a peer waits for.

#include "exec/gpu/step_simple.cuh"

namespace tutti::exec::gpu {

// A stage holds a piece. Half of a warp's stages are being loaded, the others stored. kLag pieces are stored after a
// message before its stores are waited for, of kMarks messages at most.
static constexpr u32 kStageBytes = 16384, kLag = 7, kMarks = 16;
// A look at whether a message has come takes as long as two pieces do, so it is left out while more wait to be stored.
static constexpr u32 kFewPieces = 2;
static constexpr u32 kAllStages = kBulkBytes / kStageBytes;

__device__ __forceinline__ u32 SharedAddress(const void* at) { return static_cast<u32>(__cvta_generic_to_shared(at)); }

__device__ __forceinline__ void InitBarrier(u64* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SharedAddress(barrier)) : "memory");
}
__device__ __forceinline__ void ExpectBytes(u64* barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void AwaitBarrier(u64* barrier, u32 parity) {
  u32 done;
  do {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(SharedAddress(barrier)), "r"(parity)
                 : "memory");
  } while (done == 0);
}
__device__ __forceinline__ void BulkLoad(std::byte* stage, const std::byte* from, u32 bytes, u64* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   SharedAddress(stage)),
               "l"(from), "r"(bytes), "r"(SharedAddress(barrier))
               : "memory");
}
__device__ __forceinline__ void BulkStore(std::byte* to, const std::byte* stage, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(SharedAddress(stage)),
               "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void BulkCommit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until all but the last N groups of stores have left their stages; are in memory.
template <int N>
__device__ __forceinline__ void AwaitRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
template <int N>
__device__ __forceinline__ void AwaitWritten() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void FenceProxies() { asm volatile("fence.proxy.async;" ::: "memory"); }

// The steps of one warp in order, and the place in one of them.
template <bool kReceives>
struct Cursor {
  const Block& b;
  ProgramStep s;
  u32 slot = 0, round = 0, bytes = 0, at = 0;
  int step = -1;
  bool done = false;

  __device__ __forceinline__ explicit Cursor(const Block& block) : b(block) { Next(); }
  // To the next step that has something to do.
  __device__ __forceinline__ void Next() {
    at = 0;
    for (;;) {
      if (++step >= b.p.steps) {
        step = -1;
        done = ++slot >= b.p.rounds + b.p.max_stage;
        if (done) return;
        continue;
      }
      s = b.p.step(step);
      if ((Operand().kind == ProgramOperand::kRecv) != kReceives) continue;
      round = slot - s.stage;
      if (round >= b.p.rounds) continue;  // also where the difference is negative
      bytes = b.Length(s, round);
      if (bytes != 0) return;
    }
  }
  __device__ __forceinline__ ProgramOperand Operand() const { return b.p.operand(s.first_operand); }
  // Bytes in whole vectors, and of the piece that begins here.
  __device__ __forceinline__ u32 Whole() const { return bytes & ~15u; }
  __device__ __forceinline__ u32 Piece(u32 most) const { return Whole() - at < most ? Whole() - at : most; }
};

// A place in a ring, and how far it is to the ring's end.
struct RingPlace {
  std::byte* ring;
  u32 offset, rest;
};
__device__ __forceinline__ RingPlace PlaceAt(const Block& b, std::byte* ring, u32 round, u32 message, u32 at) {
  const u32 unit = (static_cast<u32>(b.Unit(round, message)) + at / 16) & b.mask;
  return {ring, unit * 16, (b.mask + 1 - unit) * 16};
}

template <bool kReceives>
__device__ __forceinline__ void LoadPiece(const Cursor<kReceives>& c, u32 bytes, std::byte* stage, u64* barrier) {
  const ProgramOperand operand = c.Operand();
  ExpectBytes(barrier, bytes);
  if (bytes == 0) return;
  if constexpr (kReceives) {
    const RingPlace from = PlaceAt(c.b, c.b.RingFrom(operand.peer), c.round, operand.index, c.at);
    const u32 first = bytes < from.rest ? bytes : from.rest;
    BulkLoad(stage, from.ring + from.offset, first, barrier);
    if (first < bytes) BulkLoad(stage + first, from.ring, bytes - first, barrier);
  } else {
    BulkLoad(stage, c.b.Local(operand, c.round) + c.at, bytes, barrier);
  }
}

template <bool kReceives>
__device__ __forceinline__ void StorePiece(const Cursor<kReceives>& c, u32 bytes, const std::byte* stage) {
  const Program& p = c.b.p;
  for (int t = 0; t < c.s.targets && bytes != 0; ++t) {
    const ProgramTarget target = p.target(c.s.first_target + t);
    const RingPlace to = PlaceAt(c.b, c.b.RingTo(target.peer), c.round, target.message, c.at);
    const u32 first = bytes < to.rest ? bytes : to.rest;
    BulkStore(to.ring + to.offset, stage, first);
    if (first < bytes) BulkStore(to.ring, stage + first, bytes - first);
  }
  if (c.s.stores && bytes != 0) {
    std::byte* out = c.b.Output(c.s, c.round) + c.at;
    if (kReceives || out != c.b.Local(c.Operand(), c.round) + c.at) BulkStore(out, stage, bytes);
  }
  BulkCommit();
}

// What does not fill a vector at the end of a message. One thread.
template <bool kReceives>
__device__ __forceinline__ void CopyTail(const Cursor<kReceives>& c) {
  const u32 valid = c.bytes % 16, vector = c.bytes / 16;
  if (valid != 0) MoveVectors<MoveCodec, false, 1>(c.b, c.s, c.round, vector, 1, vector + 1, valid);
}

// Whether a message has come. All threads of a warp.
__device__ __forceinline__ bool HasCome(const Block& b, const ProgramOperand& operand, u32 round, u32 lane) {
  const u64 number = MessageNumber(b, round, operand.index);
  const std::byte* word = FlagWord(b.p.segments[b.p.rank], b.p, lane, Place(b.p.rank, operand.peer), number);
  const bool here = __all_sync(~0u, lane >= b.p.flag_groups || LoadAcquire8(word) == number + 1);
  __syncwarp();
  return here;
}

// Up to which unit all peers' rings have room. All threads of a warp.
__device__ __forceinline__ u64 RoomNow(const Block& b, u32 lane) {
  const u64 ring = static_cast<u64>(b.mask) + 1;
  u32 beyond = ~0u;  // beyond the operation's first unit
  if (lane < b.Peers()) {
    const std::byte* word = b.p.segments[b.p.rank] + b.p.credits + (blockIdx.x * b.Peers() + lane) * 8;
    const u64 room = LoadAcquire8(word) + ring;
    beyond = room < b.base ? 0 : room - b.base > ~0u ? ~0u : static_cast<u32>(room - b.base);
  }
  return b.base + __reduce_min_sync(~0u, beyond);
}

__device__ __forceinline__ void Tell(u32* mail, u32 messages) {
  asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"(SharedAddress(mail)), "r"(messages) : "memory");
}

// Warp 0 or 1. All its threads together; thread 0 does the copies.
template <bool kReceives, u32 kStages>
struct Conveyor {
  static constexpr u32 kAhead = (kStages + 1) / 2;

  Block& b;
  std::byte* stages;
  u64* full;   // a barrier per stage
  u32* mail;   // how many messages have been stored whole, for RunFlags
  u32* marks;  // pieces that had been stored when a message ended, for the last kMarks messages
  const u32 lane = threadIdx.x & 31;
  Cursor<kReceives> load, store;
  u32 loaded = 0, stored = 0;  // pieces
  u32 load_stage = 0, store_stage = 0, parity = 0;
  u32 ended = 0, told = 0;  // messages stored, and those that RunFlags knows of
  u32 slots = 0;            // that peers know of
  u64 safe;
  bool ready = false;  // the message that is loaded has come
  bool gone = false;   // the operation was given up: nothing is waited for

  __device__ __forceinline__ Conveyor(Block& block, std::byte* stages, u64* full, u32* mail, u32* marks)
      : b(block), stages(stages), full(full), mail(mail), marks(marks), load(block), store(block) {
    safe = b.safe;
  }

  // One piece into a stage. False: there is none to load now.
  __device__ __forceinline__ bool Load() {
    if (load.done || loaded - stored >= kAhead) return false;
    if (!ready) {
      if (kReceives && loaded - stored > kFewPieces) return false;
      ready = !kReceives || gone || HasCome(b, load.Operand(), load.round, lane);
      if (!ready) return false;
      if (kReceives) FenceProxies();
    }
    const u32 bytes = load.Piece(kStageBytes);
    if (lane == 0) {
      if (loaded >= kStages) AwaitRead<kStages - kAhead>();
      LoadPiece(load, bytes, stages + load_stage * kStageBytes, full + load_stage);
    }
    ++loaded;
    load_stage = load_stage + 1 == kStages ? 0 : load_stage + 1;
    load.at += bytes;
    if (load.at == load.Whole()) {
      load.Next();
      ready = false;
    }
    return true;
  }

  __device__ __forceinline__ bool HasRoom() {
    if (store.s.targets == 0 || gone) return true;
    const u64 round_units = static_cast<u64>(b.p.messages_per_round) * b.p.message_units;
    const u64 end = b.base + (store.round + 1) * round_units;
    if (end > safe) safe = RoomNow(b, lane);
    return end <= safe;
  }

  // One piece out of its stage. False: there is none, or no room for it.
  __device__ __forceinline__ bool Store() {
    if (stored == loaded || !HasRoom()) return false;
    const u32 bytes = store.Piece(kStageBytes);
    if (lane == 0) {
      AwaitBarrier(full + store_stage, parity);
      StorePiece(store, bytes, stages + store_stage * kStageBytes);
    }
    ++stored;
    store_stage = store_stage + 1 == kStages ? 0 : store_stage + 1;
    parity ^= store_stage == 0 ? 1 : 0;
    store.at += bytes;
    if (store.at != store.Whole()) return true;
    if (lane == 0) CopyTail(store);
    if (store.s.targets != 0) {
      marks[ended % kMarks] = stored;  // all threads write and read the same
      ++ended;
    }
    store.Next();
    return true;
  }

  // Tells peers of the time slots whose messages have all been loaded.
  __device__ __forceinline__ void GiveCredit() {
    const u32 passed = store.done ? b.p.rounds + b.p.max_stage : store.slot;
    if (passed <= slots || passed <= b.p.max_stage) return;
    __syncwarp();  // thread 0 has waited for the loads
    slots = passed;
    const u64 round_units = static_cast<u64>(b.p.messages_per_round) * b.p.message_units;
    b.PublishBy(lane, b.base + (slots - b.p.max_stage) * round_units);
  }

  // Tells RunFlags of messages whose stores have arrived. idle: nothing else is to be done meanwhile.
  __device__ __forceinline__ void TellOfEnded(bool idle) {
    if (told == ended) return;
    u32 arrived = told;
    if (idle || ended - told == kMarks) {
      arrived = ended;
      if (lane == 0) AwaitWritten<0>();
    } else {
      while (arrived != ended && stored - marks[arrived % kMarks] >= kLag) ++arrived;
      if (arrived == told) return;
      if (lane == 0) AwaitWritten<kLag>();
    }
    if (lane == 0) Tell(mail, arrived);
    told = arrived;
  }

  __device__ __forceinline__ void Wait() {
    const bool data = stored == loaded;
    const int step = data ? load.step : store.step;
    const int peer = data ? load.Operand().peer : b.p.target(store.s.first_target).peer;
    const bool stop = lane == 0 && !KeepWaiting(b.patience, b.p, data ? kWaitedForData : kWaitedForRoom, step, peer);
    gone |= __any_sync(~0u, stop);
  }

  __device__ __forceinline__ void Run() {
    while (!store.done) {
      bool moved = false;
      while (Load()) moved = true;
      moved |= Store();
      if (kReceives) GiveCredit();
      if (!moved && told == ended) Wait();
      TellOfEnded(!moved);
    }
    if (kReceives) GiveCredit();
    TellOfEnded(true);
    if (lane == 0) AwaitWritten<0>();
  }
};

// Warp 2 or 3: the flags of what the other warp has stored.
template <bool kReceives>
__device__ __forceinline__ void RunFlags(const Block& b, u32* mail) {
  const Program& p = b.p;
  const u32 lane = threadIdx.x & 31;
  u32 messages = 0, stored = 0;
  for (Cursor<kReceives> c(b); !c.done; c.Next()) {
    if (c.s.targets == 0) continue;
    ++messages;
    while (stored < messages) {
      asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(stored) : "r"(SharedAddress(mail)) : "memory");
      if (stored < messages) __nanosleep(40);
    }
    if (lane >= c.s.targets) continue;
    const ProgramTarget target = p.target(c.s.first_target + lane);
    const u64 number = MessageNumber(b, c.round, target.message);
    FenceProxies();
    FenceSystem();
    std::byte* word = FlagWord(p.segments[target.peer], p, 0, Place(target.peer, p.rank), number);
    for (u32 g = 0; g < p.flag_groups; ++g) StoreShared8(word + g * 8, number + 1);
  }
}

// The whole block, of 4 warps, with kBulkBytes of shared memory.
__device__ __forceinline__ void RunBulk(Block& b) {
  extern __shared__ __align__(128) std::byte bulk_memory[];
  __shared__ u64 full[kAllStages];
  __shared__ u32 mail[2];
  __shared__ u32 marks[2][kMarks];
  const Program& p = b.p;
  if (threadIdx.x < kAllStages) InitBarrier(full + threadIdx.x);
  if (threadIdx.x < 2) mail[threadIdx.x] = 0;
  FenceProxies();
  __syncthreads();
  constexpr u32 kHalf = kAllStages / 2;
  const bool both = p.bulk == (kBulkSends | kBulkReceives);
  switch (threadIdx.x / 32) {
    case 0:
      if (both) {
        Conveyor<false, kHalf>(b, bulk_memory, full, mail, marks[0]).Run();
      } else {
        Conveyor<false, kAllStages>(b, bulk_memory, full, mail, marks[0]).Run();
      }
      break;
    case 1:
      if (both) {
        Conveyor<true, kHalf>(b, bulk_memory + kHalf * kStageBytes, full + kHalf, mail + 1, marks[1]).Run();
      } else {
        Conveyor<true, kAllStages>(b, bulk_memory, full, mail + 1, marks[1]).Run();
      }
      break;
    case 2:
      RunFlags<false>(b, mail);
      break;
    default:
      RunFlags<true>(b, mail + 1);
  }
  b.published = b.base + static_cast<u64>(p.rounds) * p.messages_per_round * p.message_units;
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_BULK_CUH_
