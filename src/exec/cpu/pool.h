// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_POOL_H_
#define TUTTI_EXEC_CPU_POOL_H_

// The sender's pool of shared pages, cut into equal slots. A slot holds the data of one or several posts and is free
// again when all their receivers are done with it. Cutting it anew for another size waits until every slot is free.
//
// Slots are dealt out to groups: the channels of a collective, the peers of sends and receives. One that must wait for its
// readers so leaves the others theirs; they could not go on otherwise, and its readers may be waiting for just them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/link.h"

namespace tutti::exec::cpu {

class Pool {
 public:
  static constexpr std::size_t kSmallBytes = 16384;
  // On a Xeon with a second-level cache of 16 ways, from 24 on lines that are written have left the caches of who read them last.
  static constexpr std::size_t kSlotsForSmall = 32;

  // Room is kept for `readers` of each slot.
  void Init(std::byte* data, std::size_t bytes, int readers) {
    data_ = data;
    bytes_ = bytes;
    readers_ = readers;
#if defined(__x86_64__)
    if (__builtin_cpu_is("intel")) fetched_ = {.longest_data = kSmallBytes, .most = 8192};
#endif
  }

  // Cuts the pool into slots of `slot_bytes`. Each of `groups` uses `slots` of them in turn, so that no more memory goes
  // round than is of use; for small data more, if there is room for kSlotsForSmall in all, which lets a one-way sender
  // run ahead. False while a slot is still being read; call again.
  bool Cut(std::size_t slot_bytes, std::size_t slots, std::size_t groups) {
    if (slot_bytes == slot_bytes_ && slots == wanted_slots_ && groups == wanted_groups_) return true;
    for (Slot& slot : slots_) {
      if (!Free(slot)) return false;
    }
    slot_bytes_ = slot_bytes;
    wanted_slots_ = slots;
    wanted_groups_ = groups;
    slots_.resize(std::min(bytes_ / slot_bytes, std::max(slots * groups, kSlotsForSmall)));
    for (Slot& slot : slots_) {
      slot.readers.clear();
      slot.readers.reserve(readers_);
    }
    // Where there are not even slots for all groups, they share.
    const std::size_t cuts = slots_.size() >= groups ? groups : 1;
    per_group_ = slots_.size() / cuts;
    next_.assign(cuts, 0);
    return true;
  }

  // Takes a free slot for `bytes` and holds it until Release; -1 while all of the group are in use.
  int Take(std::size_t bytes, std::size_t group) {
    if (group >= next_.size()) group = 0;
    const std::size_t turn = Turn(bytes);
    const std::size_t first = group * per_group_;
    std::size_t& next = next_[group];
    for (std::size_t tried = 0; tried < turn; ++tried) {
      if (next >= turn) next = 0;
      const std::size_t index = first + next++;
      if (!Free(slots_[index])) continue;
      slots_[index].held = true;
      return static_cast<int>(index);
    }
    refused_first_ = first;
    refused_ = turn;
    return -1;
  }
  // What the next Take for `bytes` is likely to give, the beginning of it, for the processor to fetch. Empty unless the data are short
  // enough for that to pay, and the slot's readers are known to be done: else its lines would be taken from a reader who is at work.
  std::span<const std::byte> Next(std::size_t bytes, std::size_t group) const {
    if (bytes > fetched_.longest_data) return {};
    if (group >= next_.size()) group = 0;
    const int next = static_cast<int>(group * per_group_ + (next_[group] < Turn(bytes) ? next_[group] : 0));
    const auto done = [](const Reader& r) { return r.index < r.link->posts_consumed; };
    if (!std::ranges::all_of(slots_[next].readers, done)) return {};
    return {Data(next), std::min(bytes, fetched_.most)};
  }
  // Whether each slot that the last refused Take could have taken has a reader, not done yet, on a link for which
  // `is_link` holds.
  template <typename IsLink>
  bool EverySlotIsReadBy(IsLink&& is_link) {
    const std::size_t first = std::min(refused_first_, slots_.size());
    const std::size_t last = std::min(refused_first_ + refused_, slots_.size());
    return std::all_of(slots_.begin() + first, slots_.begin() + last, [&](const Slot& slot) {
      return std::ranges::any_of(slot.readers,
                                 [&](const Reader& r) { return is_link(r.link) && !r.link->Consumed(r.index); });
    });
  }
  std::byte* Data(int slot) const { return data_ + slot * slot_bytes_; }
  std::uint64_t Offset(int slot) const { return slot * slot_bytes_; }
  // Says that post `index` of `link` refers to a slot.
  void AddReader(int slot, transport::Outgoing* link, std::uint64_t index) {
    slots_[slot].readers.push_back({link, index});
  }
  // No more readers will be added.
  void Release(int slot) { slots_[slot].held = false; }

 private:
  struct Reader {
    transport::Outgoing* link;
    std::uint64_t index;
  };
  struct Slot {
    std::vector<Reader> readers;
    bool held = false;
  };

  // What is fetched of the next slot, which pays where the processor waits for lines that it writes. From 2 KiB on `memcpy` takes the string
  // instruction, which on an EPYC of Zen 5 does not wait: 8 KiB take up to half less time there if nothing is fetched for them, and on a Xeon
  // up to 1.37 times as long (docs/decisions/0024-lines-asked-for-early.md). Elsewhere it is not known.
  struct Fetched {
    std::size_t longest_data, most;
  };

  // How many slots of a group data of `bytes` take in turn.
  std::size_t Turn(std::size_t bytes) const {
    return bytes <= kSmallBytes ? per_group_ : std::min(per_group_, wanted_slots_);
  }
  static bool Free(Slot& slot) {
    if (slot.held) return false;
    while (!slot.readers.empty()) {
      const Reader& reader = slot.readers.back();
      if (!reader.link->Consumed(reader.index)) return false;
      slot.readers.pop_back();
    }
    return true;
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int readers_ = 0;
  Fetched fetched_{.longest_data = 2048, .most = 2048};
  std::size_t slot_bytes_ = 0;
  std::size_t wanted_slots_ = 0;
  std::vector<Slot> slots_;
  std::size_t wanted_groups_ = 0;
  std::size_t per_group_ = 0;
  std::vector<std::size_t> next_;  // of each group
  // The slots of which the last refused Take could have taken one.
  std::size_t refused_first_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_POOL_H_
