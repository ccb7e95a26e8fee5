// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_KERNELS_MEMORY_H_
#define TUTTI_TESTS_KERNELS_MEMORY_H_

// The ranks' device memory as peers write to it. A store is on its way until it is delivered, in any order with others,
// except that
//
//   * stores of a block to the same place arrive in their order;
//   * what a thread stores behind a fence arrives after what it stored before, and after what other threads of its block had
//     stored when it last met them: in a barrier, or by a counter that it acquired.
//
// A load finds what has been delivered or, unless an acquire forbids it, what was there some deliveries before; and what its thread
// has stored in its own rank's memory itself. An atom is stored and loaded as a whole: 8 bytes or less, or a line of 128.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/kernels/random.h"

namespace tutti::tests {

// What a thread knows of the order of stores and deliveries. Numbers grow with each.
struct View {
  std::uint64_t met = 0;         // stores of its block before this one are known to it
  std::uint64_t fenced_met = 0;  // `met` at its last fence
  std::uint64_t fenced_own = 0;  // its own stores up to here were made before its last fence
  std::uint64_t delivered = 0;   // a load finds at least what had been delivered by then
};

// Stores of one block that are on their way.
class StoreQueue {
 public:
  explicit StoreQueue(int rank) : rank_(rank) {}
  bool empty() const { return atoms_.empty(); }
  std::size_t size() const { return atoms_.size(); }
  int rank() const { return rank_; }

 private:
  friend class Memory;
  struct Atom {
    std::uint64_t number, after_met, after_own;
    std::byte* at;
    std::uint32_t bytes, thread;
    alignas(8) std::byte data[128];
  };
  int rank_;
  std::vector<Atom*> atoms_;  // oldest first
  std::size_t to_own_ = 0;    // of them, to its own rank's memory
};

class Memory {
 public:
  Memory(int ranks, std::size_t segment_bytes, Random& random);

  std::byte* segment(int rank) const { return base_ + static_cast<std::size_t>(rank) * stride_; }
  // -1: not in a segment.
  int RankAt(const void* at) const;

  void Store(StoreQueue& queue, const View& view, std::uint32_t thread, void* at, const void* data,
             std::uint32_t bytes);
  // Delivers one of the queue's stores; returns whose memory it went to. REQUIRES: !queue.empty().
  int Deliver(StoreQueue& queue);
  void DeliverAll(StoreQueue& queue);
  // As new: everything that has been delivered is gone. What ranks have written to their own memory themselves stays.
  void Reset();
  // One in `one_of` loads finds something old; 0: none.
  void Load(const View& view, const void* at, void* data, std::uint32_t bytes, int one_of);
  // What a thread has on its way to its own rank's memory takes the place of what its load has found.
  static void LoadOwn(const StoreQueue& queue, std::uint32_t thread, const void* at, void* data, std::uint32_t bytes);

  void Meet(View& view) const { view.met = stores_; }
  void Fence(View& view) const {
    view.fenced_met = view.met;
    view.fenced_own = stores_;
    Acquire(view);
  }
  void Acquire(View& view) const { view.delivered = deliveries_; }

  std::uint64_t deliveries() const { return deliveries_; }

 private:
  using Atom = StoreQueue::Atom;
  struct Overwritten {
    std::uint64_t delivery;
    const std::byte* at;
    std::uint32_t bytes;
    alignas(8) std::byte data[128];
  };
  static constexpr std::size_t kRemembered = 48;  // deliveries to a rank
  static constexpr std::size_t kPage = 4096;

  static bool MayLeave(const StoreQueue& queue, std::size_t index);
  // What lies at `from` takes the place of what of it is in `data`, which lies at `at`.
  static void CopyCommon(const std::byte* at, void* data, std::uint32_t bytes, const std::byte* from,
                         const std::byte* from_data, std::uint32_t from_bytes);

  std::size_t stride_;
  int ranks_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* base_;
  Random& random_;
  std::uint64_t stores_ = 0, deliveries_ = 0;
  std::deque<Atom> atoms_;
  std::vector<Atom*> free_;
  std::vector<std::deque<Overwritten>> overwritten_;  // by rank, newest last
  std::vector<bool> written_;                         // by page
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_KERNELS_MEMORY_H_
