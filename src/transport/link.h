// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_LINK_H_
#define TUTTI_TRANSPORT_LINK_H_

// What a link is: a one-way FIFO from one rank to another on one channel. After set-up both ends are plain pointers
// into shared pages, so an executor makes no virtual call to move data. A link has three rings, one per protocol
// (proto/): both ends know from the operation which one a message takes.

#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/simple.h"
#include "tutti/status.h"

namespace tutti::proto {
struct LlLine;
struct Ll128Line;
}  // namespace tutti::proto

namespace tutti::transport {

// A rank's life, as its peers see it. Only ever moves down this list.
enum class RankState : std::uint32_t { kStarting, kReady, kLeft, kFailed };

// What a peer says of itself.
struct PeerState {
  RankState state = RankState::kReady;
  // Of one that has failed: why, and which rank is to blame.
  Code code = Code::kOk;
  int culprit = -1;
  std::string reason;
  // Of one that has left: how many collectives it has called, and the mark of the last (trace/call.h).
  std::uint64_t collectives = 0;
  std::uint64_t mark = 0;
};

// Sizes of a link's rings, as powers of two; the same for all links of a communicator.
struct RingSizes {
  int log2_ll_units = 7;
  int log2_ll128_lines = 8;
  int log2_posts = 5;

  std::size_t ll_units() const { return std::size_t{1} << log2_ll_units; }
  std::size_t ll128_lines() const { return std::size_t{1} << log2_ll128_lines; }
  std::size_t posts() const { return std::size_t{1} << log2_posts; }
};

// The sender's end. `credit` is written by the receiver; the heads are private to the sender.
struct Outgoing {
  proto::LlLine* ll = nullptr;
  proto::Ll128Line* ll128 = nullptr;
  proto::Post* posts = nullptr;
  const proto::Credit* credit = nullptr;

  // Running numbers of the next unit, line and post to write, and how far the receiver was known to be.
  std::uint64_t ll_head = 0, ll_consumed = 0;
  std::uint64_t ll128_head = 0, ll128_consumed = 0;
  std::uint64_t post_head = 0, posts_consumed = 0;

  // True once the receiver is done with post `index`.
  bool Consumed(std::uint64_t index) {
    if (index < posts_consumed) return true;
    posts_consumed = credit->posts.load(std::memory_order_acquire);
    return index < posts_consumed;
  }
};

// How a receiver gets at memory that a post refers to.
enum class Reach : std::uint8_t {
  kNone,         // not at all: the sender must not refer
  kSameProcess,  // the address is good here
  kSystemCall,   // process_vm_readv
  kOtherHost,    // not at all, and the sender may refer all the same: what carries the link reads it there
};

// Messages by pool of more than this are read through the second mapping of the pool, where there is one. It pays from
// where the C library's memcpy hands over to the processor's string instruction (2112 bytes on processors that have a fast
// one); up to there it costs up to a fifth. Values that several peers read from the same pages are left out (Post::readers):
// they would take up to a tenth longer. docs/decisions/0003-segments.md has the figures.
inline constexpr std::size_t kShortPoolMessageBytes = 2048;
// And of up to this, where a rank folds what the others send and sends nothing: they wait for it, so that it does not gain
// when they write sooner, and longer messages take it up to a tenth longer.
inline constexpr std::size_t kLongestFoldedAlone = 8192;

// A message to come by a post, and where its data may be put as they arrive.
struct Awaited {
  std::uint64_t post = 0;  // its running number in its link
  std::uint64_t mark = 0;  // of the call that it belongs to
  std::byte* where = nullptr;
  std::size_t bytes = 0;
};

// The receiver's end. `credit` is the receiver's own.
struct Incoming {
  const proto::LlLine* ll = nullptr;
  const proto::Ll128Line* ll128 = nullptr;
  const proto::Post* posts = nullptr;
  proto::Credit* credit = nullptr;
  // The sender's pool, as mapped here for short messages and for long ones. The same pages; at one address where there is
  // one mapping only.
  const std::byte* short_pool = nullptr;
  const std::byte* long_pool = nullptr;
  std::int32_t thread = 0;  // of the sender's process, for system calls that reach into its memory
  Reach reach = Reach::kNone;

  std::uint64_t ll_head = 0;
  std::uint64_t ll128_head = 0;
  std::uint64_t post_head = 0;

  // A message of `bytes` bytes at `offset` of the sender's pool. `long_bytes_max`: none longer is read through the second
  // mapping.
  const std::byte* PoolData(std::uint64_t offset, std::size_t bytes, std::size_t long_bytes_max) const {
    const bool is_long = bytes > kShortPoolMessageBytes && bytes <= long_bytes_max;
    return (is_long ? long_pool : short_pool) + offset;
  }
};

}  // namespace tutti::transport

#endif  // TUTTI_TRANSPORT_LINK_H_
