// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRACE_LAYOUT_H_
#define TUTTI_TRACE_LAYOUT_H_

// The black box of one rank of one communicator: a region of its shared pages that peers and other processes can read
// at any moment, also when the owner hangs, is stopped or lies in a core dump. The owner alone writes, and never waits.
//
//   +----------------+------------------+------------------+-----------------------+
//   | BoxHeader      | Record           | Times            | LinkWords             |
//   | who, failure,  | [kRecords] 32 B  | [kRecords] 32 B  | [channel][peer] 128 B |
//   | wait, progress | the latest runs  | where clocks     | messages, credit,     |
//   | 4 KiB          | of calls         | were read        | time waited           |
//   +----------------+------------------+------------------+-----------------------+
//
// Calls are numbered from 1 in the order in which they were made. Calls in a row that are alike but for their buffers are
// a run and share a record: programs repeat themselves, and a call that does costs one store. Run k, from 0, is in place
// k mod kRecords; the times of call n in place (n - 1) mod kRecords. All words are little-endian. Pages that were never
// written take no memory.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/call.h"

namespace tutti::trace {

inline constexpr std::uint64_t kBoxMagic = 0x786f626974747574;  // "tuttibox"
inline constexpr std::uint32_t kBoxVersion = 11;
inline constexpr std::uint64_t kRecords = 2048;
inline constexpr std::size_t kNameBytes = 64;
inline constexpr std::size_t kFailureBytes = 480;
inline constexpr std::size_t kBusIdBytes = 24;
inline constexpr int kBoxProtocols = 3;  // LL, LL128, Simple: proto/protocol.h

using Word = std::atomic<std::uint64_t>;
using Time = std::atomic<std::int64_t>;  // ns of CLOCK_MONOTONIC; 0: not known
static_assert(Word::is_always_lock_free && Time::is_always_lock_free);

// What a rank waits for. Values are part of the format.
enum class WaitKind : std::uint32_t {
  kNothing = 0,
  kData = 1,     // a message of the peer
  kRoom = 2,     // room in the link to the peer
  kReaders = 3,  // the peer has to read what was sent by reference
  kPages = 4,    // shared pages that some peer still reads
};

// Set while the owner waits and the wait is long enough to be looked at (some ms); renewed about ten times a second.
//
// Torn reads: `turn` is odd while the owner writes. A reader takes the rest between two equal, even values.
struct alignas(64) WaitWords {
  Word turn;
  Word number;     // the call that waits
  Word peer_kind;  // peer (32 bits, ~0: not one of them) | WaitKind << 32 | channel << 48
  Time since_ns;   // when something last moved
  Time looked_ns;  // when the owner last found itself waiting
  // The thread that found it so (its id in the system, low half), and from bit 32 on whether it can do nothing else meanwhile:
  // 1 where it is inside a call that waits, 0 where it polls or belongs to the library. Stays after the wait.
  Word thread;
  Time longest_ns;  // the longest wait that has ended, in a row without a move; right to 50 ms
};
static_assert(sizeof(WaitWords) == 64);

// Of a part: the call of the whole that its wait belongs to (trace::WholeCall). Torn reads: as WaitWords.
struct alignas(64) WholeWords {
  enum State : std::uint64_t { kNotKnown = 0, kCall = 1, kOfGraph = 2 };
  Word turn;
  Word state;
  Word number;  // this and the next: of a kCall
  Word sequence;
  Word count;
  Word call;
};

// The first page.
// Long because a field is a place of the format.
struct BoxHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;  // sizeof(BoxHeader)
  std::uint64_t bytes;         // of the whole black box
  std::uint64_t communicator;  // the same on all ranks, and in the log: a hash of the unique id
  std::int32_t rank;
  std::int32_t ranks;
  std::int32_t channels;
  std::int32_t pid;
  std::uint32_t records;         // kRecords
  std::int32_t thread;           // that made it, by its id in the system; 0: not known
  std::int64_t created_ns;       // CLOCK_MONOTONIC
  std::int64_t created_unix_ns;  // the same moment, since 1970: turns the other times into dates
  char name[kNameBytes];         // what the user called it, 0-terminated; may be empty
  std::uint64_t start_ticks;     // with pid it names the process for good (sys::ProcessId); 0: not known
  // How many units, lines and posts a link has room for: one is full where so many were sent beyond its credit. 0: not known.
  std::uint32_t window[kBoxProtocols];
  std::atomic<std::uint32_t> silent;  // 1: calls are not written down (TUTTI_BLACK_BOX=0), waits and failures are
  // How far the calls are, in one cache line. `called`: the number of the latest call, stored after its record and
  // `runs`; `finished`: every call up to this number has ended; `runs`: how many runs have begun.
  alignas(64) Word called;
  Word finished;
  Word runs;
  WaitWords wait;
  // 0: no failure; otherwise 1 + Code, stored with release order after the text.
  alignas(64) std::atomic<std::uint32_t> failed;
  char failure[kFailureBytes];
  // Where the owner's process has waited for longer than half a second in another communicator: that communicator, 0 where it does
  // not, and the thread that waits there. Written by the process's monitor, so some tenths of a second late.
  alignas(64) Word elsewhere;
  Word elsewhere_thread;
  // Calls of each function, by Collective, in all runs but the latest. Stored before the run is counted in `runs`. Torn reads: all
  // together they are the number of some run's first call less one.
  alignas(64) Word earlier[kFunctions];
  char gpu_bus_id[kBusIdBytes];  // of the GPU that the communicator uses, "0000:1b:00.0", 0-terminated; empty: none
  std::int32_t gpu;              // its number in the process; -1: none
  // Every call up to this one has begun on the GPU; 0: not known. What its kernels wait for; nobody's thread is in that. Written ten
  // times a second.
  alignas(64) Word gpu_begun;
  WaitWords gpu_wait;
  // The first so many collectives are the library's own, made with the communicator; the same on all ranks.
  Word own_collectives;
  // Of a part, which the library has made for its own use from another communicator: that one, and the rank's number there. 0: it is none.
  std::uint64_t whole;
  std::int32_t rank_of_whole;
  WholeWords for_whole;  // written ten times a second
  // The stream of the latest call on the GPU, by a number that is the same in all communicators of the process. 0: not known.
  Word stream;
  std::atomic<std::uint32_t> has_flows;  // 1: some FlowWords are written
};
inline constexpr std::size_t kBoxHeaderBytes = 4096;
static_assert(sizeof(BoxHeader) <= kBoxHeaderBytes);
static_assert(offsetof(BoxHeader, called) % 64 == 0 && offsetof(BoxHeader, wait) % 64 == 0);

// How a call is carried out: algorithm (algo::Algorithm, 0xff: none), protocol, channels.
struct How {
  std::uint8_t algorithm = 0xff;
  std::uint8_t protocol = 0xff;
  std::uint8_t channels = 1;
  bool by_reference = false;

  // algorithm 8 bits | protocol 2 | by reference 1 | channels - 1 5
  constexpr std::uint16_t Pack() const {
    return static_cast<std::uint16_t>(algorithm | (protocol & 3) << 8 | (by_reference ? 1 : 0) << 10 |
                                      ((channels - 1) & 31) << 11);
  }
  static constexpr How Unpack(std::uint16_t bits) {
    return {.algorithm = static_cast<std::uint8_t>(bits & 0xff),
            .protocol = static_cast<std::uint8_t>(bits >> 8 & 3),
            .channels = static_cast<std::uint8_t>((bits >> 11) + 1),
            .by_reference = (bits >> 10 & 1) != 0};
  }
};

// A run of calls that are alike: this one and those after it, up to the beginning of the next run.
//
//   byte  0          8                    16         24     28     32
//         +----------+--------------------+----------+------+------+
//         |  number  | how 16|sequence 48 |  count   | call | end  |
//         +----------+--------------------+----------+------+------+
//
// number, sequence: of the run's first call; both grow by one with each call of it.
// sequence: of a collective, how many collectives this rank has called, from 1: the same on all ranks, or their calls
// do not match. Of a send or receive, how many of them this rank has called with that peer in that direction, from 1.
//
// Torn reads: the owner writes from left to right, each word visible no later than the next; `end` holds the low half of
// the number. A reader loads from right to left and takes what it got where end and number agree: had it seen a word of
// a later run, it would have seen that run's number too.
struct Record {
  Word number;
  Word sequence_how;
  Word count;
  Word call_end;  // CallWord | low half of number << 32
};
static_assert(sizeof(Record) == 32);

// Times of a call, where clocks were read (docs/black_box.md says when). `number` is 0 while the owner writes.
struct Times {
  Word number;
  // Negative: it was called no later than at the moment -enqueued_ns.
  Time enqueued_ns;
  Time started_ns;
  Time finished_ns;
};
static_assert(sizeof(Times) == 32);

// One link in both directions, as the owner sees it. Counted in each protocol's unit: LL units of 64 bytes, LL128 lines
// of 128 bytes, Simple's posts. Copied here while the owner waits.
struct alignas(128) LinkWords {
  static constexpr int kProtocols = kBoxProtocols;
  Word sent[kProtocols];
  Word received[kProtocols];
  Word credit[kProtocols];  // of what was sent, how much the peer was known to have consumed
  Time data_wait_ns;        // how long this rank has waited, in all, for data of the peer
  Time credit_wait_ns;      // and for room, pages and readers
  // Of channel 0, where the peer is on another host: bytes/s that reached its host in the last second in which a card had enough to send
  // for half of the time, else 0; what it usually is; and the card, as text that ends at a zero byte.
  Word pace, usual_pace;
  static constexpr std::size_t kCardWords = 2;
  Word card[kCardWords];
  // Likewise, by all cards, whatever there was to send, in KiB/s; and in which part of slow seconds, or of those in which it was what the
  // rank waited for, in hundredths, something waited in the card's own queues.
  std::atomic<std::uint32_t> arrived_kib, queued_percent;
};
static_assert(sizeof(LinkWords) == 128);

// What goes to a rank of another host by one card. Written by the process's monitor, once a second, and more often while the rank waits.
//
// Torn reads: `posted` is stored last; the others may be of the write after it.
struct alignas(64) FlowWords {
  // Bytes that the connections by it were handed, and how many of these are known to have reached the other host. Both begin again
  // with a new connection.
  Word posted, completed;
  Time stuck_ns;      // for how long, to the last write, something was on its way and none of it arrived; 0: it gets on
  Word peer_is_full;  // 1: what is on its way waits for the other process, which takes no more
  // Bytes/s that it carries where there is much to send, and where there is little; 0: not known.
  Word carries, carries_little;
  static constexpr std::size_t kCardWords = 2;
  Word card[kCardWords];  // text that ends at a zero byte
};
static_assert(sizeof(FlowWords) == 64);
inline constexpr int kBoxFlows = 4;  // cards by which data go to a peer, that have a place here

inline constexpr std::size_t kRecordsOffset = kBoxHeaderBytes;
inline constexpr std::size_t kTimesOffset = kRecordsOffset + kRecords * sizeof(Record);
inline constexpr std::size_t kLinksOffset = kTimesOffset + kRecords * sizeof(Times);
inline constexpr int kMaxRanks = 1 << 19;
inline constexpr int kMaxChannels = 32;

// Where the flows to peer 0 begin.
constexpr std::size_t FlowsOffset(int ranks, int channels) {
  return kLinksOffset + static_cast<std::size_t>(ranks) * channels * sizeof(LinkWords);
}

// Bytes of a black box, a multiple of 4096.
constexpr std::size_t BoxBytes(int ranks, int channels) {
  return (FlowsOffset(ranks, channels) + static_cast<std::size_t>(ranks) * kBoxFlows * sizeof(FlowWords) + 4095) /
         4096 * 4096;
}

}  // namespace tutti::trace

#endif  // TUTTI_TRACE_LAYOUT_H_
