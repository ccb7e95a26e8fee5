// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/perf_buffers.h"

#include <fmt/format.h>

#include "tools/cli.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kAlignment = 4096;

// One buffer with its guard, so long that the next one is aligned again.
std::size_t Stride(std::size_t bytes) { return (bytes + kGuardBytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::size_t Buffers::Footprint(std::size_t bytes) { return 2 * Stride(bytes); }

Result<Buffers> Buffers::Allocate(std::size_t bytes) {
  Buffers buffers;
  buffers.owned_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, Footprint(bytes))));
  if (buffers.owned_ == nullptr) {
    return Status(Code::kSystem,
                  fmt::format("cannot allocate two buffers of {}: no memory (ulimit -v?)", FormatBytes(bytes)));
  }
  buffers.first_ = buffers.owned_.get();
  buffers.second_ = buffers.first_ + Stride(bytes);
  return buffers;
}

Result<Buffers> Buffers::AllocateShared(Communicator& communicator, std::size_t bytes) {
  Buffers buffers;
  const Result<void*> memory = communicator.AllocateShared(Footprint(bytes));
  if (!memory.ok()) return memory.status();
  buffers.first_ = static_cast<std::byte*>(*memory);
  buffers.second_ = buffers.first_ + Stride(bytes);
  return buffers;
}

}  // namespace tutti::tools
