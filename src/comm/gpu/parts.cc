// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/parts.h"

#include "comm/gpu/core.h"
#include "comm/host/impl.h"

namespace tutti::comm {

Core& HostOf(Communicator& communicator) { return *communicator.impl(); }

GpuParts::GpuParts(GpuCore& core, Communicator& communicator)
    : runner(core, communicator.impl()->ledger, planner, windows),
      windows(core, exchange, planner, copies),
      exchange(communicator),
      planner(core.rank, core.ranks),
      copies(core, exchange, runner.submitter().executor(), runner.submitter().failures()),
      groups(planner, runner.submitter(), windows, runner),
      faults(core, runner.submitter().failures(), copies, communicator.impl()->waiter, communicator.impl()->comparer) {}

}  // namespace tutti::comm
