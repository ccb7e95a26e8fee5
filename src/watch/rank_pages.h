// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_WATCH_RANK_PAGES_H_
#define TUTTI_WATCH_RANK_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sys/os/fd.h"
#include "sys/os/process.h"

namespace tutti::watch {

// The shared pages of one rank (transport/shm/segment.h), as they are mapped here.
struct RankPages {
  int rank = 0;
  const std::byte* begin = nullptr;
  std::size_t box_bytes = 0;              // of its black box
  sys::ProcessId process;                 // pid 0: of another pid name space
  std::shared_ptr<const sys::Fd> handle;  // of such a process: what shows its end; null where nothing does
};

}  // namespace tutti::watch

#endif  // TUTTI_WATCH_RANK_PAGES_H_
