// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_PARTS_H_
#define TUTTI_COMM_HOST_PARTS_H_

#include <memory>

#include "comm/host/comparer.h"
#include "comm/host/core.h"
#include "comm/host/ledger.h"
#include "comm/host/planner.h"
#include "comm/host/preparer.h"
#include "comm/host/submitter.h"
#include "comm/host/waiter.h"

namespace tutti::comm {

class Jobs;
class TransferTrials;

// What works on calls in host memory; each part knows those above it.
struct Parts {
  explicit Parts(Core& core);
  ~Parts();

  const std::unique_ptr<Jobs> jobs;
  const std::shared_ptr<TransferTrials> transfer_trials;
  Planner planner;
  Ledger ledger;
  Comparer comparer;
  Waiter waiter;
  Preparer preparer;
  Submitter submitter;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_PARTS_H_
