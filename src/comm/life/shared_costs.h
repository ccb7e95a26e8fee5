// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_LIFE_SHARED_COSTS_H_
#define TUTTI_COMM_LIFE_SHARED_COSTS_H_

#include <cstdint>
#include <memory>
#include <span>

namespace tutti::tune {
class PlanCosts;
}

namespace tutti::comm {

// The costs of plans among so many ranks, which all communicators of this process with the same placement of ranks share.
// `host_of`: by rank; empty: all are on one host. They go with the last communicator that has them. Threads: any.
std::shared_ptr<tune::PlanCosts> SharedCosts(int ranks, std::span<const std::int32_t> host_of);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_LIFE_SHARED_COSTS_H_
