// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_CALL_OBSERVER_H_
#define TUTTI_COMM_HOST_CALL_OBSERVER_H_

#include <cstdint>
#include <span>

#include "trace/layout.h"
#include "tutti/operation.h"

namespace tutti::comm {

// Who is told how calls go on: a profiler plugin, by way of the C interface. Whatever is told is true at the moment it is told, except
// for the times of a GPU, which come when they are known.
//
// Threads: those that move the communicator on, with its lock held; Ends of a call on the GPU also comes from the thread that looks at
// GPUs.
class CallObserver {
 public:
  virtual ~CallObserver() = default;

  enum class Side : std::uint8_t {
    kHost,
    kGpu,
    kGraph  // a GPU's call that is captured in a graph: it has no times, since it may run never or many times
  };
  // Operations that run as one, and how. With sends and receives `how` says nothing.
  struct Run {
    std::span<const Operation* const> operations;
    trace::How how;
    Side side = Side::kHost;
    int threads = 0;  // of a block on the GPU
  };
  // What the observer calls a run; null: it does not want to hear more of it.
  using Token = void*;

  // A run has been planned and will begin when those before it have ended. In the thread that called it.
  virtual Token Begins(const Run& run) = 0;
  // It is the first that has not ended. ns of CLOCK_MONOTONIC; on the GPU by the GPU's clock, whose zero is about the same.
  virtual void Starts(Token token, std::int64_t now_ns) = 0;
  // It has ended. now_ns 0: with an error, or when is not known. The token means nothing afterwards.
  virtual void Ends(Token token, std::int64_t now_ns) = 0;

  // The run waits on a link. It has been told before where nothing has changed since.
  struct Wait {
    trace::WaitKind kind = trace::WaitKind::kNothing;
    int peer = -1;
    int channel = 0;
    bool operator==(const Wait&) const = default;
  };
  virtual void Waits(Token token, const Wait& wait) = 0;

  // A kernel, or what copy engines do, is being put into a stream; it is there.
  virtual void Launches(void* stream) = 0;
  virtual void HasLaunched() = 0;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_CALL_OBSERVER_H_
