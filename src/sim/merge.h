// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_MERGE_H_
#define TUTTI_SIM_MERGE_H_

#include <cstdint>

namespace tutti::sim {

// What a rank sends another one together is one message, as of programs that put blocks together: all of it that is not complete, and all
// that is (message_rounds.h). Where such messages would wait for each other, it is those blocks that leave in the same hop
// (plan::Timeline). Links hold any number of messages then. Only for plans that are alike (PlanSource::Period) and have one stage; others
// are as with kNo.
enum class Merge : std::uint8_t { kNo, kTogether };

}  // namespace tutti::sim

#endif  // TUTTI_SIM_MERGE_H_
