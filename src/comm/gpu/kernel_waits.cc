// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/kernel_waits.h"

#include <span>

#include "exec/gpu/format/program.h"

namespace tutti::comm {
namespace {

using trace::GpuNote;
using trace::WaitKind;

// So much later a wait may seem to have begun that has not: its word is as old as that when it is seen, at most.
constexpr std::int64_t kOneWaitNs = 120'000'000;

// The latest number up to `called` that has these low bits.
std::uint64_t WholeNumber(std::uint64_t low, std::uint64_t called) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << exec::gpu::kWaitNumberBits) - 1;
  const std::uint64_t back = (called - low) & kMask;
  return low == 0 || back > called ? 0 : called - back;
}

void Renew(GpuNote& wait, const GpuNote& note) {
  const bool goes_on =
      wait.kind != WaitKind::kNothing && wait.number == note.number && note.now_ns - wait.now_ns < KernelWaits::kOverNs;
  if (!goes_on || note.since_ns > wait.since_ns + kOneWaitNs) {
    wait = note;
  } else {
    wait.now_ns = note.now_ns;
  }
}

}  // namespace

GpuNote KernelWaits::Look(const exec::gpu::Failures& failures, std::uint64_t called, std::int64_t now_ns) {
  GpuNote longest, same;
  for (int slot = 0; slot < exec::gpu::Failures::kSlots; ++slot) {
    const std::span<const volatile std::uint64_t> words = failures.WaitsOf(slot);
    for (std::size_t seat = 0; seat < words.size(); ++seat) {
      Seen& seen = seen_[static_cast<std::size_t>(slot)][seat];
      if (const std::uint64_t word = words[seat]; word != seen.word && word != 0) {
        seen.word = word;
        const exec::gpu::WaitOfKernel wait = exec::gpu::UnpackWait(word);
        Renew(seen.waits[static_cast<std::size_t>(wait.what)],
              {.kind = wait.what == exec::gpu::kWaitedForData ? WaitKind::kData : WaitKind::kRoom,
               .number = WholeNumber(wait.number, called),
               .peer = failures.RankAt(slot, static_cast<int>(seat)),
               .channel = wait.block,
               .since_ns = now_ns - wait.waited_ns,
               .now_ns = now_ns});
      }
      for (const GpuNote& note : seen.waits) {
        if (note.kind == WaitKind::kNothing || now_ns - note.now_ns >= kOverNs) continue;
        if (longest.kind == WaitKind::kNothing || note.since_ns < longest.since_ns) longest = note;
        if (note.kind == last_.kind && note.peer == last_.peer && note.number == last_.number) same = note;
      }
    }
  }
  last_ = same.kind != WaitKind::kNothing ? same : longest;
  return last_;
}

}  // namespace tutti::comm
