// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_PARTS_H_
#define TUTTI_COMM_GPU_PARTS_H_

#include "comm/gpu/copies.h"
#include "comm/gpu/exchange.h"
#include "comm/gpu/faults.h"
#include "comm/gpu/groups.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/runner.h"
#include "comm/gpu/window.h"

namespace tutti::comm {

// The host's side of a communicator.
Core& HostOf(Communicator& communicator);

// What works on calls in device memory; each part knows those that its constructor is given.
struct GpuParts {
  GpuParts(GpuCore& core, Communicator& communicator);

  // What every call needs, side by side.
  GpuRunner runner;
  GpuWindows windows;
  GpuExchange exchange;
  GpuPlanner planner;
  GpuCopies copies;
  GpuGroups groups;
  GpuFaults faults;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_PARTS_H_
