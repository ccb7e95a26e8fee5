// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_MERGE_H_
#define TUTTI_SIM_MERGE_H_

#include <cstdint>

namespace tutti::sim {

// Messages that leave over a wire in the same hop (plan::Timeline) are one, as of an executor that sends together what is ready
// together. Links hold any number of messages then. Only for plans that are alike (PlanSource::Period) and have one stage; others are as
// with kNo.
enum class Merge : std::uint8_t { kNo, kByHop };

}  // namespace tutti::sim

#endif  // TUTTI_SIM_MERGE_H_
