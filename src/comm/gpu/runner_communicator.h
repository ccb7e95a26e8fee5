// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_GPU_RUNNER_COMMUNICATOR_H_
#define TUTTI_COMM_GPU_RUNNER_COMMUNICATOR_H_

#include <vector>

#include "tutti/communicator.h"

namespace tutti::comm {

// A communicator that pieces run over (comm/gpu/host_runner.h), and its ranks in the one that it was made from; none: they have the
// same numbers there.
struct RunnerCommunicator {
  Communicator communicator;
  std::vector<int> in_parent = {};
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_GPU_RUNNER_COMMUNICATOR_H_
