// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/kernel_waits.h"

#include <cstdlib>
#include <span>

#include "exec/gpu/format/program.h"

namespace tutti::comm {
namespace {

using trace::GpuNote;
using trace::WaitKind;

// Two waits for the same that began so close to each other are one: threads of a kernel do not begin to wait at the same moment.
constexpr std::int64_t kOneWaitNs = 30'000'000;

// The latest number up to `called` that has these low bits.
std::uint64_t WholeNumber(std::uint64_t low, std::uint64_t called) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << exec::gpu::kWaitNumberBits) - 1;
  const std::uint64_t back = (called - low) & kMask;
  return low == 0 || back > called ? 0 : called - back;
}

}  // namespace

GpuNote KernelWaits::Look(const exec::gpu::Failures& failures, std::uint64_t called, std::int64_t now_ns) {
  GpuNote longest, same;
  for (int slot = 0; slot < exec::gpu::Failures::kSlots; ++slot) {
    const std::span<const volatile std::uint64_t> words = failures.WaitsOf(slot);
    for (std::size_t seat = 0; seat < words.size(); ++seat) {
      Seen& seen = seen_[static_cast<std::size_t>(slot)][seat];
      if (const std::uint64_t word = words[seat]; word != seen.word) seen = {.word = word, .changed_ns = now_ns};
      if (seen.word == 0 || now_ns - seen.changed_ns >= kOverNs) continue;
      const exec::gpu::WaitOfKernel wait = exec::gpu::UnpackWait(seen.word);
      const GpuNote note{.kind = wait.what == exec::gpu::kWaitedForData ? WaitKind::kData : WaitKind::kRoom,
                         .number = WholeNumber(wait.number, called),
                         .peer = failures.RankAt(slot, static_cast<int>(seat)),
                         .channel = wait.block,
                         .since_ns = seen.changed_ns - wait.waited_ns,
                         .now_ns = seen.changed_ns};
      if (longest.kind == WaitKind::kNothing || note.since_ns < longest.since_ns) longest = note;
      if (note.kind == last_.kind && note.peer == last_.peer && note.number == last_.number) same = note;
    }
  }
  GpuNote note = longest;
  if (same.kind != WaitKind::kNothing) {
    note = same;
    note.channel = last_.channel;
    if (std::abs(same.since_ns - last_.since_ns) < kOneWaitNs) note.since_ns = last_.since_ns;
  }
  last_ = note;
  return note;
}

}  // namespace tutti::comm
