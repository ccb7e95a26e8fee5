// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_BLOCK_CUH_
#define TUTTI_EXEC_GPU_DEVICE_BLOCK_CUH_

// Block level: where a channel is in its program, where data and messages lie, and how to wait.

#include "exec/gpu/device/pack.cuh"
#include "exec/gpu/format/program.h"

namespace tutti::exec::gpu {

using transport::p2p::ChannelState;
using transport::p2p::kLog2Flags;
using transport::p2p::LaunchCounts;
using transport::p2p::Place;

// One thread's patience. Looks at the host's abort flag and at the clock once in kPollsPerLook polls only: the flag lies
// across PCIe.
struct Patience {
  u32 polls = 0;     // above kPollsPerLook: where it looked last
  u64 since_ns = 0;  // when it first looked; kGone: the operation was given up, nothing is waited for any more
};

// Slow functions take and return values, so that the position stays in registers. They are not static: nvcc would give them names that
// depend on the folder of the source, and builds in different folders would differ.
//
// Whether the operation has been given up, by the host or now by this thread. Returns when it first looked, or
// kGone.
static constexpr u64 kGone = ~0ull;
inline __device__ __noinline__ u64 LookUp(u64 since_ns, HostWords* words, u64 timeout_ns, u64 number, int what,
                                          u32 place, int peer) {
  const u64 now = GlobalNs();
  if (since_ns == 0) since_ns = now;
  volatile HostWords* host = words;
  if (host->abort != 0) return kGone;
  if (now - since_ns >= kToldNs) host->waits[peer] = PackWait(what, blockIdx.x, number, now - since_ns);
  if (now - since_ns <= timeout_ns) return since_ns;
  if (host->failure == 0)
    host->failure = PackFailure(what, blockIdx.x, place, peer);  // what came first led to the others
  return kGone;
}
// What PlaceInRound is made of: where a kernel waits needs no register of its own.
struct Where {
  int place;
  u32 round;
};
// After a poll in vain. False: stop waiting. P: Program or Group.
template <typename P>
__device__ __forceinline__ bool KeepWaiting(Patience& patience, const P& p, int what, const Where& where, int peer) {
  if (patience.since_ns == kGone) return false;
  Pause(what, where.place, peer);
  if ((++patience.polls & (kPollsPerLook - 1)) != 0) return true;
  const u32 place = PlaceInRound(where.place, where.round), now = place * kPollsPerLook;
  if (patience.polls - kPollsPerLook != now) patience.since_ns = 0;  // it has got on since
  patience.polls = now;
  patience.since_ns = LookUp(patience.since_ns, p.host, p.timeout_ns, p.number, what, place, peer);
  return patience.since_ns != kGone;
}

// Notes which call has begun, for who asks (LaunchCounts). P: Program or Links.
template <typename P>
__device__ __forceinline__ void NoteBegun(const P& p) {
  if (p.number == 0 || blockIdx.x != 0 || threadIdx.x != 0) return;
  auto* counts = reinterpret_cast<LaunchCounts*>(p.segments[p.rank] + p.counts);
  __stcg(reinterpret_cast<u64*>(&counts->begun), u64{p.number});
}

// Waits until every peer has consumed all but what a ring holds of the units before `end`. Returns up to where there is
// room now. All threads of a warp together, which ask for a peer each; warps may come to see different values. round: that
// needs it.
inline __device__ __noinline__ u64 WaitForRoom(const Program& p, u64 end, u32 round) {
  const u64 ring = u64{1} << p.log2_ring_units;
  const u32 peers = p.ranks - 1, lane = threadIdx.x & 31;
  u32 beyond = ~0u;  // how far behind `end` the room goes
  if (lane < peers) {
    Patience patience;
    const int peer = lane < p.rank ? lane : lane + 1;
    const std::byte* word = p.segments[p.rank] + p.credits + (blockIdx.x * peers + lane) * 8;
    u64 room;
    while ((room = LoadAcquire8(word) + ring) < end && !TUTTI_PLANT(kNoRoomForSteps)) {
      if (!KeepWaiting(patience, p, kWaitedForRoom, {0, round}, peer)) {
        room = end + ~0u;
        break;
      }
    }
    if (room - end < ~0u) beyond = static_cast<u32>(room - end);
  }
  return end + __reduce_min_sync(~0u, beyond);
}

// One thread's part of telling all peers that everything before `units` has been consumed: for its numbers below the
// number of peers.
__device__ __forceinline__ void PublishFrom(const Program& p, u32 thread, u64 units) {
  const u32 peers = p.ranks - 1;
  if (thread >= peers) return;
  const int peer = thread < p.rank ? thread : thread + 1;
  std::byte* words = p.segments[peer] + p.credits;
  StoreShared8(words + (blockIdx.x * peers + Place(peer, p.rank)) * 8, units);
}

struct Block {
  const Program& p;
  const BatchItem* const items;  // of a batch; null: the program's own
  u32 index;                     // of the item at hand
  ProgramPart part;
  u64 first;  // element where this channel's part begins
  u64 base, safe, published, messages;
  u32 mask;  // of ring units
  Patience patience;

  // For part `number` of an item.
  __device__ __forceinline__ Block(const Program& program, const BatchItem* items, u32 index, u32 number)
      : p(program), items(items) {
    Choose(index, number);
    mask = (1u << p.log2_ring_units) - 1;
    const auto* at = reinterpret_cast<const ulonglong2*>(State());
    const ulonglong2 a = __ldcg(at), b = __ldcg(at + 1);
    base = a.x;
    safe = a.y;
    published = b.x;
    messages = b.y;
  }

  __device__ __forceinline__ const ProgramItem& Item() const {
    return items == nullptr ? static_cast<const ProgramItem&>(p) : items[index];
  }
  __device__ __forceinline__ void Choose(u32 item, u32 number) {
    index = item;
    part = Item().parts[number < Item().full_parts ? 0 : 1];
    first = number * Item().part_elements;
  }
  // What an item takes on every link.
  __device__ __forceinline__ u64 RoundUnits() const {
    return static_cast<u64>(p.messages_per_round) * Item().message_units;
  }
  __device__ __forceinline__ u64 Messages() const { return static_cast<u64>(Item().rounds) * p.messages_per_round; }
  __device__ __forceinline__ ChannelState* State() const {
    return reinterpret_cast<ChannelState*>(p.segments[p.rank] + p.states) + blockIdx.x;
  }
  __device__ __forceinline__ LaunchCounts& Counts() const {
    return *reinterpret_cast<LaunchCounts*>(p.segments[p.rank] + p.counts);
  }
  __device__ __forceinline__ u32 Peers() const { return p.ranks - 1; }
  // Ring of what `peer` sends here, and of what is sent to it.
  __device__ __forceinline__ std::byte* RingFrom(int peer) const {
    return p.segments[p.rank] + p.rings + static_cast<u64>(blockIdx.x * Peers() + Place(p.rank, peer)) * p.ring_bytes;
  }
  __device__ __forceinline__ std::byte* RingTo(int peer) const {
    return p.segments[peer] + p.rings + static_cast<u64>(blockIdx.x * Peers() + Place(peer, p.rank)) * p.ring_bytes;
  }
  // First unit of a message.
  __device__ __forceinline__ u64 Unit(u32 round, u32 message) const {
    if (TUTTI_PLANT(kRoundLeftOut)) round = 0;
    return base + (static_cast<u64>(round) * p.messages_per_round + message) * Item().message_units;
  }
  // Bytes that a step works on in a round.
  __device__ __forceinline__ u32 Length(const ProgramStep& s, u32 round) const {
    const u64 begin = s.block * part.block + round * Item().chunk;
    const u64 block_end = (s.block + 1) * part.block;
    const u64 end = block_end < part.count ? block_end : part.count;
    if (begin >= end) return 0;
    const u64 elements = end - begin < Item().chunk ? end - begin : Item().chunk;
    return static_cast<u32>(elements) * Item().element;
  }
  __device__ __forceinline__ u64 Offset(u32 piece, u32 block, u32 round) const {
    return (piece * Item().count + first + block * part.block + round * Item().chunk) * Item().element;
  }
  __device__ __forceinline__ const std::byte* Local(const ProgramOperand& operand, u32 round) const {
    return (operand.kind == ProgramOperand::kIn ? Item().in : Item().out) + Offset(operand.index, operand.block, round);
  }
  __device__ __forceinline__ std::byte* Output(const ProgramStep& s, u32 round) const {
    return Item().out + Offset(s.piece, s.block, round);
  }

  // Tells all peers that everything before `units` has been consumed. REQUIRES: the block's threads have done so, with
  // a barrier since.
  __device__ __forceinline__ void Publish(u64 units) {
    PublishBy(threadIdx.x, units);
    published = units;
  }
  __device__ __forceinline__ void PublishBy(u32 thread, u64 units) const { PublishFrom(p, thread, units); }

  // Waits until all peers' rings have room up to `end`, for a round. Called by all threads of the block with the same values.
  __device__ __forceinline__ void MakeRoom(u64 end, u32 round) {
    if (end > safe) safe = WaitForRoom(p, end, round);
  }

  // The item at hand is done: to part 0 of the next one.
  __device__ __forceinline__ void GoOn(u32 item) {
    base += Messages() * Item().message_units;
    messages += Messages();
    Choose(item, 0);
  }

  // Everything is done: the position for the next operation.
  __device__ __forceinline__ void Leave() {
    const u64 round_messages = Messages();
    __syncthreads();
    if (threadIdx.x == 0) {
      auto* at = reinterpret_cast<ulonglong2*>(State());
      __stcg(at, make_ulonglong2(base + round_messages * Item().message_units, safe));
      __stcg(at + 1, make_ulonglong2(published, messages + round_messages));
      CountUp(p.captured != 0 ? Counts().captured_ended : Counts().ended);
    }
  }
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_BLOCK_CUH_
