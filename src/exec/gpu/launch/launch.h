// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_LAUNCH_H_
#define TUTTI_EXEC_GPU_LAUNCH_LAUNCH_H_

#include <cstdint>

#include "exec/gpu/format/program.h"
#include "sys/cuda/cuda.h"

namespace tutti::exec::gpu {

struct CopyLaunch;
struct OwnCopies;

// A kernel with its arguments, or what copy engines do instead of one, ready to be started. As long as a line of the cache.
struct Launch {
  sys::cuda::Kernel kernel = nullptr;
  const void* argument = nullptr;
  CallMark* mark = nullptr;            // in the argument
  int blocks = 0, threads = 0;         // no blocks: no kernel, only what goes beside it
  int ends = 0;                        // that the kernel counts (LaunchCounts): blocks, or teams
  bool in_clusters = false;            // where there are few blocks
  const OwnCopies* beside = nullptr;   // what a copy engine does at the same time
  const CopyLaunch* copies = nullptr;  // no kernel, but these copies into peers' windows
  const Launch* next = nullptr;        // comes behind it in the stream
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_LAUNCH_H_
