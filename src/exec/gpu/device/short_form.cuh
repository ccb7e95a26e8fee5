// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_DEVICE_SHORT_FORM_CUH_
#define TUTTI_EXEC_GPU_DEVICE_SHORT_FORM_CUH_

// The short form of a plan (program.h) with LL and LL128: what step_ll.cuh and step_ll128.cuh do, without numbers that are
// looked up in the plan.
//
// Small operations spend their time between the start of the kernel and the first store, a warp alone on its
// multiprocessor, where every instruction that needs the one before it costs five cycles and every number that is looked up
// a hundred. Larger ones, with LL128, spend it on the instructions for each unit. So whatever is known to the host is there
// as a constant, the rest is worked out before the loops over units, and there is little code: with more operands looked at
// at a time (docs/decisions/0009-short-forms.md) the kernel has too few registers and loses more than it gains. But where few
// blocks exchange lines of LL with several peers, kTogether pays: all inputs, and then all lines, are asked for together.

#include "exec/gpu/device/step_ll.cuh"
#include "exec/gpu/device/step_ll128.cuh"

namespace tutti::exec::gpu {

// How a protocol moves a unit: what is dealt with at a time, by a thread with LL.
struct LlUnit {
  using Value = Pack<2>;
  using Wire = Pack<4>;
  static constexpr u32 kData = 8, kWire = 16;  // bytes
  static constexpr bool kBlocks = false;       // pieces may be of several blocks
  using Flag = u32;
  u32 first, stride;  // this thread's units

  __device__ __forceinline__ LlUnit() : first(threadIdx.x), stride(blockDim.x) {}
  // `rest`: bytes of the message from this unit on.
  __device__ __forceinline__ static u32 Valid(u32 rest) { return rest < kData ? rest : kData; }
  __device__ __forceinline__ Value Load(const std::byte* from, u32 rest) const {
    return LoadPack<2>(from, Valid(rest));
  }
  __device__ __forceinline__ void Store(std::byte* out, const Value& v, u32 rest, u32 element) const {
    StorePack(out, v, Valid(rest), element);
  }
  // This thread's place in a unit of a ring.
  __device__ __forceinline__ u32 Lane() const { return 0; }
  template <typename Codec>
  __device__ __forceinline__ static Value Scaled(const Value& v, const Program& p) {
    return ScalePack<Codec, 2>(v, p);
  }
  template <typename Codec>
  struct Sum {
    Fold<Codec, 2> fold;
    __device__ __forceinline__ void Start(const Value& v) { fold.Start(v); }
    __device__ __forceinline__ void Add(const Value& v) { fold.Add(v); }
    __device__ __forceinline__ Value Result() const { return fold.Result(); }
  };
  __device__ __forceinline__ void Put(std::byte* to, const Value& v, u32 flag) const {
    StoreShared16(to, {{v.w[0], flag, v.w[1], flag}});
  }
  __device__ __forceinline__ Wire Get(const std::byte* at) const { return LoadShared16(at); }
  __device__ __forceinline__ static Wire AsWire(const Value& v) { return {{v.w[0], 0, v.w[1], 0}}; }
  __device__ __forceinline__ static Value AsValue(const Wire& line) { return {{line.w[0], line.w[2]}}; }
  __device__ __forceinline__ static bool IsThere(const Wire& line, u32 flag) {
    return line.w[1] == flag && (line.w[3] == flag || TUTTI_PLANT(kHalfALineOfShort));
  }
  // What was sent, once it is there; `line`: what was there.
  __device__ __forceinline__ Value Await(Patience& patience, const Program& p, const std::byte* at, u32 flag,
                                         const Where& where, int peer, Wire line) const {
    while (!IsThere(line, flag)) {
      if (!KeepWaiting(patience, p, kWaitedForData, where, peer)) break;
      line = LoadShared16(at);
    }
    return AsValue(line);
  }
};

// By a warp with LL128.
struct Ll128Unit {
  struct Value {
    Pack<4> v[2];
  };
  using Wire = Value;
  static constexpr u32 kData = kUnitData, kWire = kUnitWire;
  static constexpr bool kBlocks = true;
  using Flag = u64;
  Share share;
  u32 first, stride;

  __device__ __forceinline__ Ll128Unit() : first(threadIdx.x / 32), stride(blockDim.x / 32) {}
  __device__ __forceinline__ u32 Valid(int half, u32 rest) const {
    return half == 1 && share.flags ? 0 : ValidBytes(share.offset[half], rest);
  }
  // Whether all packs are aligned, and whole or without a byte.
  __device__ __forceinline__ static bool InPacks(const std::byte* at, u32 rest) {
    return IsAligned(at, 16) && (rest >= kUnitData || rest % 16 == 0);
  }
  __device__ __forceinline__ Value Load(const std::byte* from, u32 rest) const {
    Value v{};
    if (InPacks(from, rest)) {
      if (share.offset[0] < rest) LoadWhole(from + share.offset[0], v.v[0]);
      if (share.offset[1] < (rest < kUnitData ? rest : kUnitData)) LoadWhole(from + share.offset[1], v.v[1]);
      return v;
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const u32 valid = Valid(h, rest);
      if (valid != 0) v.v[h] = LoadBytes<4>(from + share.offset[h], valid);
    }
    return v;
  }
  __device__ __forceinline__ void Store(std::byte* out, const Value& v, u32 rest, u32 element) const {
    if (InPacks(out, rest)) {
      if (share.offset[0] < rest) StoreWhole(out + share.offset[0], v.v[0]);
      if (share.offset[1] < (rest < kUnitData ? rest : kUnitData)) StoreWhole(out + share.offset[1], v.v[1]);
      return;
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const u32 valid = Valid(h, rest);
      if (valid != 0) StoreElements(out + share.offset[h], v.v[h], valid, element);
    }
  }
  template <typename Codec>
  __device__ __forceinline__ static Value Scaled(const Value& v, const Program& p) {
    return {{ScalePack<Codec, 4>(v.v[0], p), ScalePack<Codec, 4>(v.v[1], p)}};
  }
  template <typename Codec>
  struct Sum {
    Fold<Codec, 4> fold[2];
    __device__ __forceinline__ void Start(const Value& v) {
      fold[0].Start(v.v[0]);
      fold[1].Start(v.v[1]);
    }
    __device__ __forceinline__ void Add(const Value& v) {
      fold[0].Add(v.v[0]);
      fold[1].Add(v.v[1]);
    }
    __device__ __forceinline__ Value Result() const { return {{fold[0].Result(), fold[1].Result()}}; }
  };
  __device__ __forceinline__ u32 Lane() const { return share.lane * 16; }
  __device__ __forceinline__ void Put(std::byte* to, const Value& v, u64 flag) const {
    StoreUnit(to, share, flag, v.v);
  }
  __device__ __forceinline__ Wire Get(const std::byte* at) const {
    return {{LoadLine16(at), LoadLine16(at + kHalfUnit)}};
  }
  __device__ __forceinline__ static Wire AsWire(const Value& v) { return v; }
  __device__ __forceinline__ static Value AsValue(const Wire& wire) { return wire; }
  __device__ __forceinline__ Value Await(Patience& patience, const Program& p, const std::byte* at, u64 flag,
                                         const Where& where, int peer, Wire unit) const {
    AwaitLl128(patience, p, share, at, flag, where, peer, unit.v);
    return unit;
  }
};

// Takes that are looked at before the first of them is waited for.
static constexpr int kTakesAtOnce = 2;
// Together: inputs that are asked for before the first of them is stored, and lines that are asked for until all are there.
static constexpr int kSendsTogether = 3, kTakesTogether = 4;

// A take as the loop over its units needs it.
struct Taken {
  std::byte* at;   // input, or this thread's place in the ring
  std::byte* out;  // null: not stored
  u32 unit;        // of the ring, behind the round's first one
  u32 bytes;
  u8 ring, place;
};

// A channel's share of an operation.
template <typename Codec, typename Unit, bool kTogether>
struct ShortRun {
  using Value = typename Unit::Value;
  using Wire = typename Unit::Wire;
  using Flag = typename Unit::Flag;
  using Sum = typename Unit::template Sum<std::conditional_t<kFolds<Codec>, Codec, FloatCodec<SumOp>>>;

  const Program& p;
  const ShortForm& form;
  const Unit unit;
  const u32 mask;  // of ring units
  const u64 ring;  // how far behind channel 0's, and this thread's place in a unit
  const u32 part_bytes, block_bytes;
  // Of the round at hand:
  u64 data = 0;   // where it begins, behind channel 0's beginning
  u32 bytes = 0;  // of a piece, from there on
  u32 most = 0;   // of a message
  u32 place = 0;  // its first unit, from the ring's beginning
  Flag flag = 0;  // of units before the ring's end
  u32 at_round = 0;
  Patience patience;

  __device__ __forceinline__ explicit ShortRun(const Program& program)
      : p(program),
        form(program.short_form()),
        unit(),
        mask((1u << program.log2_ring_units) - 1),
        ring(blockIdx.x * form.ring_bytes + unit.Lane()),
        part_bytes(form.bytes[blockIdx.x < program.full_parts ? 0 : 1]),
        block_bytes(Unit::kBlocks ? form.block_bytes[blockIdx.x < program.full_parts ? 0 : 1] : part_bytes) {}

  // The round at hand: its data, and its first unit.
  __device__ __forceinline__ void ChooseData(u32 round) {
    at_round = Unit::kBlocks ? round : 0;
    const u32 behind = Unit::kBlocks ? round * form.chunk_bytes : 0;
    data = u64{blockIdx.x} * form.bytes[0] + behind;
    bytes = part_bytes > behind ? part_bytes - behind : 0;
    const u32 rest = block_bytes > behind ? block_bytes - behind : 0;
    most = Unit::kBlocks && rest > form.chunk_bytes ? form.chunk_bytes : rest;
  }
  __device__ __forceinline__ void ChooseUnit(u64 base) {
    place = static_cast<u32>(base) & mask;
    flag = static_cast<Flag>(base >> p.log2_ring_units) + 1;
  }
  __device__ __forceinline__ u64 RoundUnits() const { return p.messages_per_round * p.message_units; }

  // Bytes of a block in this round.
  __device__ __forceinline__ u32 Length(u32 block) const {
    if (!Unit::kBlocks) return most;
    const u32 before = block * block_bytes, rest = bytes > before ? bytes - before : 0;
    return rest < most ? rest : most;
  }
  __device__ __forceinline__ std::byte* User(u64 at, u32 block) const {
    return reinterpret_cast<std::byte*>(at + data) + (Unit::kBlocks ? block * block_bytes : 0);
  }
  __device__ __forceinline__ std::byte* Ring(u64 at) const { return reinterpret_cast<std::byte*>(at + ring); }
  __device__ __forceinline__ Value Input(const std::byte* from, u32 i, u32 length) const {
    Value v = unit.Load(from + i * Unit::kData, length - i * Unit::kData);
    if (kScales<Codec> && p.scale != 0) v = Unit::template Scaled<Codec>(v, p);
    return v;
  }
  // Unit i of a message that begins `first` units behind the round's first one: its place and its flag.
  __device__ __forceinline__ std::byte* Place(std::byte* at, u32 first, u32 i) const {
    return at + ((place + first + i) & mask) * Unit::kWire;
  }
  __device__ __forceinline__ Flag FlagOf(u32 first, u32 i) const {
    return flag + ((place + first + i) >> p.log2_ring_units);
  }

  // Sends all that is to be sent. Calls room() before the first store and after the first input has been asked for; each
  // thread once, not all of a warp from the same place.
  template <typename Room>
  __device__ __forceinline__ void Send(const Room& room) {
    if constexpr (kTogether) return SendTogether(room);
    bool ready = false;
#pragma unroll 1
    for (int k = 0; k < form.sends; ++k) {
      const ShortSend& s = form.send[k];
      const std::byte* from = User(s.from, s.block);
      std::byte* to = Ring(s.to);
      const u32 length = Length(s.block), first = s.unit;
#pragma unroll 1
      for (u32 i = unit.first; i * Unit::kData < length; i += unit.stride) {
        const Value v = Input(from, i, length);
        if (!ready) room();
        ready = true;
        unit.Put(Place(to, first, i), v, FlagOf(first, i));
      }
    }
    if (!ready) room();
  }
  template <typename Room>
  __device__ __forceinline__ void SendTogether(const Room& room) {
    bool ready = false;
#pragma unroll 1
    for (u32 i = unit.first; i * Unit::kData < most; i += unit.stride) {
#pragma unroll
      for (int first = 0; first < kMostShortSends; first += kSendsTogether) {
        if (first >= form.sends) break;
        Value v[kSendsTogether];
#pragma unroll
        for (int k = 0; k < kSendsTogether && first + k < kMostShortSends; ++k) {
          if (first + k >= form.sends) break;
          v[k] = Input(User(form.send[first + k].from, 0), i, most);
        }
        if (!ready) room();
        ready = true;
#pragma unroll
        for (int k = 0; k < kSendsTogether && first + k < kMostShortSends; ++k) {
          if (first + k >= form.sends) break;
          const ShortSend& s = form.send[first + k];
          unit.Put(Place(Ring(s.to), s.unit, i), v[k], FlagOf(s.unit, i));
        }
      }
    }
    if (!ready) room();
  }
  __device__ __forceinline__ void Forward(u32 i, const Value& v) const {
#pragma unroll 1
    for (int k = 0; k < form.forwards; ++k) {
      const ShortSend& s = form.forward[k];
      unit.Put(Place(Ring(s.to), s.unit, i), v, FlagOf(s.unit, i));
    }
  }

  // Takes `begin` to `end` of the form's.
  __device__ __forceinline__ void Take(int begin, int end) {
    if constexpr (kTogether) return TakeTogether();
    Taken taken[kTakesAtOnce];
    Prepare(begin, end, taken);
    Sum sum;
#pragma unroll 1
    for (u32 i = unit.first; i * Unit::kData < most; i += unit.stride) {
      int first = begin;
#pragma unroll 1
      do {
        if (end - begin > kTakesAtOnce) Prepare(first, end, taken);
        Wire wire[kTakesAtOnce];
#pragma unroll
        for (int k = 0; k < kTakesAtOnce; ++k) {
          const Taken& t = taken[k];
          if (i * Unit::kData >= t.bytes) continue;
          wire[k] = t.ring != 0 ? unit.Get(Place(t.at, t.unit, i)) : Unit::AsWire(Input(t.at, i, t.bytes));
        }
#pragma unroll
        for (int k = 0; k < kTakesAtOnce; ++k) {
          if (i * Unit::kData < taken[k].bytes) Finish(taken[k], first + k, i, wire[k], sum);
        }
        first += kTakesAtOnce;
      } while (first < end);
    }
  }
  // All takes, in one round of pieces of one block.
  __device__ __forceinline__ void TakeTogether() {
#pragma unroll 1
    for (u32 i = unit.first; i * Unit::kData < most; i += unit.stride) {
      Sum sum;
#pragma unroll
      for (int first = 0; first < kMostShortTakes; first += kTakesTogether) {
        if (first >= form.takes) break;
        Wire wire[kTakesTogether];
#pragma unroll
        for (int k = 0; k < kTakesTogether; ++k) {
          if (first + k >= form.takes) break;
          const Taken t = TakenOf(first + k);
          wire[k] = t.ring != 0 ? unit.Get(Place(t.at, t.unit, i)) : Unit::AsWire(Input(t.at, i, most));
        }
        int missing;
        do {
          missing = -1;
#pragma unroll
          for (int k = 0; k < kTakesTogether; ++k) {
            if (first + k >= form.takes) break;
            const Taken t = TakenOf(first + k);
            if (t.ring == 0 || Unit::IsThere(wire[k], FlagOf(t.unit, i))) continue;
            missing = first + k;
            wire[k] = unit.Get(Place(t.at, t.unit, i));
          }
        } while (missing >= 0 && KeepWaiting(patience, p, kWaitedForData, {missing, 0}, form.take[missing].peer));
#pragma unroll
        for (int k = 0; k < kTakesTogether; ++k) {
          if (first + k >= form.takes) break;
          Conclude(TakenOf(first + k), first + k, i, Unit::AsValue(wire[k]), sum);
        }
      }
    }
  }
  __device__ __forceinline__ Taken TakenOf(int number) const {
    const ShortTake& t = form.take[number];
    return {.at = t.ring != 0 ? Ring(t.at) : User(t.at, t.block),
            .out = t.out != 0 ? User(t.out, t.block) : nullptr,
            .unit = t.unit,
            .bytes = Length(t.block),
            .ring = t.ring,
            .place = t.place};
  }
  __device__ __forceinline__ void Prepare(int first, int end, Taken (&taken)[kTakesAtOnce]) const {
#pragma unroll
    for (int k = 0; k < kTakesAtOnce; ++k) {
      taken[k].bytes = 0;
      if (first + k < end) taken[k] = TakenOf(first + k);
    }
  }
  __device__ __forceinline__ void Finish(const Taken& t, int number, u32 i, const Wire& wire, Sum& sum) {
    Value v = Unit::AsValue(wire);
    if (t.ring != 0) {
      v = unit.Await(patience, p, Place(t.at, t.unit, i), FlagOf(t.unit, i), {number, at_round}, form.take[number].peer,
                     wire);
    }
    Conclude(t, number, i, v, sum);
  }
  // An operand of a value: folds it, and sends and stores the value with its last one.
  __device__ __forceinline__ void Conclude(const Taken& t, int number, u32 i, Value v, Sum& sum) const {
    if constexpr (kFolds<Codec>) {
      if ((t.place & kBegins) == 0) {
        sum.Add(v);
      } else if ((t.place & kEnds) == 0) {
        sum.Start(v);
      }
      if (t.place == kEnds) v = sum.Result();
    }
    if ((t.place & kEnds) == 0) return;
    if (Unit::kBlocks && number < form.takes) Forward(i, v);
    if (t.out != nullptr) unit.Store(t.out + i * Unit::kData, v, t.bytes - i * Unit::kData, p.element);
  }
};

template <typename Codec, typename Unit, bool kTogether>
__device__ __forceinline__ void RunShortForm(const Program& p) {
  std::byte* own = p.segments[p.rank];
  auto* counts = reinterpret_cast<LaunchCounts*>(own + p.counts);
  auto* state = reinterpret_cast<ulonglong2*>(own + p.states) + blockIdx.x * 2;
  ulonglong2 a;  // the same for all threads, which the compiler must not know: it would wait for it at once
  u64 published;
  LoadOnce16(state, a.x, a.y);
  LoadOnce8(state + 1, published);
  if (p.captured != 0 && threadIdx.x == 0) CountUp(counts->captured_begun);
  ShortRun<Codec, Unit, kTogether> c(p);
  const ShortForm& form = c.form;
  const u64 round_units = c.RoundUnits();
  const u32 rounds = Unit::kBlocks ? p.rounds : 1;
  u64 safe = a.y;
  // A slot: what is sent in one is taken in the next, and what is passed on there in the one after that.
  const u32 behind = form.late > 0 ? 2 : 1;
#pragma unroll 1
  for (u32 slot = 0; slot < rounds + behind; ++slot) {
    if (slot < rounds) {
      c.ChooseData(slot);
      c.Send([&] {
        if (slot == 0 && a.x - published > (rounds == 1 ? c.mask / 4 : 0)) {
          PublishFrom(p, threadIdx.x, a.x);
          published = a.x;
        }
        const u64 base = a.x + slot * round_units, end = base + round_units;
        c.ChooseUnit(base);
        if (end > safe && !TUTTI_PLANT(kNoRoomForShort)) safe = WaitForRoom(p, end, slot);
      });
    }
    int begin = 0, end = form.takes;
#pragma unroll 1
    for (u32 ago = 1; ago <= behind; ++ago) {
      const u32 round = slot - ago;
      if (round < rounds) {  // also where the difference is negative
        c.ChooseData(round);
        c.ChooseUnit(a.x + round * round_units);
        c.Take(begin, end);
      }
      begin = end;
      end += form.late;
    }
    if (rounds == 1 || slot < behind) continue;
    if (!TUTTI_PLANT(kNoBarrierBeforeShortCredit)) __syncthreads();
    published = a.x + (slot - behind + 1) * round_units;
    PublishFrom(p, threadIdx.x, published);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __stcg(state, make_ulonglong2(a.x + rounds * round_units, safe));
    __stcg(&state[1].x, published);
    CountUp(p.captured != 0 ? counts->captured_ended : counts->ended);
  }
}

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_DEVICE_SHORT_FORM_CUH_
