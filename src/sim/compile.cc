// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/compile.h"

#include "plan/plan.h"
#include "sim/program_writer.h"
#include "sim/switch_groups.h"

namespace tutti::sim {

using plan::Operand;
using plan::RankPlan;

Program Compile(const RankPlan& plan, const Cut& cut, const std::function<std::uint32_t(int from, int to)>& wire_of,
                const SwitchGroups* groups) {
  const Sizes sizes(plan, cut);
  Writer writer(plan, cut);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    writer.Begin();
    for (const Operand& operand : step.operands) {
      if (!operand.local()) writer.Receive(writer.WireAt({.place = wire_of(operand.index, plan.rank)}));
    }
    for (const std::int32_t to : step.to) writer.Send(writer.WireAt({.place = wire_of(plan.rank, to)}), 1);
    if (groups != nullptr && step.sending != plan::Sending::kEach)
      writer.SendBy(step.sending, groups->Of(plan.rank, i));
    writer.AddWork(WorkOf(step));
    writer.End(sizes.Of(step), step.stage);
  }
  return writer.Finish();
}

}  // namespace tutti::sim
