// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_COMPILE_H_
#define TUTTI_SIM_COMPILE_H_

#include <cstdint>
#include <functional>

#include "sim/program.h"

namespace tutti::plan {
class RankPlan;
}

namespace tutti::sim {

class SwitchGroups;

// The program of one rank. wire_of: the number of the wire from one position to another. `groups`: of the channel's plans, where they use
// switches; else null.
Program Compile(const plan::RankPlan& plan, const Cut& cut,
                const std::function<std::uint32_t(int from, int to)>& wire_of, const SwitchGroups* groups = nullptr);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_COMPILE_H_
