// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_FORMAT_PROGRAM_H_
#define TUTTI_EXEC_GPU_FORMAT_PROGRAM_H_

// A rank's plan for one operation as the kernel reads it: from its own arguments, that is from the constant cache. Also
// compiled for the device.
//
// One block of threads runs one channel: the same steps on its own part of every piece, over its own links.
//
// Where a message lies. With M = messages_per_round, the most that any link carries in a round, and U =
// message_units, the units of a full chunk, message m of round r lies on its link at unit
//
//   base + (r * M + m) * U
//
// where base is where the channel's earlier operations ended. It is the same on all links and all ranks, because every
// operation advances it by rounds * M * U everywhere, whatever a link really carried. So a link needs no counters of
// its own, and a thread finds its place without asking anyone.
//
// When a ring's place may be used again. A rank tells its peers up to which unit it has consumed: in operations of
// several rounds at their start and at the end of every time slot, else at the start of a later operation, once a quarter
// of the ring has been used. Before a rank writes rounds
// up to r it makes sure that every peer has consumed all but what the rings hold. That never waits for something that
// depends on the waiting rank: the rings hold max_stage + 2 rounds, so it waits for a peer to end an earlier time slot.

#include <cstddef>
#include <cstdint>

#include "transport/p2p/segment.h"

#ifdef __CUDACC__
#define TUTTI_HOST_DEVICE __host__ __device__
#else
#define TUTTI_HOST_DEVICE
#endif

namespace tutti::exec::gpu {

using transport::p2p::kSeats;
inline constexpr int kCodeWords = 900;
// Of a batch. A launch copies all arguments that its kernel has, and beyond 4 KB 10 of them take it 1 us, so there are
// kernels for few items too.
inline constexpr int kMaxItems = 256, kFewItems = 16;
inline constexpr int kMaxBatchChannels = 128;
inline constexpr unsigned kFewBlocks = 32;  // a kernel of so many lets its stream's next one start at once

struct ProgramOperand {
  enum Kind : std::uint8_t { kIn, kOut, kRecv };
  std::uint8_t kind;
  std::uint8_t peer;    // kRecv
  std::uint16_t index;  // kRecv: message of the round; else the piece
  std::uint32_t block;  // kIn, kOut: block of the piece
};

struct ProgramTarget {
  std::uint8_t peer;
  std::uint8_t reserved;
  std::uint16_t message;  // of the round
};

struct ProgramStep {
  std::uint16_t first_operand, first_target;
  std::uint8_t operands, targets;
  std::uint8_t stage;
  std::uint8_t stores;  // 1: the value goes to the output
  std::uint16_t piece;  // of the output
  std::uint16_t block;  // whose length is the step's length; of the output where `stores`
  std::uint32_t reserved;
};

// The short form of a plan: addresses instead of numbers that lead to them, at places that the compiler knows. In a time
// slot a rank
//
//   sends             what goes out as it is, inputs to peers, of one round;
//   then takes        values of one or more operands, each an input or what a peer has sent, of the round before; where
//                     there are forwards, it is one value, which goes on to peers;
//   then takes late   values of what peers have forwarded, of the round before that.
//
// Which plans have one with which protocol says plan::HasFlatForm: with LL128 all of one_shot, pairwise and two_shot among up to 8
// ranks, and simple trees and rings, where they take few rounds; with LL what takes one round, has pieces of one block and forwards
// nothing.
//
// Addresses are those of block 0 of channel 0. Per channel they grow by bytes[0] in user memory, by ring_bytes in a ring;
// per block by block_bytes, per round by chunk_bytes in user memory.
struct ShortSend {
  std::uint64_t from, to;  // input, and a peer's ring
  std::uint32_t unit;      // of the ring, behind the round's first one
  std::uint32_t block;     // of the piece
};
struct ShortTake {
  std::uint64_t at;    // input, or the own ring
  std::uint64_t out;   // where it ends a value: the output, or 0
  std::uint32_t unit;  // as above
  std::uint8_t peer;
  std::uint8_t block;  // of the piece
  std::uint8_t ring;   // 0: input
  std::uint8_t place;  // in its value: kBegins and kEnds
};
inline constexpr std::uint8_t kBegins = 1, kEnds = 2;
// Program::is_short. Together: with LL, operands of several peers are asked for together.
inline constexpr std::uint8_t kSteps = 0, kShort = 1, kShortTogether = 2;
inline constexpr int kMostShortSends = 7, kMostShortTakes = 8;
struct ShortForm {
  std::uint16_t sends, forwards, takes, late;
  // Of a piece and of its blocks but the last, in full parts and in the last one.
  std::uint32_t bytes[2], block_bytes[2];
  std::uint32_t chunk_bytes;  // of a block in a round
  std::uint64_t ring_bytes;
  ShortSend send[kMostShortSends], forward[kMostShortSends];
  ShortTake take[kMostShortTakes + kMostShortSends];  // late ones behind the others
};

// Which call a kernel does.
struct CallMark {
  std::uint64_t number;   // in the black box, of the last where there are several; 0: it is not there
  std::uint8_t captured;  // 1: launched by a graph
};

// What all full parts are like (the first `full_parts` channels), and the one that holds the rest.
struct ProgramPart {
  std::uint64_t count;  // elements of every piece
  std::uint64_t block;  // elements of a block
};

// Words in host memory: written by the host to end kernels, and by kernels that wait for long. Others write nothing there: the end of a
// kernel would wait for it, some 0.5 us.
struct alignas(128) HostWords {
  std::uint32_t abort;
  std::uint32_t reserved;
  std::uint64_t failure;  // of a kernel that gave up; 0: none; see PackFailure
  // For each peer, of a thread that has waited for it for longer than kToldNs; renewed every few ms; see PackWait.
  std::uint64_t waits[kSeats];
};

// Where a kernel waits, in one number: the round, modulo 2^23, and a step of the program, a take of the short form, or a
// transfer of the group.
inline constexpr int kLog2Places = 9;
constexpr std::uint32_t PlaceInRound(std::uint32_t place, std::uint32_t round) { return place | round << kLog2Places; }
// Who waited for whom: bit 63 set, what it waited for (below), block, PlaceInRound, peer's seat.
constexpr std::uint64_t PackFailure(std::uint32_t what, std::uint32_t block, std::uint32_t place, std::uint32_t peer) {
  return std::uint64_t{1} << 63 | std::uint64_t{what & 1} << 62 | std::uint64_t{block & 0x3fff} << 48 |
         std::uint64_t{place} << 16 | std::uint64_t{peer & 0xffff};
}
inline constexpr int kWaitedForData = 0;
inline constexpr int kWaitedForRoom = 1;
// How a wait goes on, in one number: bit 63 set, what is waited for, block (63: that or a later one), the low bits of the call's
// number, and for how long, in units of 2^20 ns.
inline constexpr int kWaitNumberBits = 28, kWaitTimeBits = 28, kWaitBlockBits = 6;
inline constexpr std::uint64_t kToldNs = 50'000'000;
constexpr std::uint64_t PackWait(std::uint32_t what, std::uint32_t block, std::uint64_t number,
                                 std::uint64_t waited_ns) {
  constexpr std::uint64_t kMostTime = (std::uint64_t{1} << kWaitTimeBits) - 1;
  constexpr std::uint32_t kMostBlock = (1u << kWaitBlockBits) - 1;
  const std::uint64_t time = waited_ns >> 20;
  return std::uint64_t{1} << 63 | std::uint64_t{what & 1} << 62 |
         std::uint64_t{block < kMostBlock ? block : kMostBlock} << (kWaitNumberBits + kWaitTimeBits) |
         (number & ((std::uint64_t{1} << kWaitNumberBits) - 1)) << kWaitTimeBits |
         (time < kMostTime ? time : kMostTime);
}
struct WaitOfKernel {
  int what, block;
  std::uint64_t number;  // its low bits
  std::int64_t waited_ns;
};
constexpr WaitOfKernel UnpackWait(std::uint64_t wait) {
  return {.what = static_cast<int>(wait >> 62 & 1),
          .block = static_cast<int>(wait >> (kWaitNumberBits + kWaitTimeBits) & ((1u << kWaitBlockBits) - 1)),
          .number = wait >> kWaitTimeBits & ((std::uint64_t{1} << kWaitNumberBits) - 1),
          .waited_ns = static_cast<std::int64_t>((wait & ((std::uint64_t{1} << kWaitTimeBits) - 1)) << 20)};
}
struct Failure {
  int what, block, place, round, seat;
};
constexpr Failure UnpackFailure(std::uint64_t failure) {
  const auto field = [&](int shift, int bits) {
    return static_cast<int>(failure >> shift & ((std::uint64_t{1} << bits) - 1));
  };
  return {.what = field(62, 1),
          .block = field(48, 14),
          .place = field(16, kLog2Places),
          .round = field(16 + kLog2Places, 32 - kLog2Places),
          .seat = field(0, 16)};
}

// Scaling::scale.
inline constexpr std::uint8_t kNoScale = 0, kScaleByValue = 1, kScaleFromMemory = 2;

// What a rank copies to itself in an operation, where its kernel leaves that to a copy engine beside it. bytes 0: nothing.
struct OwnCopy {
  const std::byte* from;
  std::byte* to;
  std::size_t bytes;
};

// The data of one operation, and how it is cut.
struct ProgramItem {
  const std::byte* in;
  std::byte* out;
  std::uint64_t count;          // elements per piece
  std::uint64_t part_elements;  // channel c begins at element c * part_elements of every piece
  ProgramPart parts[2];
  std::uint64_t chunk;    // elements
  std::uint32_t element;  // bytes
  std::uint32_t full_parts;
  std::uint32_t rounds;
  std::uint32_t message_units;
};

// Whether inputs are multiplied before they are folded, and results divided afterwards.
struct Scaling {
  double scalar;
  std::uint64_t integer_scalar;
  const std::byte* factor;  // kScaleFromMemory: one element
  std::uint32_t divisor;    // >= 2: the finished output is divided (integer averages)
  std::uint8_t scale;       // kNoScale, kScaleByValue, kScaleFromMemory
};

// Ranks are seats here and in all that follows: of few ranks their numbers, of many what transport/p2p/sections.h says.
struct Program : ProgramItem, Scaling, CallMark {
  static constexpr int kShortAt = kCodeWords - static_cast<int>(sizeof(ShortForm)) / 4;

  std::uint16_t messages_per_round;
  std::uint16_t steps;
  std::uint8_t max_stage;
  std::uint8_t rank, ranks;
  std::uint8_t flag_groups;  // Simple: words that say that a message is there
  std::uint8_t is_short;     // whether there is a short form: kSteps, kShort, kShortTogether

  std::byte* segments[kSeats];  // by seat, as this rank reaches them
  // Offsets in a segment, of this protocol.
  std::uint64_t rings;
  std::uint64_t flags;
  std::uint64_t credits;
  std::uint64_t states;
  std::uint64_t counts;  // LaunchCounts
  std::uint32_t log2_ring_units;
  std::uint32_t ring_bytes;
  HostWords* host;
  std::uint64_t timeout_ns;

  // Steps, operands and targets, one list behind the other: a small plan touches few lines of the constant cache.
  std::uint16_t operands_at, targets_at;  // words
  alignas(8) std::uint32_t code[kCodeWords];

  TUTTI_HOST_DEVICE const ProgramStep& step(int i) const { return reinterpret_cast<const ProgramStep*>(code)[i]; }
  TUTTI_HOST_DEVICE const ProgramOperand& operand(int i) const {
    return reinterpret_cast<const ProgramOperand*>(code + operands_at)[i];
  }
  TUTTI_HOST_DEVICE const ProgramTarget& target(int i) const {
    return reinterpret_cast<const ProgramTarget*>(code + targets_at)[i];
  }
  // At the end of the code.
  TUTTI_HOST_DEVICE const ShortForm& short_form() const { return *reinterpret_cast<const ShortForm*>(code + kShortAt); }
};
static_assert(sizeof(Program) <= 4096, "beyond 4 KB a launch copies more");
// Operations that follow the same plan, as one kernel reads them. An item has channels of its own, or shares one with
// others that take place there one after the other. To a channel it is all the same as if the items had been launched
// one by one.
struct BatchItem : ProgramItem {
  std::uint16_t first_channel;  // which has its part 0
  std::uint16_t next;           // item on its channel, or kNoItem
  std::uint32_t reserved;
};
inline constexpr std::uint16_t kNoItem = 0xffff;

struct BatchHead {
  Program program;                              // what the items have in common; not its own item
  std::uint16_t first_item[kMaxBatchChannels];  // of a channel
};
template <int kItems>
struct BatchOf : BatchHead {
  BatchItem items[kItems];
};
using Batch = BatchOf<kMaxItems>;
using FewBatch = BatchOf<kFewItems>;  // the beginning of a Batch
static_assert(sizeof(Batch) <= 32764, "the most that a kernel's arguments may be");
static_assert(sizeof(Batch) - sizeof(FewBatch) == (kMaxItems - kFewItems) * sizeof(BatchItem));
static_assert(sizeof(ProgramStep) == 16 && sizeof(ProgramOperand) == 8 && sizeof(ProgramTarget) == 4);

// The trial at init: every rank stores `token` into its word at each peer and waits for the peers' in its own.
struct Handshake {
  std::byte* segments[kSeats];
  std::uint64_t own_words;          // offset of the words in the own segment
  std::uint64_t peer_word[kSeats];  // offset of this rank's word in each peer's
  int rank, ranks;
  std::uint64_t token;
  std::uint64_t timeout_ns;
  std::uint32_t* seen;  // host memory, kSeats words: 1 where that rank's store was seen
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_FORMAT_PROGRAM_H_
