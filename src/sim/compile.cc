// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/compile.h"

#include "plan/plan.h"
#include "sim/program_writer.h"
#include "sim/switch_groups.h"

namespace tutti::sim {

Program Compile(const plan::RankPlan& plan, const Cut& cut,
                const std::function<std::uint32_t(int from, int to)>& wire_of, const SwitchGroups* groups) {
  return WriteSteps(
      plan, cut, [&](int from) { return Program::Wire{.place = wire_of(from, plan.rank)}; },
      [&](int to) { return Program::Wire{.place = wire_of(plan.rank, to)}; },
      [&](Writer& writer, int i) {
        const plan::Sending sending = plan.step(i).sending;
        if (groups != nullptr && sending != plan::Sending::kEach) writer.SendBy(sending, groups->Of(plan.rank, i));
      });
}

}  // namespace tutti::sim
