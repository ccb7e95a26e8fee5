// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_RELAY_CUH_
#define TUTTI_EXEC_GPU_DEVICE_RELAY_CUH_

// Teams that play the roles of relay.h, each with a herald (transfer.cuh), which after every step tells the peers on both
// sides: that messages are there, and that places in rings are free.

#include "exec/gpu/device/transfer.cuh"
#include "exec/gpu/format/relay.h"

namespace tutti::exec::gpu {

// The first warp of a team deals with the links to sources, the second one with those to targets: a thread each.
static constexpr u32 kSourceWarp = 0, kTargetWarp = 1;

// What a team's threads need to know of its links: where its messages begin in their rings.
struct RelayPlaces {
  u32 source[kMaxRelayPeers + 1], target[kMaxRelayPeers + 1];
};

// A vector of a block and of a message of each link: from `bytes` on there is none.
struct RelayRange {
  u64 offset;  // in the block
  u32 bytes;
};

// Vectors of the input on their way into a ring, multiplied first.
template <typename Codec>
struct ScaledVectors : Vectors {
  const Relay& r;

  template <Way kWay, bool kWhole = true>
  __device__ __forceinline__ Pack<4> Load(u32 at) const {
    static_assert(kWhole);
    return ScalePack<Codec, 4>(Vectors::Load<kWay>(at), r);
  }
  template <Way kWay>
  __device__ __forceinline__ void MoveOne(u32 at, u32 valid) const {
    const Pack<4> v = ScalePack<Codec, 4>(LoadPack<4>(in + static_cast<u64>(at) * 16, valid), r);
    StoreOne<kWay>(at, valid, v);
  }
};

// Loads take a microsecond, so a thread has several of them under way. Moves: vectors of one link where it has so many of a
// message, else one each of several links. Folds: vectors of two operands.
static constexpr int kAtOnce = 4, kMovedVectors = 4, kFoldedOperands = 2;

// Vectors that are folded at a time: fewer where each has more accumulators, for want of registers.
template <typename Codec>
constexpr int FoldVectors() {
  if constexpr (kFolds<Codec>) {
    using Acc = typename Codec::Acc;
    constexpr int kAccumulators = Fold<Codec, 4>::kUnits * static_cast<int>(sizeof(Acc) / sizeof(Acc{}.v[0]));
    return kAccumulators <= 4 ? 4 : kAccumulators <= 8 ? 2 : 1;
  }
  return 4;
}

template <typename Codec>
struct RelayTeam {
  const Relay& r;
  const RelayRole& role;
  const LinkTeam& team;
  const u32 channel;
  const RelayPlaces& places;

  __device__ __forceinline__ RelayRange RangeOf(const RelayBlock& block, u32 step) const {
    const u64 slice = channel * r.slice, within = static_cast<u64>(step) * r.message, offset = slice + within;
    const u64 end = slice + r.slice < block.bytes ? slice + r.slice : block.bytes;
    if (offset >= end) return {0, 0};
    return {offset, end - offset < r.message ? static_cast<u32>(end - offset) : r.message};
  }
  __device__ __forceinline__ u32 Mask() const { return (1u << r.log2_ring_units[kSimple]) - 1; }
  __device__ __forceinline__ std::byte* Ring(int receiver, int sender, u32 first_channel) const {
    const u64 link = static_cast<u64>(first_channel + channel) * r.peers + LinkPlace(r, receiver, sender);
    return r.segments[receiver] + r.rings[kSimple] + link * r.ring_bytes[kSimple];
  }
  __device__ __forceinline__ std::byte* RingFrom(int k) const {
    return Ring(r.rank, role.source[k], role.source_channel);
  }
  __device__ __forceinline__ std::byte* RingTo(int k) const {
    return Ring(role.target[k], r.rank, role.target_channel);
  }

  // Of link k: what is moved in a step.
  template <Way kWay>
  __device__ __forceinline__ const RelayBlock& BlockOf(int k) const {
    return kWay == Way::kToRing ? r.send[k] : r.receive[k];
  }
  template <Way kWay>
  __device__ __forceinline__ Vectors VectorsOf(int k, u32 step, u64 offset) const {
    const RelayBlock& block = BlockOf<kWay>(k);
    std::byte* out = block.out == nullptr ? nullptr : block.out + offset;
    if constexpr (kWay == Way::kToRing) {
      return {RingTo(k), places.target[k] + step * r.units, Mask(), block.in + offset, out};
    }
    return {RingFrom(k), places.source[k] + step * r.units, Mask(), nullptr, out};
  }
  // A vector of each of `links` links for every thread, as long as there are so many before `end`. Returns how many those were.
  template <Way kWay>
  __device__ __forceinline__ u32 MoveLinks(int k, int links, u32 step, u64 offset, u32 end) const {
    u32 first = 0;
    for (; end - first >= team.threads; first += team.threads) {
      Pack<4> v[kAtOnce];
#pragma unroll
      for (int l = 0; l < kAtOnce; ++l) {
        if (l < links) v[l] = VectorsOf<kWay>(k + l, step, offset).template Load<kWay>(first + team.thread);
      }
#pragma unroll
      for (int l = 0; l < kAtOnce; ++l) {
        if (l < links) VectorsOf<kWay>(k + l, step, offset).template Store<kWay>(first + team.thread, v[l]);
      }
    }
    return first;
  }
  // Links k to k + links - 1: together what all of them have, then the rest of each.
  template <Way kWay>
  __device__ __forceinline__ void MoveStep(int k, int links, u32 step) const {
    u32 whole = r.message / 16;
    for (int l = 0; l < links; ++l) {
      const RelayBlock& block = BlockOf<kWay>(k + l);
      const u32 vectors = RangeOf(block, step).bytes / 16;
      const bool aligned = (kWay == Way::kFromRing || IsAligned(block.in, 16)) && IsAligned(block.out, 16);
      whole = !aligned ? 0 : vectors < whole ? vectors : whole;
    }
    const u64 offset = channel * r.slice + static_cast<u64>(step) * r.message;
    const bool few = links > 1 && whole < kMovedVectors * team.threads;
    const u32 moved = few ? MoveLinks<kWay>(k, links, step, offset, whole) : 0;
    for (int l = 0; l < links && !few; ++l) {
      Move<kWay, kMovedVectors>(team, VectorsOf<kWay>(k + l, step, offset), RangeOf(BlockOf<kWay>(k + l), step).bytes);
    }
    for (int l = 0; l < links && few; ++l) {
      const u32 bytes = RangeOf(BlockOf<kWay>(k + l), step).bytes;
      const Vectors vectors = VectorsOf<kWay>(k + l, step, offset);
      for (u32 i = moved + team.thread; i * 16 < bytes; i += team.threads) {
        vectors.template MoveOne<kWay>(i, bytes - i * 16 < 16 ? bytes - i * 16 : 16);
      }
    }
  }
  __device__ __forceinline__ void Send(u32 step) const {
    if constexpr (kScales<Codec>) {
      for (int k = 0; k < role.targets && r.scale != 0; ++k) {
        const RelayRange range = RangeOf(r.send[k], step);
        Move<Way::kToRing, 4>(team, ScaledVectors<Codec>{VectorsOf<Way::kToRing>(k, step, range.offset), r},
                              range.bytes);
      }
      if (r.scale != 0) return;
    }
#pragma unroll 1
    for (int k = 0; k < role.targets; k += kAtOnce) {
      MoveStep<Way::kToRing>(k, role.targets - k < kAtOnce ? role.targets - k : kAtOnce, step);
    }
  }
  __device__ __forceinline__ void Receive(u32 step) const {
#pragma unroll 1
    for (int k = 0; k < role.sources; k += kAtOnce) {
      MoveStep<Way::kFromRing>(k, role.sources - k < kAtOnce ? role.sources - k : kAtOnce, step);
    }
  }

  // Whether this thread has a j-th vector from `at` on.
  __device__ __forceinline__ bool Has(int j, u32 at, u32 end) const { return j == 0 || at + j * team.threads < end; }
  // Vectors at, at + threads, ... before `end`, and at least the first, of operand k of the fold. kWhole: aligned and complete, else
  // their first `valid` bytes.
  template <int N, bool kWhole>
  __device__ __forceinline__ void LoadOperand(int k, u32 step, const std::byte* in, u32 at, u32 end, u32 valid,
                                              Pack<4> (&v)[N]) const {
    if (k == r.own) {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        if (!Has(j, at, end)) break;
        const std::byte* from = in + static_cast<u64>(at + j * team.threads) * 16;
        if constexpr (kWhole) {
          LoadWhole(from, v[j]);
        } else {
          v[j] = LoadPack<4>(from, valid);
        }
      }
      if constexpr (kScales<Codec>) {
        if (r.scale == 0) return;
#pragma unroll
        for (int j = 0; j < N; ++j) v[j] = ScalePack<Codec, 4>(v[j], r);
      }
      return;
    }
    const int source = k > r.own ? k - 1 : k;
    const std::byte* ring = RingFrom(source);
    const u32 start = places.source[source] + step * r.units + at;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      if (!Has(j, at, end)) break;
      v[j] = LoadShared16(ring + static_cast<u64>((start + j * team.threads) & Mask()) * 16);
    }
  }
  // Likewise, of a result. Of the first vector the first `skip` bytes are not stored. kWhole: the output is aligned to 4 bytes.
  template <int N, bool kWhole>
  __device__ __forceinline__ void StoreOwned(const RelayRange& range, u32 at, u32 end, u32 valid, u32 skip,
                                             const Pack<4> (&v)[N]) const {
    std::byte* out = r.owned.out + range.offset;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      if (!Has(j, at, end)) break;
      std::byte* to = out + static_cast<u64>(at + j * team.threads) * 16;
      if constexpr (kWhole) {
        StoreInWords(to, v[j]);
      } else if (skip != 0) {
        StoreElements(to + skip, WithoutFirst(v[j], skip), valid - skip, r.element);
      } else {
        StorePack(to, v[j], valid, r.element);
      }
    }
  }
  // kOperands: that are loaded at once. Vectors that this thread does not have are folded from anything, and not stored.
  template <int kOperands, int N, bool kWhole>
  __device__ __forceinline__ void FoldBatch(u32 step, const RelayRange& range, u32 at, u32 end, u32 valid,
                                            u32 skip = 0) const {
    const std::byte* in = r.owned.in + range.offset;
    Pack<4> v[N];
    if constexpr (kFolds<Codec>) {
      const int operands = role.sources + (r.own != kNoInput ? 1 : 0);
      Fold<Codec, 4> sum[N];
#pragma unroll 1
      for (int k = 0; k < operands; k += kOperands) {
        Pack<4> w[kOperands][N];
#pragma unroll
        for (int o = 0; o < kOperands; ++o) {
          if (k + o < operands) LoadOperand<N, kWhole>(k + o, step, in, at, end, valid, w[o]);
        }
#pragma unroll
        for (int o = 0; o < kOperands; ++o) {
          if (k + o >= operands) break;
#pragma unroll
          for (int j = 0; j < N; ++j) {
            if (k + o == 0) {
              sum[j].Start(w[o][j]);
            } else {
              sum[j].Add(w[o][j]);
            }
          }
        }
      }
#pragma unroll
      for (int j = 0; j < N; ++j) {
        if constexpr (kDivides<Codec>) {
          if (r.divisor > 1) sum[j].Divide(r.divisor);
        }
        v[j] = sum[j].Result();
      }
    } else {
      LoadOperand<N, kWhole>(0, step, in, at, end, valid, v);
    }
#pragma unroll 1
    for (int k = 0; k < role.targets; ++k) {
      std::byte* ring = RingTo(k);
      const u32 start = places.target[k] + step * r.units + at;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        if (!Has(j, at, end)) break;
        StoreRing16(ring + static_cast<u64>((start + j * team.threads) & Mask()) * 16, v[j]);
      }
    }
    if (r.owned.out != nullptr) StoreOwned<N, kWhole>(range, at, end, valid, skip, v);
  }
  __device__ __forceinline__ void Own(u32 step) const {
    constexpr int kVectors = FoldVectors<Codec>();
    const RelayRange range = RangeOf(r.owned, step);
    const bool aligned = (r.own == kNoInput || IsAligned(r.owned.in, 16)) && IsAligned(r.owned.out, 4);
    const u32 first = r.skip != 0 && range.offset == 0 && range.bytes != 0 ? 1 : 0;
    const u32 whole = aligned ? range.bytes / 16 : 0;
#pragma unroll 1
    for (u32 i = first + team.thread; i < whole; i += team.threads * kVectors) {
      FoldBatch<kFoldedOperands, kVectors, true>(step, range, i, whole, 16);
    }
    // The others: the first one, where some of it is not stored, and those from `rest` on.
    const u32 rest = whole > first ? whole : first;
#pragma unroll 1
    for (u32 k = team.thread; k < first || (rest - first + k) * 16 < range.bytes; k += team.threads) {
      const u32 i = k < first ? 0 : rest - first + k, left = range.bytes - i * 16;
      FoldBatch<1, 1, false>(step, range, i, i + 1, left < 16 ? left : 16, i < first ? r.skip : 0);
    }
  }
  __device__ __forceinline__ void Play(u32 step) const {
    if (role.kind == RelayRole::kSend) {
      Send(step);
    } else if (role.kind == RelayRole::kOwner) {
      Own(step);
    } else {
      Receive(step);
    }
  }
};

// A thread's link, of the warps that have links.
struct RelayLink {
  LinkEnd end;
  bool used;
  Patience patience;

  // `stand`: as it was kept, where there is none.
  template <typename... Stand>
  __device__ __forceinline__ RelayLink(const Relay& r, const RelayRole& role, const LinkTeam& team, bool target,
                                       u32 index, u32 channel, const Stand&... stand)
      : end(r, {.kind = target ? GroupLane::kSend : GroupLane::kReceive, .peer = Peer(role, target, index)}, team,
            (target ? role.target_channel : role.source_channel) + channel, kSimple, stand...),
        used(Exists(role, target, index)) {}
  // A chain's rings are free once their receiver has ended all operations that used them: it says so by a credit, for which both
  // ends take it that a message as long as the ring has passed.
  __device__ __forceinline__ void Skip(const LentRings& lent) {
    if (lent.rings != 0) end.position += u64{end.mask} + 1;
  }
  __device__ __forceinline__ void Begin(const LentRings& lent, bool target) {
    if (lent.rings == 0) return;
    Skip(lent);
    if (target) {
      end.told = Poll<true>(end.CreditWord(), end.position, kWaitedForRoom, 0) + end.mask + 1;
    } else {
      StoreShared8(end.CreditWord(), end.position);
    }
  }
  __device__ __forceinline__ static bool Exists(const RelayRole& role, bool target, u32 index) {
    return index < (target ? role.targets : role.sources);
  }
  // That of another link where there is none, so that there is something to look up.
  __device__ __forceinline__ static u8 Peer(const RelayRole& role, bool target, u32 index) {
    if (Exists(role, target, index)) return target ? role.target[index] : role.source[index];
    return role.targets > 0 ? role.target[0] : role.source[0];
  }

  template <bool kAtLeast>
  __device__ __forceinline__ u64 Poll(const std::byte* word, u64 value, int what, u32 step) {
    u64 got;
    while (got = LoadAcquire8(word), kAtLeast ? got < value : got != value) {
      if (!KeepWaiting(patience, end.g, what, {0, step}, end.lane.peer)) break;
    }
    return got;
  }
  __device__ __forceinline__ void AwaitMessage(u32 step) {
    Poll<false>(end.FlagWord(end.messages + step), end.messages + step + 1, kWaitedForData, step);
  }
  __device__ __forceinline__ void AwaitRoom(u32 step, u32 units) {
    const u64 ring = static_cast<u64>(end.mask) + 1, need = end.position + (step + u64{1}) * units;
    if (need <= end.told || TUTTI_PLANT(kNoRoomForRelay)) return;
    end.told = Poll<true>(end.CreditWord(), need > ring ? need - ring : 0, kWaitedForRoom, step) + ring;
  }
};

// What a team has in shared memory. How far its links have come lies there too while it plays: its threads need their registers for
// vectors.
struct RelayShared {
  Mail mail;
  RelayPlaces places;
  LinkStand stands[2][32];  // of sources, of targets
  Patience patience[2][32];
};

// All threads of the herald's warp: thread i deals with source i and with target i.
__device__ __forceinline__ void RunRelayHerald(const Relay& r, const RelayRole& role, const LinkTeam& team, u32 channel,
                                               const Mail& mail) {
  const u32 lane = team.thread, warps = team.threads / 32;
  RelayLink source(r, role, team, false, lane, channel), target(r, role, team, true, lane, channel);
  source.Skip(r.lent);
  target.Skip(r.lent);
  for (u32 step = 0; step < r.steps; ++step) {
    while (!__all_sync(~0u, lane >= warps || static_cast<int>(Posted(mail.counts + lane) - (step + 1)) >= 0)) {
      __nanosleep(20);
    }
    if (!TUTTI_PLANT(kOnlyAVote)) __syncwarp();  // a vote orders no memory
    if (source.used) StoreShared8(source.end.CreditWord(), source.end.position + (step + u64{1}) * r.units);
    if (!target.used) continue;
    if (!TUTTI_PLANT(kNoFenceOfRelay)) FenceSystem();
    StoreShared8(target.end.FlagWord(target.end.messages + step), target.end.messages + step + 1);
  }
}

// The rings that this channel has borrowed, and those that no channel did: at both ends a message as long as the ring has
// passed. The whole team has read everything.
__device__ __forceinline__ void GiveBack(const Relay& r, const LinkTeam& team, u32 channel) {
  const LentRings& lent = r.lent;
  if (team.thread >= 2u * lent.each) return;
  const u32 peers = r.ranks - 1u, direction = team.thread & 1;  // 0: to the peer
  for (u32 ring = channel * lent.each + team.thread / 2; ring < lent.rings; ring += u32{r.slices} * lent.each) {
    const u32 link_channel = ring / peers, place = ring % peers;
    const int peer = static_cast<int>(place < r.rank ? place : place + 1);
    auto* state = reinterpret_cast<ChannelState*>(r.segments[r.rank] + lent.states) +
                  (direction * peers + place) * lent.channels + link_channel;
    const u64 position = state->base + lent.units;
    state->base = position;
    if (direction == 0) continue;
    state->safe = position;
    const u64 at_sender = static_cast<u64>(link_channel) * peers + Place(peer, r.rank);
    StoreShared8(r.segments[peer] + lent.credits + at_sender * 8, position);
  }
}

// Which link a thread of a team deals with, if any.
struct RelayDealer {
  u32 warp, index;
  bool target, deals;

  __device__ __forceinline__ RelayDealer(const RelayRole& role, const LinkTeam& team)
      : warp(team.thread / 32), index(team.thread % 32), target(warp == kTargetWarp) {
    deals = (warp == kSourceWarp || target) && RelayLink::Exists(role, target, index);
  }
};

// All threads of a team.
template <typename Codec>
__device__ __forceinline__ void PlayRelay(const Relay& r, const RelayRole& role, const LinkTeam& team, u32 channel,
                                          RelayShared& shared) {
  const RelayDealer dealer(role, team);
  LinkStand& stand = shared.stands[dealer.target][dealer.index];
  Patience& patience = shared.patience[dealer.target][dealer.index];
  if (dealer.deals) {
    patience = {};
    RelayLink link(r, role, team, dealer.target, dealer.index, channel);
    link.Begin(r.lent, dealer.target);
    stand = link.end;
    u32* places = dealer.target ? shared.places.target : shared.places.source;
    places[dealer.index] = static_cast<u32>(stand.position);
  }
  const RelayTeam<Codec> player{r, role, team, channel, shared.places};
#pragma unroll 1
  for (u32 step = 0; step < r.steps; ++step) {
    if (dealer.deals) {
      RelayLink link(r, role, team, dealer.target, dealer.index, channel, stand);
      link.patience = patience;
      if (dealer.target) {
        link.AwaitRoom(step, r.units);
        stand.told = link.end.told;
      } else {
        link.AwaitMessage(step);
      }
      patience = link.patience;
    }
    team.Sync();
    player.Play(step);
    if (!TUTTI_PLANT(kPostOfOneThread)) __syncwarp();
    if (dealer.index == 0) Post(shared.mail.counts + dealer.warp, step + 1);
  }
}

// All threads of a team, which has played all steps: how far its links have come.
__device__ __forceinline__ void EndRelay(const Relay& r, const RelayRole& role, const LinkTeam& team, u32 channel,
                                         const RelayShared& shared) {
  const RelayDealer dealer(role, team);
  if (dealer.deals) {
    RelayLink link(r, role, team, dealer.target, dealer.index, channel, shared.stands[dealer.target][dealer.index]);
    link.end.position += static_cast<u64>(r.steps) * r.units;
    link.end.messages += r.steps;
    if (!dealer.target) link.end.told = link.end.position;
    link.end.Keep();
  }
  GiveBack(r, team, channel);
  team.Sync();
  if (team.thread == 0) CountEnd(r);
}

template <typename Codec>
__device__ __forceinline__ void RunRelay(const Relay& r) {
  using All = RelayShared[kUsualTeams];
  TUTTI_SHARED(All, all);
  const LinkTeam team(r.first_warp, r.teams_per_block);
  if (threadIdx.x < kUsualTeams * kMostTeamWarps) {
    all[threadIdx.x / kMostTeamWarps].mail.counts[threadIdx.x % kMostTeamWarps] = 0;
  }
  if (kScales<Codec> && r.scale == kScaleFromMemory) ReadFactor(r, r.element);
  __syncthreads();
  const u32 number = team.number * r.blocks + blockIdx.x;
  if (number >= r.teams) return;
  if (r.captured != 0 && team.thread == 0 && !team.herald) CountUp(CountsOf(r).captured_begun);
  const u32 which = number / r.slices, channel = number - which * r.slices;
  const RelayRole& role = r.role[which];
  RelayShared& shared = all[team.number];
  if (team.herald) {
    RunRelayHerald(r, role, team, channel, shared.mail);
  } else {
    PlayRelay<Codec>(r, role, team, channel, shared);
  }
  team.SyncWithHerald();  // it has read the positions that are kept now
  if (!team.herald) EndRelay(r, role, team, channel, shared);
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_RELAY_CUH_
