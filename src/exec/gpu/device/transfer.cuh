// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_TRANSFER_CUH_
#define TUTTI_EXEC_GPU_DEVICE_TRANSFER_CUH_

// Sends and receives: one team of threads, one direction of one link on one channel.
//
// In the kernel for large transfers each team has a warp more, its herald, which tells the receiver that a message is
// there: the fence before that takes a microsecond, in which the team goes on with the next message.

#include "exec/gpu/device/step_ll128.cuh"
#include "exec/gpu/device/step_simple.cuh"
#include "exec/gpu/format/transfer.h"
#include "proto/protocol.h"

namespace tutti::exec::gpu {

// Some of a block's threads, which wait for each other only.
struct LinkTeam {
  u32 number, thread, threads;
  bool herald;  // this thread is its herald's, not its own

  __device__ __forceinline__ explicit LinkTeam(const Group& g) : threads(1u << g.log2_team_threads) {
    const u32 all = g.teams_per_block << g.log2_team_threads;
    herald = threadIdx.x >= all;
    number = herald ? (threadIdx.x - all) / 32 : threadIdx.x >> g.log2_team_threads;
    thread = threadIdx.x & ((herald ? 32 : threads) - 1);
  }
  // Its teams have warps first_warp[0] to first_warp[1] - 1 and so on, its heralds those behind the last.
  __device__ __forceinline__ LinkTeam(const std::uint8_t* first_warp, u32 teams) : number(0) {
    const u32 warp = threadIdx.x / 32, all = first_warp[teams];
    herald = warp >= all;
    if (herald) {
      number = warp - all;
    } else {
      while (warp >= first_warp[number + 1]) ++number;
    }
    thread = threadIdx.x - (herald ? warp : first_warp[number]) * 32;
    threads = (first_warp[number + 1] - first_warp[number]) * 32u;
  }
  __device__ __forceinline__ void Sync() const {
    if (threads == 32) {
      __syncwarp();
    } else {
      // 0 is the whole block's; there are 16, and teams of more than a warp are at most kUsualTeams.
      BarrierSync(number + 1, threads);
    }
  }
  // One place of the code for both, so that tools see that they meet.
  __device__ __forceinline__ void SyncWithHerald() const { BarrierSync(number + 1 + kUsualTeams, threads + 32); }
};

// Where each warp of a team counts the messages that it has stored, for the herald (Post, Posted): warps do not wait for
// each other.
struct Mail {
  u32 counts[kMostTeamWarps];
};
// A link's place among those of a channel, at `self`.
__device__ __forceinline__ int LinkPlace(const Links& g, int self, int peer) {
  return g.peers == 1 ? 0 : Place(self, peer);
}

// How far an end of a link has come, for one protocol.
struct LinkStand {
  u64 position;  // units that have been sent or received
  u64 told;      // sender: up to where there is room; receiver: the credit it last gave
  u64 messages;
};

// A team's end of its link, for one protocol.
struct LinkEnd : LinkStand {
  const Links& g;
  const GroupLane lane;
  const LinkTeam team;
  const u32 channel;
  const int protocol;
  u32 mask;

  __device__ __forceinline__ LinkEnd(const Links& links, const GroupLane& which, const LinkTeam& team, u32 channel,
                                     int protocol, const LinkStand& stand)
      : LinkStand(stand), g(links), lane(which), team(team), channel(channel), protocol(protocol) {
    mask = (1u << g.log2_ring_units[protocol]) - 1;
  }
  // As it was kept.
  __device__ __forceinline__ LinkEnd(const Links& links, const GroupLane& which, const LinkTeam& team, u32 channel,
                                     int protocol)
      : LinkEnd(links, which, team, channel, protocol, LinkStand{}) {
    const auto* at = reinterpret_cast<const ulonglong2*>(State());
    const ulonglong2 a = __ldcg(at), b = __ldcg(at + 1);
    position = a.x;
    told = a.y;
    messages = b.x;
  }
  __device__ __forceinline__ ChannelState* State() const {
    const u32 direction = lane.kind == GroupLane::kSend ? 0 : 1;
    const u32 link = direction * g.peers + LinkPlace(g, g.rank, lane.peer);
    return reinterpret_cast<ChannelState*>(g.segments[g.rank] + g.states[protocol]) + link * g.channels + channel;
  }
  __device__ __forceinline__ void Keep() const {
    auto* at = reinterpret_cast<ulonglong2*>(State());
    __stcg(at, make_ulonglong2(position, told));
    __stcg(at + 1, make_ulonglong2(messages, 0));
  }
  // The link's place at its receiver, and at its sender.
  __device__ __forceinline__ u64 AtReceiver() const {
    const bool send = lane.kind == GroupLane::kSend;
    return static_cast<u64>(channel) * g.peers +
           (send ? LinkPlace(g, lane.peer, g.rank) : LinkPlace(g, g.rank, lane.peer));
  }
  __device__ __forceinline__ u64 AtSender() const {
    const bool send = lane.kind == GroupLane::kSend;
    return static_cast<u64>(channel) * g.peers +
           (send ? LinkPlace(g, g.rank, lane.peer) : LinkPlace(g, lane.peer, g.rank));
  }
  __device__ __forceinline__ std::byte* Ring() const {
    std::byte* segment = g.segments[lane.kind == GroupLane::kSend ? lane.peer : g.rank];
    return segment + g.rings[protocol] + AtReceiver() * g.ring_bytes[protocol];
  }
  __device__ __forceinline__ std::byte* FlagWord(u64 message) const {
    std::byte* segment = g.segments[lane.kind == GroupLane::kSend ? lane.peer : g.rank];
    const u64 flag = (AtReceiver() << kLog2Flags) + (message & ((1u << kLog2Flags) - 1));
    return segment + g.flags + flag * transport::p2p::kFlagGroups * 8;
  }
  __device__ __forceinline__ std::byte* CreditWord() const {
    std::byte* segment = g.segments[lane.kind == GroupLane::kSend ? g.rank : lane.peer];
    return segment + g.credits[protocol] + AtSender() * 8;
  }
};

// Polls until the word reaches `value` (kAtLeast) or has it. One thread.
template <bool kAtLeast>
__device__ __forceinline__ u64 PollWord(const Links& g, const std::byte* word, u64 value, int what, const Where& where,
                                        int peer) {
  Patience patience;
  u64 got;
  while (got = LoadAcquire8(word), kAtLeast ? got < value : got != value) {
    if (!KeepWaiting(patience, g, what, where, peer)) break;
  }
  return got;
}

// The whole team: room for `units` more.
__device__ __forceinline__ void AwaitRoom(LinkEnd& end, u64 units, const Where& where) {
  using Credits = u64[kMostTeams];
  TUTTI_SHARED(Credits, credits);
  u64& credit = credits[end.team.number];
  const u64 ring = static_cast<u64>(end.mask) + 1;
  if (end.position + units <= end.told || TUTTI_PLANT(kNoRoomForTransfer)) return;
  end.team.Sync();
  if (end.team.thread == 0) {
    const u64 need = end.position + units > ring ? end.position + units - ring : 0;
    credit = PollWord<true>(end.g, end.CreditWord(), need, kWaitedForRoom, where, end.lane.peer);
  }
  end.team.Sync();
  end.told = credit + ring;
}

// The whole team has read everything before the position.
__device__ __forceinline__ void GiveCredit(LinkEnd& end) {
  if (!TUTTI_PLANT(kCreditOfOneThread)) end.team.Sync();
  if (end.team.thread == 0) StoreShared8(end.CreditWord(), end.position);
  end.told = end.position;
}

// What a transfer leaves to this channel.
struct Span {
  u64 begin, bytes;
};
__device__ __forceinline__ Span PartOf(const GroupTransfer& t, u32 channel) {
  const u64 part = u64{t.part_lines} * kPartLine;
  const u64 begin = channel * part;
  if (begin >= t.bytes) return {0, 0};
  return {begin, t.bytes - begin < part ? t.bytes - begin : part};
}

// 16-byte vectors between user memory and a ring, or from user memory to user memory.
enum class Way { kToRing, kFromRing, kCopy };
struct Vectors {
  std::byte* ring;
  u32 start, mask;  // of the ring, in vectors
  const std::byte* in;
  std::byte* out;  // may be null where the ring is written

  // kWhole: user memory is aligned to vectors.
  template <Way kWay, bool kWhole = true>
  __device__ __forceinline__ Pack<4> Load(u32 at) const {
    if constexpr (kWay == Way::kFromRing) return LoadShared16(ring + static_cast<u64>((start + at) & mask) * 16);
    if constexpr (!kWhole) return LoadAnywhere(in + static_cast<u64>(at) * 16);
    Pack<4> v;
    LoadWhole(in + static_cast<u64>(at) * 16, v);
    return v;
  }
  template <Way kWay, bool kWhole = true>
  __device__ __forceinline__ void Store(u32 at, const Pack<4>& v) const {
    if constexpr (kWay == Way::kToRing) StoreRing16(ring + static_cast<u64>((start + at) & mask) * 16, v);
    if (kWay == Way::kToRing && out == nullptr) return;
    if constexpr (kWhole) {
      StoreWhole(out + static_cast<u64>(at) * 16, v);
    } else {
      StoreAnywhere(out + static_cast<u64>(at) * 16, v);
    }
  }
  // The same for user memory of any alignment, and for less than a vector.
  template <Way kWay>
  __device__ __forceinline__ void MoveOne(u32 at, u32 valid) const {
    StoreOne<kWay>(at, valid,
                   kWay == Way::kFromRing ? Load<kWay>(at) : LoadPack<4, true>(in + static_cast<u64>(at) * 16, valid));
  }
  template <Way kWay>
  __device__ __forceinline__ void StoreOne(u32 at, u32 valid, const Pack<4>& v) const {
    if constexpr (kWay == Way::kToRing) StoreRing16(ring + static_cast<u64>((start + at) & mask) * 16, v);
    if (kWay != Way::kToRing || out != nullptr) StorePack<4, true>(out + static_cast<u64>(at) * 16, v, valid, 1);
  }
};

// From vector `first` on, as long as there are kBatch for every thread; then with smaller batches. Returns where it ended.
template <Way kWay, int kBatch, bool kWhole, typename V>
__device__ __forceinline__ u32 MoveBatches(const LinkTeam& team, const V& where, u32 first, u32 end) {
  const u32 batch = team.threads * kBatch;
  for (; end - first >= batch; first += batch) {
    Pack<4> v[kBatch];
    const u32 i = first + team.thread;
#pragma unroll
    for (int j = 0; j < kBatch; ++j) v[j] = where.template Load<kWay, kWhole>(i + j * team.threads);
#pragma unroll
    for (int j = 0; j < kBatch; ++j) where.template Store<kWay, kWhole>(i + j * team.threads, v[j]);
  }
  if constexpr (kBatch > 1) return MoveBatches<kWay, kBatch / 2, kWhole>(team, where, first, end);
  return first;
}

// kBatch: vectors that a thread has under way. V: Vectors, or like them. kAnywhere: also where user memory is not aligned, for which
// kernels that fold lack the registers.
template <Way kWay, int kBatch, bool kAnywhere = false, typename V = Vectors>
__device__ __forceinline__ void Move(const LinkTeam& team, const V& where, u32 bytes) {
  const bool aligned = (kWay == Way::kFromRing || IsAligned(where.in, 16)) && IsAligned(where.out, 16);
  u32 moved = 0;
  if (aligned) {
    moved = MoveBatches<kWay, kBatch, true>(team, where, 0, bytes / 16);
  } else if constexpr (kAnywhere) {
    // A rank's block of a buffer begins anywhere where the count is odd, or the ranks are 3.
    moved = MoveBatches<kWay, (kBatch > 4 ? 4 : kBatch), false>(team, where, 0, bytes / 16);
  }
  for (u32 i = moved + team.thread; i * 16 < bytes; i += team.threads) {
    where.template MoveOne<kWay>(i, bytes - i * 16 < 16 ? bytes - i * 16 : 16);
  }
}

// The receiver may read the message: all that happened before is visible to it. One thread.
__device__ __forceinline__ void Tell(const LinkEnd& end) {
  if (!TUTTI_PLANT(kNoFenceOfTransfer)) FenceSystem();
  StoreShared8(end.FlagWord(end.messages), end.messages + 1);
}

// `number`: of the transfer. `posted`: messages so far, which a team that has a herald counts instead of telling the receiver.
template <bool kHeralds, int kBatch>
__device__ __forceinline__ void TransferSimple(LinkEnd& end, const GroupTransfer& t, u32 number, const Span& part,
                                               Mail& mail, u32& posted) {
  const bool send = end.lane.kind == GroupLane::kSend;
  const u32 most = t.MessageBytes(), least_units = (end.mask + 1) >> kLog2Flags;
  std::byte* ring = end.Ring();
  Where where{static_cast<int>(number), 0};
  for (u64 at = 0; at < part.bytes; at += most, ++where.round) {
    const u32 bytes = part.bytes - at < most ? static_cast<u32>(part.bytes - at) : most;
    const u32 units = (bytes + 15) / 16 > least_units ? (bytes + 15) / 16 : least_units;
    const u32 start = static_cast<u32>(end.position);
    if (send) {
      AwaitRoom(end, units, where);
      std::byte* out = t.out == nullptr ? nullptr : t.out + part.begin + at;
      Move<Way::kToRing, kBatch, true>(end.team, {ring, start, end.mask, t.in + part.begin + at, out}, bytes);
      if constexpr (kHeralds) {
        __syncwarp();
        ++posted;
        if (end.team.thread % 32 == 0) Post(mail.counts + end.team.thread / 32, posted);
      } else {
        end.team.Sync();
        if (end.team.thread == 0) Tell(end);
      }
    } else {
      if (end.team.thread == 0) {
        PollWord<false>(end.g, end.FlagWord(end.messages), end.messages + 1, kWaitedForData, where, end.lane.peer);
      }
      end.team.Sync();
      Move<Way::kFromRing, kBatch, true>(end.team, {ring, start, end.mask, nullptr, t.out + part.begin + at}, bytes);
    }
    end.position += units;
    ++end.messages;
    if (!send) GiveCredit(end);
  }
}

// A warp's unit of LL128 in user memory. kInWords: see pack.cuh.
template <bool kInWords>
struct UserUnit {
  u64 at;        // from the transfer's beginning
  u32 valid[2];  // bytes of this thread's packs

  __device__ __forceinline__ UserUnit(const Share& share, const Span& part, u64 unit)
      : at(part.begin + unit * kUnitData) {
    const u64 rest = part.begin + part.bytes - at;
    const u32 bytes = rest < kUnitData ? static_cast<u32>(rest) : kUnitData;
    valid[0] = ValidBytes(share.offset[0], bytes);
    valid[1] = share.flags ? 0 : ValidBytes(share.offset[1], bytes);
  }
  __device__ __forceinline__ void Load(const Share& share, const std::byte* in, Pack<4> (&v)[2]) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      v[h] = valid[h] != 0 ? LoadPack<4, kInWords>(in + at + share.offset[h], valid[h]) : Pack<4>{};
    }
  }
  __device__ __forceinline__ void Store(const Share& share, std::byte* out, const Pack<4> (&v)[2]) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (valid[h] != 0) StorePack<4, kInWords>(out + at + share.offset[h], v[h], valid[h], 1);
    }
  }
};

// Half of the ring at a time, a unit per warp. kAlone: in a kernel that does nothing else, and so has registers for words, and
// for the first unit's input before it is known whether there is room for it.
template <bool kAlone>
__device__ __forceinline__ void TransferLl128(LinkEnd& end, const GroupTransfer& t, u32 number, const Span& part) {
  const bool send = end.lane.kind == GroupLane::kSend;
  const u32 most = (end.mask + 1) / 2, warp = end.team.thread / 32;
  const u64 units = (part.bytes + kUnitData - 1) / kUnitData;
  const Share share;
  std::byte* ring = end.Ring() + share.lane * 16;
  Patience patience;
  Where where{static_cast<int>(number), 0};
  for (u64 first = 0; first < units; first += most, ++where.round) {
    const u32 now = units - first < most ? static_cast<u32>(units - first) : most;
    Pack<4> v[2];
    if (send) {
      if (kAlone && warp < now) UserUnit<kAlone>(share, part, first + warp).Load(share, t.in, v);
      AwaitRoom(end, now, where);
    }
    for (u32 i = warp; i < now; i += end.team.threads / 32) {
      const UserUnit<kAlone> user(share, part, first + i);
      const u64 unit = end.position + i;
      const u64 flag = transport::p2p::Ll128Flag(unit, end.g.log2_ring_units[end.protocol]);
      std::byte* wire = UnitAt(ring, end.mask, unit);
      if (send) {
        if (!kAlone || i != warp) user.Load(share, t.in, v);
        StoreUnit(wire, share, flag, v);
        if (t.out != nullptr) user.Store(share, t.out, v);
      } else {
        v[0] = LoadLine16(wire);
        v[1] = LoadLine16(wire + kHalfUnit);
        AwaitLl128(patience, end.g, share, wire, flag, where, end.lane.peer, v);
        user.Store(share, t.out, v);
      }
    }
    end.position += now;
    if (!send && end.position - end.told >= (end.mask + 1) / 4) GiveCredit(end);
  }
}

// A team's herald: what TransferSimple leaves to it. All threads of its warp.
__device__ __forceinline__ void Herald(LinkEnd& end, const GroupTransfer& t, const Span& part, const Mail& mail,
                                       u32& told) {
  const u32 most = t.MessageBytes(), lane = end.team.thread, warps = end.team.threads / 32;
  for (u64 at = 0; at < part.bytes; at += most) {
    ++told;
    while (!__all_sync(~0u, lane >= warps || static_cast<int>(Posted(mail.counts + lane) - told) >= 0)) {
      __nanosleep(20);
    }
    __syncwarp();  // a vote orders no memory
    if (lane == 0) Tell(end);
    ++end.messages;
  }
}

__device__ __forceinline__ LaunchCounts& CountsOf(const Links& g) {
  return *reinterpret_cast<LaunchCounts*>(g.segments[g.rank] + g.counts);
}
// One thread of every team.
__device__ __forceinline__ void CountEnd(const Links& g) {
  CountUp(g.captured != 0 ? CountsOf(g).captured_ended : CountsOf(g).ended);
}

__device__ __forceinline__ void RunHerald(const Group& g, const GroupLane& lane, LinkEnd& end, u32 channel,
                                          const Mail& mail) {
  u32 told = 0;
  for (u32 i = lane.first; i != kNoTransfer; i = g.transfer[i].next) {
    const GroupTransfer& t = g.transfer[i];
    if (channel >= t.channels || !t.IsSimple()) continue;
    Herald(end, t, PartOf(t, channel), mail, told);
  }
}

// Copies to self.
template <int kBatch>
__device__ __forceinline__ void RunCopies(const Group& g, const GroupLane& lane, const LinkTeam& team, u32 channel) {
  constexpr u64 kPiece = u64{1} << 20;
  for (u32 i = lane.first; i != kNoTransfer; i = g.transfer[i].next) {
    const GroupTransfer& t = g.transfer[i];
    if (channel >= t.channels) continue;
    const Span part = PartOf(t, channel);
    for (u64 at = part.begin; at < part.begin + part.bytes; at += kPiece) {
      const u64 rest = part.begin + part.bytes - at;
      Move<Way::kCopy, kBatch, true>(team, {nullptr, 0, 0, t.in + at, t.out + at},
                                     static_cast<u32>(rest < kPiece ? rest : kPiece));
    }
  }
  team.Sync();
  if (team.thread == 0) CountEnd(g);
}

// A team's transfers of its lane, and its herald's part. kAnySimple: some may go by Simple.
template <bool kHeralds, bool kAnySimple, int kBatch>
__device__ __forceinline__ void RunLane(const Group& g, const GroupLane& lane, const LinkTeam& team, u32 channel,
                                        Mail& mail) {
  LinkEnd small(g, lane, team, channel, static_cast<int>(proto::Protocol::kLl128));
  if constexpr (!kAnySimple) {
    for (u32 i = lane.first; i != kNoTransfer; i = g.transfer[i].next) {
      const GroupTransfer& t = g.transfer[i];
      if (channel < t.channels) TransferLl128<true>(small, t, i, PartOf(t, channel));
    }
    team.Sync();
    if (team.thread == 0) {
      small.Keep();
      CountEnd(g);
    }
    return;
  }
  LinkEnd large(g, lane, team, channel, kSimple);
  const bool heralded = kHeralds && lane.kind == GroupLane::kSend;
  if (heralded && team.herald) {
    RunHerald(g, lane, large, channel, mail);
  } else {
    u32 posted = 0;
    for (u32 i = lane.first; i != kNoTransfer; i = g.transfer[i].next) {
      const GroupTransfer& t = g.transfer[i];
      if (channel >= t.channels) continue;
      const Span part = PartOf(t, channel);
      if (t.IsSimple()) {
        TransferSimple<kHeralds, kBatch>(large, t, i, part, mail, posted);
      } else {
        TransferLl128<false>(small, t, i, part);
      }
    }
  }
  if (heralded) {
    if (!TUTTI_PLANT(kHeraldLeftBehind)) team.SyncWithHerald();  // it has read the position that is kept now
  } else {
    team.Sync();
  }
  if (team.thread == 0 && !team.herald) {
    small.Keep();
    large.Keep();
    CountEnd(g);
  }
}

template <GroupKernel kKernel, int kBatch>
__device__ __forceinline__ void RunGroup(const Group& g) {
  constexpr bool kHeralds = kKernel == GroupKernel::kLarge, kAnySimple = kKernel != GroupKernel::kUsual;
  using Mails = Mail[kHeralds ? kUsualTeams : 1];
  TUTTI_SHARED(Mails, mails);
  const LinkTeam team(g);
  if constexpr (kHeralds) {
    if (threadIdx.x < sizeof(mails) / 4) mails[threadIdx.x / kMostTeamWarps].counts[threadIdx.x % kMostTeamWarps] = 0;
    __syncthreads();
  }
  // Neighbours are spread over blocks, so that each has some that send and some that receive.
  const u32 number = team.number * g.blocks + blockIdx.x;
  if (number >= g.teams) return;
  if (g.captured != 0 && team.thread == 0 && !team.herald) CountUp(CountsOf(g).captured_begun);
  u32 l = 0;
  while (l + 1 < g.lanes && number >= g.lane[l + 1].first_team) ++l;
  const GroupLane lane = g.lane[l];
  const u32 channel = number - lane.first_team;
  Mail& mail = mails[kHeralds ? team.number : 0];
  if (kHeralds && team.herald && lane.kind != GroupLane::kSend) return;
  if (lane.kind == GroupLane::kCopy) return RunCopies<kBatch>(g, lane, team, channel);
  RunLane<kHeralds, kAnySimple, kBatch>(g, lane, team, channel, mail);
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_TRANSFER_CUH_
