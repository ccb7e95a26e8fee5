// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_SIDE_STREAMS_H_
#define TUTTI_EXEC_GPU_LAUNCH_SIDE_STREAMS_H_

// Streams beside the callers', for copies that take place while a caller's stream does something else.

#include <span>
#include <vector>

#include "exec/gpu/format/program.h"
#include "sys/cuda/cuda.h"
#include "tutti/status.h"

namespace tutti::exec::gpu {

// Makes streams as they are needed and keeps them. May be used under capture: then the work is a branch of the graph.
// Threads: one at a time. The GPU's context must be the thread's current one.
class SideStreams {
 public:
  explicit SideStreams(const sys::cuda::Driver* driver) : driver_(driver) {}
  SideStreams(const SideStreams&) = delete;
  SideStreams& operator=(const SideStreams&) = delete;
  ~SideStreams();

  // A stream with the events that tie it to the one that it was forked from.
  struct Side {
    sys::cuda::Stream stream = nullptr;
    sys::cuda::Event begin = nullptr, end = nullptr;
  };
  // What is put into the result's stream from now on comes after what is in `stream` now.
  Result<Side> Fork(sys::cuda::Stream stream);
  // Marks the end of what the side stream has to do.
  Status End(const Side& side);
  // Copies of the rank's own data beside what comes next in `stream`, which must join the result. That has no stream where
  // there is nothing to copy.
  Result<Side> Copy(std::span<const OwnCopy> copies, sys::cuda::Stream stream);
  // What is put into `stream` from now on comes after that end. Nothing is done for a side without a stream.
  Status Join(const Side& side, sys::cuda::Stream stream);

 private:
  Result<Side> Find(sys::cuda::Stream beside);
  Status Make();

  const sys::cuda::Driver* driver_;
  std::vector<Side> sides_;
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_SIDE_STREAMS_H_
