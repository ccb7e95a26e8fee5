// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/job.h"

#include "sim/plans.h"

namespace tutti::sim {

bool UsesSwitches(const Operation& operation) { return operation.plans->UsesSwitches(); }

void AddOperation(const Operation& operation, Job& job, int stream) {
  const int index = static_cast<int>(job.operations.size());
  job.operations.push_back(operation);
  for (const int rank : job.communicators[static_cast<std::size_t>(operation.communicator)].ranks) {
    job.tasks.push_back({.rank = rank, .stream = stream, .operation = index});
  }
}

}  // namespace tutti::sim
