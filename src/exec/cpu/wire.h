// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_WIRE_H_
#define TUTTI_EXEC_CPU_WIRE_H_

// How the CPU writes and reads the rings of a link (formats: proto/). Write* REQUIRES room, which Room* reports.
// Read* moves `progress` (units or lines of the message that have been taken) on as far as data has arrived and
// returns true when the message is complete; it never waits long. `mark` names the call that a message belongs to; what
// is there of another call counts as not arrived, and PeekNext tells. `awaited`: the reader may be waiting for the message.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "proto/ll.h"
#include "proto/ll128.h"
#include "proto/protocol.h"
#include "sys/os/clock.h"
#include "transport/link.h"

namespace tutti::exec::cpu {

using transport::Incoming;
using transport::Outgoing;
using transport::RingSizes;

// Cache lines are asked for before they are needed, because each one that the other end of a link has touched last is a miss of a
// tenth of a microsecond, and only those asked for together wait together (docs/decisions/0024-lines-asked-for-early.md).
//
// * A writer asks for the lines that its next message will be written to.
// * A reader asks for the lines of messages that follow. It leaves alone those of the next message, as long as that is not there: a
//   writer that is not ahead writes just these. What follows lies in the reader's own cache then, and asking costs nothing.
// * A writer whose reader waits gives up the lines that it has written, since a reader finds a line sooner in the cache that all cores share
//   than in the writer's own. Where messages follow each other without a wait that only costs time.

// Asks for a cache line in writable state.
inline void PrefetchForWrite(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" ::"m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}
inline constexpr std::size_t kCacheLine = 64;
inline void PrefetchForWrite(std::span<const std::byte> range) {
  for (std::size_t at = 0; at < range.size(); at += kCacheLine) PrefetchForWrite(range.data() + at);
}
inline void PrefetchForRead(std::span<const std::byte> range) {
  for (std::size_t at = 0; at < range.size(); at += kCacheLine) __builtin_prefetch(range.data() + at);
}

// Moves a cache line that has been written to the cache that all cores share. Processors without the instruction do nothing.
inline void Demote([[maybe_unused]] const void* p) {
#if defined(__x86_64__)
  asm volatile("cldemote %0" ::"m"(*static_cast<const char*>(p)));
#endif
}
// Of longer data the reader looks ahead by itself, and giving them up costs more than is gained.
inline constexpr std::size_t kMostDemotedBytes = 1024;
inline void Demote(std::span<const std::byte> range) {
  if (range.size() > kMostDemotedBytes) return;
  for (std::size_t at = 0; at < range.size(); at += kCacheLine) Demote(range.data() + at);
}

// So many units or lines of the next message a sender asks for, and a receiver of the message after the next two. Twice as many of LL
// make an all_reduce of 512 B slower.
inline constexpr std::size_t kLlUnitsAhead = 4;
inline constexpr std::size_t kLl128LinesAhead = 16;
inline constexpr std::size_t kMessagesAhead = 2;

// A sender that has run into the receiver waits until a quarter of the ring is free: else it would fetch the receiver's
// credit for every message. With at most 4 messages of a quarter ring each in a link nobody waits longer for that.
inline constexpr int kMostSlotsToBatch = 4;
inline std::uint64_t Batch(std::size_t ring, int link_slots) { return link_slots <= kMostSlotsToBatch ? ring / 4 : 1; }

inline bool RoomLl(Outgoing& tx, const RingSizes& rings, std::size_t bytes, int link_slots) {
  const std::uint64_t end = tx.ll_head + proto::LlUnits(bytes);
  if (end - tx.ll_consumed <= rings.ll_units()) [[likely]]
    return true;
  const std::uint64_t consumed = tx.credit->ll_units.load(std::memory_order_acquire);
  const std::uint64_t batch_end = tx.ll_head + Batch(rings.ll_units(), link_slots);
  if (std::max(end, batch_end) - consumed > rings.ll_units()) return false;
  tx.ll_consumed = consumed;
  return true;
}

inline void WriteLl(Outgoing& tx, const RingSizes& rings, std::uint64_t mark, const std::byte* data, std::size_t bytes,
                    bool awaited) {
  const std::uint64_t mask = rings.ll_units() - 1;
  const std::size_t units = proto::LlUnits(bytes);
  while (bytes > 0) {
    auto* words = reinterpret_cast<std::uint64_t*>(tx.ll + (tx.ll_head & mask) * proto::kLlLinesPerUnit);
    const std::uint64_t flag = std::uint64_t{proto::LlFlag(tx.ll_head, rings.log2_ll_units, mark)} << 32;
    std::uint32_t values[8] = {};
    const std::size_t part = std::min(bytes, proto::kLlUnitPayloadBytes);
    if (part == 8) {
      std::memcpy(values, data, 8);
    } else {
      std::memcpy(values, data, part);
    }
    for (int i = 0; i < 8; ++i) __atomic_store_n(words + i, values[i] | flag, __ATOMIC_RELAXED);
    if (awaited) Demote(words);
    data += part;
    bytes -= part;
    ++tx.ll_head;
  }
  for (std::size_t i = 0; i < std::min(units, kLlUnitsAhead); ++i) {
    PrefetchForWrite(tx.ll + ((tx.ll_head + i) & mask) * proto::kLlLinesPerUnit);
  }
}

inline bool ReadLl(Incoming& rx, const RingSizes& rings, std::uint64_t mark, std::byte* out, std::size_t bytes,
                   std::size_t& progress, int spins) {
  const std::uint64_t mask = rings.ll_units() - 1;
  const std::size_t units = proto::LlUnits(bytes);
  while (progress < units) {
    const std::uint64_t index = rx.ll_head + progress;
    const auto* words = reinterpret_cast<const std::uint64_t*>(rx.ll + (index & mask) * proto::kLlLinesPerUnit);
    const std::uint32_t flag = proto::LlFlag(index, rings.log2_ll_units, mark);
    const std::size_t offset = progress * proto::kLlUnitPayloadBytes;
    const std::size_t part = std::min(bytes - offset, proto::kLlUnitPayloadBytes);
    const int needed = static_cast<int>((part + 3) / 4);
    std::uint32_t values[8];
    for (int i = 0; i < needed; ++i) {
      std::uint64_t word = __atomic_load_n(words + i, __ATOMIC_RELAXED);
      while (static_cast<std::uint32_t>(word >> 32) != flag) {
        if (--spins < 0) return false;
        sys::CpuPause();  // a line that is asked for all the time is slow to write
        word = __atomic_load_n(words + i, __ATOMIC_RELAXED);
      }
      values[i] = static_cast<std::uint32_t>(word);
    }
    std::memcpy(out + offset, values, part);
    ++progress;
  }
  rx.ll_head += units;
  for (std::size_t i = 0; i < std::min(units, kLlUnitsAhead); ++i) {
    __builtin_prefetch(rx.ll + ((rx.ll_head + kMessagesAhead * units + i) & mask) * proto::kLlLinesPerUnit);
  }
  rx.credit->ll_units.store(rx.ll_head, std::memory_order_release);
  return true;
}

inline bool RoomLl128(Outgoing& tx, const RingSizes& rings, std::size_t bytes, int link_slots) {
  const std::uint64_t end = tx.ll128_head + proto::Ll128Lines(bytes);
  if (end - tx.ll128_consumed <= rings.ll128_lines()) [[likely]]
    return true;
  const std::uint64_t consumed = tx.credit->ll128_lines.load(std::memory_order_acquire);
  const std::uint64_t batch_end = tx.ll128_head + Batch(rings.ll128_lines(), link_slots);
  if (std::max(end, batch_end) - consumed > rings.ll128_lines()) return false;
  tx.ll128_consumed = consumed;
  return true;
}

inline void WriteLl128(Outgoing& tx, const RingSizes& rings, std::uint64_t mark, const std::byte* data,
                       std::size_t bytes, bool awaited) {
  const std::uint64_t mask = rings.ll128_lines() - 1;
  const std::size_t lines = proto::Ll128Lines(bytes);
  while (bytes > 0) {
    proto::Ll128Line* line = tx.ll128 + (tx.ll128_head & mask);
    if (bytes >= proto::kLl128PayloadBytes) [[likely]] {
      std::memcpy(line->data, data, proto::kLl128PayloadBytes);
      data += proto::kLl128PayloadBytes;
      bytes -= proto::kLl128PayloadBytes;
    } else {
      std::memcpy(line->data + proto::Ll128Begin(bytes), data, bytes);
      bytes = 0;
    }
    __atomic_store_n(&line->flag, proto::Ll128Flag(tx.ll128_head, rings.log2_ll128_lines, mark), __ATOMIC_RELEASE);
    if (awaited) {
      Demote(line);
      Demote(&line->flag);
    }
    ++tx.ll128_head;
  }
  for (std::size_t i = 0; i < std::min(lines, kLl128LinesAhead); ++i) {
    const proto::Ll128Line* next = tx.ll128 + ((tx.ll128_head + i) & mask);
    PrefetchForWrite(next);
    PrefetchForWrite(&next->flag);
  }
}

inline bool ReadLl128(Incoming& rx, const RingSizes& rings, std::uint64_t mark, std::byte* out, std::size_t bytes,
                      std::size_t& progress, int spins) {
  const std::uint64_t mask = rings.ll128_lines() - 1;
  const std::size_t lines = proto::Ll128Lines(bytes);
  while (progress < lines) {
    const std::uint64_t index = rx.ll128_head + progress;
    const proto::Ll128Line* line = rx.ll128 + (index & mask);
    const std::uint64_t flag = proto::Ll128Flag(index, rings.log2_ll128_lines, mark);
    while (__atomic_load_n(&line->flag, __ATOMIC_ACQUIRE) != flag) {
      if (--spins < 0) return false;
      sys::CpuPause();
    }
    const std::size_t offset = progress * proto::kLl128PayloadBytes;
    if (bytes - offset >= proto::kLl128PayloadBytes) [[likely]] {
      std::memcpy(out + offset, line->data, proto::kLl128PayloadBytes);
    } else {
      std::memcpy(out + offset, line->data + proto::Ll128Begin(bytes - offset), bytes - offset);
    }
    ++progress;
  }
  rx.ll128_head += lines;
  for (std::size_t i = 0; i < std::min(lines, kLl128LinesAhead); ++i) {
    const proto::Ll128Line* ahead = rx.ll128 + ((rx.ll128_head + kMessagesAhead * lines + i) & mask);
    __builtin_prefetch(ahead);
    __builtin_prefetch(&ahead->flag);
  }
  rx.credit->ll128_lines.store(rx.ll128_head, std::memory_order_release);
  return true;
}

inline bool RoomPost(Outgoing& tx, const RingSizes& rings) {
  if (tx.post_head - tx.posts_consumed < rings.posts()) [[likely]]
    return true;
  tx.posts_consumed = tx.credit->posts.load(std::memory_order_acquire);
  return tx.post_head - tx.posts_consumed < rings.posts();
}

// The place of the next post that WritePost writes.
inline proto::Post& NextPost(const Outgoing& tx, const RingSizes& rings) {
  return tx.posts[tx.post_head & (rings.posts() - 1)];
}

// Publishes data that has been written before this call. Returns the post's running number.
inline std::uint64_t WritePost(Outgoing& tx, const RingSizes& rings, std::uint64_t mark, proto::PostKind kind,
                               std::uint64_t address, std::size_t bytes, std::uint32_t region = 0,
                               std::uint32_t readers = 1, const proto::OnTrial& on_trial = {}) {
  proto::Post& post = NextPost(tx, rings);
  post.address = address;
  post.bytes = bytes;
  post.kind = kind;
  post.region = region;
  post.mark = mark;
  post.help.store(0, std::memory_order_relaxed);
  post.readers = readers;
  post.trial = on_trial.trial;
  post.began_ns = on_trial.began_ns;
  post.sequence.store(tx.post_head + 1, std::memory_order_release);
  return tx.post_head++;
}

// Demotes the post that was written last.
inline void DemotePost(const Outgoing& tx, const RingSizes& rings) {
  Demote(&tx.posts[(tx.post_head - 1) & (rings.posts() - 1)]);
}

// The next post of the link, or null while there is none. It stays the next one.
inline const proto::Post* LookAtPost(const Incoming& rx, const RingSizes& rings, std::uint64_t mark, int spins) {
  const proto::Post& post = rx.posts[rx.post_head & (rings.posts() - 1)];
  while (post.sequence.load(std::memory_order_acquire) != rx.post_head + 1) {
    if (--spins < 0) return nullptr;
    sys::CpuPause();
  }
  if (post.mark != mark) [[unlikely]]
    return nullptr;
  return &post;
}

// Asks for the post after the next one, and for the data of the next one, where it is there and short: longer ones the processor
// fetches ahead by itself, and as fast.
inline void LookAhead(const Incoming& rx, const RingSizes& rings) {
  const std::uint64_t mask = rings.posts() - 1;
  __builtin_prefetch(&rx.posts[(rx.post_head + 1) & mask]);
  const proto::Post& next = rx.posts[rx.post_head & mask];
  if (next.sequence.load(std::memory_order_acquire) != rx.post_head + 1) return;
  if (next.kind != proto::PostKind::kPool || next.bytes > transport::kShortPoolMessageBytes) return;
  PrefetchForRead({rx.PoolData(next.address, next.bytes, 0), next.bytes});
}

// The same, and advances the head; the credit is given back by ReleasePosts.
inline const proto::Post* ReadPost(Incoming& rx, const RingSizes& rings, std::uint64_t mark, int spins) {
  const proto::Post* const post = LookAtPost(rx, rings, mark, spins);
  if (post == nullptr) [[unlikely]]
    return nullptr;
  ++rx.post_head;
  LookAhead(rx, rings);
  return post;
}

// The mark of the next message of the link, as much of it as the protocol carries (`bits`); none where nothing of it has
// arrived yet. `progress`: units or lines of it that have been taken already.
struct Next {
  bool arrived = false;
  std::uint64_t mark = 0;
  std::uint64_t bits = 0;
};
inline Next PeekNext(const Incoming& rx, const RingSizes& rings, proto::Protocol protocol, std::size_t progress = 0) {
  switch (protocol) {
    case proto::Protocol::kLl: {
      const std::uint64_t index = rx.ll_head + progress;
      const auto* words =
          reinterpret_cast<const std::uint64_t*>(rx.ll + (index & (rings.ll_units() - 1)) * proto::kLlLinesPerUnit);
      const auto flag = static_cast<std::uint32_t>(__atomic_load_n(words, __ATOMIC_RELAXED) >> 32);
      const bool arrived = ((flag ^ proto::LlFlag(index, rings.log2_ll_units, 0)) & proto::kLlPassBits) == 0;
      return {arrived, std::uint64_t{flag & ~proto::kLlPassBits} << 32, std::uint64_t{~proto::kLlPassBits} << 32};
    }
    case proto::Protocol::kLl128: {
      const std::uint64_t index = rx.ll128_head + progress;
      const std::uint64_t flag = __atomic_load_n(&rx.ll128[index & (rings.ll128_lines() - 1)].flag, __ATOMIC_RELAXED);
      const bool arrived = ((flag ^ proto::Ll128Flag(index, rings.log2_ll128_lines, 0)) & proto::kLl128PassBits) == 0;
      return {arrived, flag & ~proto::kLl128PassBits, ~proto::kLl128PassBits};
    }
    case proto::Protocol::kSimple:
      break;
  }
  const proto::Post& post = rx.posts[rx.post_head & (rings.posts() - 1)];
  if (post.sequence.load(std::memory_order_acquire) != rx.post_head + 1) return {};
  return {true, post.mark, ~std::uint64_t{0}};
}

// Gives back every post that has been read so far.
inline void ReleasePosts(Incoming& rx) { rx.credit->posts.store(rx.post_head, std::memory_order_release); }

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_WIRE_H_
