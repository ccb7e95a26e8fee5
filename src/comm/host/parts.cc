// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/parts.h"

#include "comm/host/jobs.h"
#include "comm/host/transfer_links.h"

namespace tutti::comm {

Parts::Parts(Core& core)
    : jobs(std::make_unique<Jobs>()),
      transfer_trials(MakeTransferTrials(core)),
      planner(core.rank, core.ranks, *jobs, transfer_trials.get()),
      ledger(core, planner),
      comparer(core, ledger),
      waiter(core, comparer),
      preparer(core.rank, core.ranks, *jobs, planner),
      submitter(core, *jobs, planner, preparer, ledger, waiter) {}

Parts::~Parts() = default;

}  // namespace tutti::comm
