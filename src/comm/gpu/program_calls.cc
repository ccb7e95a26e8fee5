// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/program_calls.h"

#include <algorithm>

namespace tutti::comm {

ProgramCalls ProgramCalls::Only(std::size_t i) const {
  return {.last = last == 0 ? 0 : last - (count - 1 - i), .count = 1, .captured = captured};
}

void EnqueuedCalls::Add(std::uint64_t first, std::uint64_t last, const ProgramCalls& calls) {
  std::lock_guard lock(mutex_);
  enqueued_.push_back({.first = first, .last = last, .calls = calls});
  if (enqueued_.size() > trace::kRecords) enqueued_.pop_front();
}

std::optional<ProgramCalls> EnqueuedCalls::Find(std::uint64_t number) const {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::lower_bound(enqueued_, number, {}, &Enqueued::last);
  if (found == enqueued_.end() || found->first > number) return std::nullopt;
  return found->calls;
}

// A collective may go as sends and receives, so in a group of both a send or receive with that peer comes first.
std::optional<trace::WholeCall> CallThatWaits(const trace::View& whole, const ProgramCalls& calls,
                                              const trace::WaitView& wait, std::span<const int> in_whole) {
  if (calls.captured) return trace::WholeCall{.in_graph = true};
  const bool renumbered = wait.peer >= 0 && wait.peer < std::ssize(in_whole);
  const int peer = renumbered ? in_whole[static_cast<std::size_t>(wait.peer)] : wait.peer;
  const Collective transfer = wait.kind == trace::WaitKind::kData ? Collective::kRecv : Collective::kSend;
  std::optional<trace::WholeCall> collective;
  const std::uint64_t count = std::min<std::uint64_t>(calls.count, calls.last);
  for (std::uint64_t number = calls.last - count + 1; number <= calls.last; ++number) {
    const std::optional<trace::CallRecord> found = whole.Find(number);
    if (!found) continue;
    const trace::WholeCall call{.number = number, .sequence = found->sequence, .call = found->call};
    if (found->call.is_transfer()) {
      if (found->call.function() == transfer && found->call.root() == peer) return call;
    } else if (!collective) {
      collective = call;
    }
  }
  return collective;
}

}  // namespace tutti::comm
