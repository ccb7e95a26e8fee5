// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_FORMAT_ACROSS_H_
#define TUTTI_EXEC_GPU_FORMAT_ACROSS_H_

// A small operation between hosts as one kernel reads it: ncclTuttiAcross. Also compiled for the device.
//
//   the kernel         copies what the operation reads to pinned host memory, and stores `ready`
//   a thread           sees `ready`, runs the operation in that memory, and stores `done`
//   the kernel         sees `done`, and copies what was written back to the caller's memory
//
// What a side has stored before its word is there for whoever sees the word. docs/decisions/0017-gpu-memory-between-hosts.md

#include <cstddef>
#include <cstdint>

#include "exec/gpu/format/program.h"

namespace tutti::exec::gpu {

// Regions each way. More, as of large groups, are copied by the stream.
inline constexpr int kMostAcrossCopies = 8;
// Bytes each way. One block of threads has a quarter of it on the way at a time; more is left to the copy engines.
inline constexpr std::size_t kMostAcrossBytes = std::size_t{256} << 10;
// Of them, in regions that go byte by byte, since one of their ends is not aligned to 16.
inline constexpr std::size_t kMostAcrossBytewise = std::size_t{8} << 10;
inline constexpr int kMostAcrossThreads = 512;

struct AcrossCopy {
  const std::byte* from;
  std::byte* to;
  std::uint32_t bytes;

  // Whether its whole vectors of 16 bytes go as such.
  TUTTI_HOST_DEVICE bool InVectors() const {
    return ((reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to)) & 15) == 0;
  }
};

struct Across {
  // Words in pinned memory. `ready`, of 8 bytes where the launch is captured, else of 4, gets ready_value. `done` comes to
  // done_value, modulo 2^32; where the launch is captured the kernel sets it to 0 before, since every replay awaits the same.
  void* ready;
  std::uint32_t* done;
  std::uint64_t ready_value;
  std::uint32_t done_value;
  std::uint8_t captured;
  std::uint8_t ins, outs;
  AcrossCopy in[kMostAcrossCopies];   // from the caller's memory to pinned memory
  AcrossCopy out[kMostAcrossCopies];  // back
};
static_assert(sizeof(Across) <= 512, "a launch copies its argument");

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_FORMAT_ACROSS_H_
