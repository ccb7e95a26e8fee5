// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/memory.h"

#include <algorithm>
#include <cstring>

namespace tutti::tests {

namespace {

bool Overlap(const std::byte* a, std::uint32_t a_bytes, const std::byte* b, std::uint32_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

Memory::Memory(int ranks, std::size_t segment_bytes, Random& random)
    : stride_((segment_bytes + kPage) / kPage * kPage),
      ranks_(ranks),
      memory_(std::make_unique<std::byte[]>(stride_ * static_cast<std::size_t>(ranks) + kPage)),
      random_(random),
      overwritten_(static_cast<std::size_t>(ranks)),
      written_(stride_ / kPage * static_cast<std::size_t>(ranks)) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  base_ = memory_.get() + (kPage - address % kPage) % kPage;
}

int Memory::RankAt(const void* at) const {
  const auto* byte = static_cast<const std::byte*>(at);
  if (byte < base_ || byte >= base_ + stride_ * static_cast<std::size_t>(ranks_)) return -1;
  return static_cast<int>(static_cast<std::size_t>(byte - base_) / stride_);
}

void Memory::Store(StoreQueue& queue, const View& view, std::uint32_t thread, void* at, const void* data,
                   std::uint32_t bytes) {
  if (free_.empty()) free_.push_back(&atoms_.emplace_back());
  Atom* atom = free_.back();
  free_.pop_back();
  atom->number = ++stores_;
  atom->after_met = view.fenced_met;
  atom->after_own = view.fenced_own;
  atom->at = static_cast<std::byte*>(at);
  atom->bytes = bytes;
  atom->thread = thread;
  queue.to_own_ += RankAt(at) == queue.rank_ ? 1 : 0;
  std::memcpy(atom->data, data, bytes);
  queue.atoms_.push_back(atom);
}

bool Memory::MayLeave(const StoreQueue& queue, std::size_t index) {
  const Atom& atom = *queue.atoms_[index];
  if (index > 0 && queue.atoms_[0]->number <= atom.after_met) return false;
  for (std::size_t i = 0; i < index; ++i) {
    const Atom& earlier = *queue.atoms_[i];
    if (earlier.thread == atom.thread && earlier.number <= atom.after_own) return false;
    if (Overlap(earlier.at, earlier.bytes, atom.at, atom.bytes)) return false;
  }
  return true;
}

int Memory::Deliver(StoreQueue& queue) {
  constexpr int kTries = 4;
  std::size_t index = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::size_t wanted = random_.Below(queue.atoms_.size());
    if (!MayLeave(queue, wanted)) continue;
    index = wanted;
    break;
  }
  Atom* atom = queue.atoms_[index];
  queue.atoms_.erase(queue.atoms_.begin() + static_cast<std::ptrdiff_t>(index));
  const int rank = RankAt(atom->at);
  queue.to_own_ -= rank == queue.rank_ ? 1 : 0;
  written_[static_cast<std::size_t>(atom->at - base_) / kPage] = true;
  std::deque<Overwritten>& old = overwritten_[static_cast<std::size_t>(rank)];
  if (old.size() == kRemembered) old.pop_front();
  Overwritten& entry = old.emplace_back();
  entry.delivery = ++deliveries_;
  entry.at = atom->at;
  entry.bytes = atom->bytes;
  std::memcpy(entry.data, atom->at, atom->bytes);
  std::memcpy(atom->at, atom->data, atom->bytes);
  free_.push_back(atom);
  return rank;
}

void Memory::DeliverAll(StoreQueue& queue) {
  while (!queue.empty()) Deliver(queue);
}

void Memory::Reset() {
  for (std::size_t page = 0; page < written_.size(); ++page) {
    if (written_[page]) std::memset(base_ + page * kPage, 0, kPage);
    written_[page] = false;
  }
  for (auto& old : overwritten_) old.clear();
  stores_ = deliveries_ = 0;
}

void Memory::Load(const View& view, const void* at, void* data, std::uint32_t bytes, int one_of) {
  std::memcpy(data, at, bytes);
  const std::deque<Overwritten>& old = overwritten_[static_cast<std::size_t>(RankAt(at))];
  if (old.empty() || old.back().delivery <= view.delivered || !random_.OneOf(one_of)) return;
  const std::size_t undone = random_.Below(old.size()) + 1;
  const auto* from = static_cast<const std::byte*>(at);
  for (auto entry = old.rbegin(); entry < old.rbegin() + static_cast<std::ptrdiff_t>(undone); ++entry) {
    if (entry->delivery <= view.delivered) break;
    CopyCommon(from, data, bytes, entry->at, entry->data, entry->bytes);
  }
}

void Memory::LoadOwn(const StoreQueue& queue, std::uint32_t thread, const void* at, void* data, std::uint32_t bytes) {
  if (queue.to_own_ == 0) return;
  for (const Atom* atom : queue.atoms_) {
    if (atom->thread != thread) continue;
    CopyCommon(static_cast<const std::byte*>(at), data, bytes, atom->at, atom->data, atom->bytes);
  }
}

void Memory::CopyCommon(const std::byte* at, void* data, std::uint32_t bytes, const std::byte* from,
                        const std::byte* from_data, std::uint32_t from_bytes) {
  if (!Overlap(at, bytes, from, from_bytes)) return;
  const std::byte* begin = std::max(at, from);
  const std::byte* end = std::min(at + bytes, from + from_bytes);
  std::memcpy(static_cast<std::byte*>(data) + (begin - at), from_data + (begin - from),
              static_cast<std::size_t>(end - begin));
}

}  // namespace tutti::tests
