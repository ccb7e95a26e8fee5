// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/failures.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <utility>

#include "exec/gpu/launch/lowered.h"
#include "exec/gpu/lower/copies.h"

namespace tutti::exec::gpu {

static_assert(Failures::kSlots <= transport::p2p::kMostWays);

struct Failures::Ways {
  struct Slot {
    std::optional<Lowered> lowered;
    bool shared = false;      // by several ways, or by one that has been forgotten
    bool one_seating = true;  // they know the same ranks
  };
  std::mutex mutex;
  std::array<Slot, kSlots> slots;  // guarded by mutex
  int used = 0;                    // likewise

  int Find(const Lowered& lowered);
  void Forget(const PreparedPlan& plan);
};

Failures::Failures() : kernels_(std::make_unique<Ways>()), copies_(std::make_unique<Ways>()) {}

Failures::~Failures() = default;

void Failures::Use(HostWords* host, HostWords* device) {
  host_ = host;
  device_ = device;
}

int Failures::Ways::Find(const Lowered& lowered) {
  const std::lock_guard lock(mutex);
  const auto end = slots.begin() + std::min(used, kSlots);
  const auto same = std::find_if(slots.begin(), end, [&](const Slot& slot) { return slot.lowered == lowered; });
  if (same != end) return static_cast<int>(same - slots.begin());
  const int turn = used++ % kSlots;
  if (used == 2 * kSlots) used = kSlots;  // so that it stays small
  Slot& slot = slots[static_cast<std::size_t>(turn)];
  if (slot.lowered) {
    slot.shared = true;
    slot.one_seating &= slot.lowered->rank_of == lowered.rank_of;
  }
  slot.lowered = lowered;
  return turn;
}

void Failures::Ways::Forget(const PreparedPlan& plan) {
  const std::lock_guard lock(mutex);
  for (Slot& slot : slots) {
    if (!slot.lowered || slot.lowered->plan != &plan) continue;
    slot.shared = true;
    slot.lowered->plan = nullptr;
  }
}

HostWords* Failures::WordsFor(const PreparedPlan& plan, const Program& program) {
  return device_ + kernels_->Find(LoweredOf(plan, program));
}

HostWords* Failures::WordsForBatch(const PreparedPlan& plan) { return device_ + kernels_->Find(LoweredOfBatch(plan)); }

HostWords* Failures::WordsFor(const PreparedPlan& plan, const Relay& relay) {
  return device_ + kernels_->Find(LoweredOf(plan, relay));
}

HostWords* Failures::WordsFor(const PreparedPlan& plan, const Group& group, std::vector<std::uint16_t> steps,
                              const std::vector<int>& rank_of) {
  return device_ + kernels_->Find(LoweredOf(plan, group, std::move(steps), rank_of));
}

int Failures::WayOf(const PreparedPlan& plan) { return copies_->Find(LoweredOfCopies(plan)); }

void Failures::Forget(const PreparedPlan& plan) {
  kernels_->Forget(plan);
  copies_->Forget(plan);
}

void Failures::EndKernels() {
  for (int i = 0; host_ != nullptr && i < kSlots; ++i) static_cast<volatile HostWords&>(host_[i]).abort = 1;
}

bool Failures::ending() const {
  return host_ != nullptr && static_cast<const volatile HostWords&>(host_[0]).abort != 0;
}

std::optional<FailedWait> Failures::Find() {
  for (int i = 0; host_ != nullptr && i < kSlots; ++i) {
    const std::uint64_t failure = static_cast<const volatile HostWords&>(host_[i]).failure;
    if (failure == 0) continue;
    const std::lock_guard lock(kernels_->mutex);
    const Ways::Slot& slot = kernels_->slots[static_cast<std::size_t>(i)];
    if (!slot.lowered) continue;
    if (!slot.shared) return ReadFailure(*slot.lowered, failure);
    return ReadShared(failure, slot.one_seating ? &*slot.lowered : nullptr);
  }
  return std::nullopt;
}

std::span<const volatile std::uint64_t> Failures::WaitsOf(int slot) const {
  if (host_ == nullptr) return {};
  return static_cast<const volatile HostWords&>(host_[slot]).waits;
}

int Failures::RankAt(int slot, int seat) const {
  const std::lock_guard lock(kernels_->mutex);
  const Ways::Slot& of = kernels_->slots[static_cast<std::size_t>(slot)];
  if (!of.lowered || !of.one_seating) return -1;
  const std::vector<int>& rank_of = of.lowered->rank_of;
  if (rank_of.empty()) return seat;
  return seat < static_cast<int>(rank_of.size()) ? rank_of[static_cast<std::size_t>(seat)] : -1;
}

FailedWait Failures::Read(const CopyWait& wait) {
  if (wait.stage == transport::p2p::kAwaitingSignals) return {.awaited = Awaited::kSignals, .peer = wait.peer};
  const std::lock_guard lock(copies_->mutex);
  const Ways::Slot& slot = copies_->slots[static_cast<std::size_t>(wait.way)];
  if (slot.lowered && !slot.shared) return ReadFailure(*slot.lowered, wait);
  return {.awaited = wait.stage == transport::p2p::kLeaving ? Awaited::kData : Awaited::kRoom, .peer = wait.peer};
}

}  // namespace tutti::exec::gpu
