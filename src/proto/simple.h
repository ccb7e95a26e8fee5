// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROTO_SIMPLE_H_
#define TUTTI_PROTO_SIMPLE_H_

// Simple: bulk data first, then one word that says it is there. Full bandwidth, one more dependent access.
//
// The word sits in a post, one cache line that tells the receiver where the data lies. A link owns a ring of posts;
// post number i (from 0) is in place i mod ring size.
//
//   byte  0          8          16         24     28       32     40     48        52      56         64
//         +----------+----------+----------+------+--------+------+------+---------+-------+----------+
//         | sequence | address  |  bytes   | kind | region | mark | help | readers | trial | began_ns |
//         +----------+----------+----------+------+--------+------+------+---------+-------+----------+
//
// `mark` names the call that the data belongs to (trace/call.h); a reader takes no data of another one. `help` and the
// receiver's offer are for a copy that both ends share: exec/cpu/shared_copy.h. `trial`, `began_ns` and the
// receiver's verdicts are for sends and receives whose way is found out by trying: comm/host/transfer_trials.h.
//
// Ordering: the writer fills the data, then the other fields, then stores sequence = i + 1 with release order;
// a reader that loads that value with acquire order may read the rest and the data. Reuse: the receiver counts the
// posts that it has done with (Credit, release order); a writer that has loaded the count (acquire) may reuse their
// places and their data.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::proto {

// Messages from here on may be written past the caches, where that is faster (exec/cpu/stores_by_trial.h). With shorter ones the reader,
// who then reads memory, loses about what the writer gains.
inline constexpr std::size_t kLeastStreamedBytes = std::size_t{16} << 10;

// A sender with nothing else to do helps to copy messages from here on (exec/cpu/shared_copy.h): two copies of half a shorter one would
// not be faster. At 32 KiB on two cores of a Xeon one copy takes 2.0 us and two halves 1.4; at 16 KiB 1.0 and 1.2.
inline constexpr std::size_t kLeastSharedBytes = std::size_t{32} << 10;

// Where a post's data lies.
enum class PostKind : std::uint32_t {
  kPool,       // address: offset in the sender's pool of shared pages
  kReference,  // address: in the sender's own memory, its user's buffer
  kRegion,     // address: offset in the memory that Communicator::AllocateShared gave the sender; region in `region`
  kPlaced,  // address: in the receiver's own memory, where it expected them (transport::Awaited) or offered its output
};

// What the first post of a send on trial says of it; all 0 in others.
struct OnTrial {
  std::uint32_t trial = 0;    // a word of comm/host/transfer_trials.h
  std::int64_t began_ns = 0;  // when the sender's call began, by a clock of the whole host
};

struct alignas(64) Post {
  std::atomic<std::uint64_t> sequence;
  std::uint64_t address;
  std::uint64_t bytes;
  PostKind kind;
  std::uint32_t region;
  std::uint64_t mark;
  std::atomic<std::uint64_t> help;
  std::uint32_t readers;  // kPool: how many peers get the data from these pages
  std::uint32_t trial;    // as in OnTrial
  std::int64_t began_ns;
};
static_assert(sizeof(Post) == 64);
static_assert(offsetof(Post, began_ns) == 56);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Where a receiver lets the sender of a post write (exec/cpu/shared_copy.h).
struct Offer {
  std::atomic<std::uint64_t> front;
  std::atomic<std::uint64_t> landing;
  std::atomic<std::uint64_t> mark;
};

// Which way sends to a receiver had better take, as that has found out. Bits: comm/host/transfer_trials.h.
struct Verdicts {
  std::atomic<std::uint64_t> found;         // stored with release order after the other
  std::atomic<std::uint64_t> by_reference;  // else through the pool; where `found` has the bit
};

// What a receiver has consumed of one link, in each protocol's unit; one cache line, written by the receiver alone.
// Each counter only grows. Stored with release order after the last read of what it covers; loaded with acquire.
struct alignas(64) Credit {
  std::atomic<std::uint64_t> ll_units;
  std::atomic<std::uint64_t> ll128_lines;
  std::atomic<std::uint64_t> posts;
  Offer offer;
  Verdicts verdicts;
};
static_assert(sizeof(Credit) == 64);

}  // namespace tutti::proto

#endif  // TUTTI_PROTO_SIMPLE_H_
