// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_ONE_SIDED_H_
#define TUTTI_COMM_GPU_ONE_SIDED_H_

// What is said of windows and done to them, without what they are made of (window.h).

#include <cstddef>
#include <cstdint>

#include "tutti/status.h"

namespace tutti::comm {

enum class WindowSymmetry : std::uint8_t {
  kNone,
  kSymmetric
};  // of windows that are registered without the flag: none

// Writes into a window of another rank, and signals there.
struct WindowPut {
  const void* from = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
  const void* window = nullptr;  // null: a signal alone
  std::size_t offset = 0;        // in the window
};

// More signals of a peer than all waits before have waited for.
struct AwaitedSignals {
  int peer;
  std::uint32_t count;
};

// What is said of a handle that is none.
Status NotAWindow();
// Where a rank's part of a window lies, as this process's GPU reaches it: of any communicator. kInvalidArgument where
// there is no such window, rank or place. Any thread.
Result<void*> WindowAddress(const void* window, int rank, std::size_t offset);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_ONE_SIDED_H_
