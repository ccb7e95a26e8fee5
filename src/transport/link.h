// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_LINK_H_
#define TUTTI_TRANSPORT_LINK_H_

// What a link is: a one-way FIFO from one rank to another on one channel. After set-up both ends are plain pointers
// into shared pages, so an executor makes no virtual call to move data. A link has three rings, one per protocol
// (proto/): both ends know from the operation which one a message takes.

#include <cstddef>
#include <cstdint>

#include "proto/ll.h"
#include "proto/ll128.h"
#include "proto/simple.h"

namespace tutti::transport {

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
};

// The receiver's end. `credit` is the receiver's own.
struct Incoming {
  const proto::LlLine* ll = nullptr;
  const proto::Ll128Line* ll128 = nullptr;
  const proto::Post* posts = nullptr;
  proto::Credit* credit = nullptr;
  const std::byte* pool = nullptr;  // the sender's pool, as mapped here
  std::int32_t pid = 0;             // the sender's process
  Reach reach = Reach::kNone;

  std::uint64_t ll_head = 0;
  std::uint64_t ll128_head = 0;
  std::uint64_t post_head = 0;
};

}  // namespace tutti::transport

#endif  // TUTTI_TRANSPORT_LINK_H_
