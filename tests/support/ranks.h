// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_RANKS_H_
#define TUTTI_TESTS_SUPPORT_RANKS_H_

#include <functional>
#include <span>
#include <string>

#include "tutti/communicator.h"

namespace tutti::tests {

// Runs `body` on `ranks` ranks, each a thread of this process with a communicator of its own. Returns "" when all
// succeeded, else the first failure, by rank.
std::string RunRanks(int ranks, const Settings& settings, const std::function<Status(Communicator&)>& body);

// The same with each rank on a host of its own number, as NCCL_HOSTID does it; -1: on this one.
std::string RunOnHosts(std::span<const int> host_of, const Settings& settings,
                       const std::function<Status(Communicator&)>& body);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_RANKS_H_
