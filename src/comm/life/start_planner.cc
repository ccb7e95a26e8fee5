// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/start_planner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "algo/algorithm.h"
#include "base/log.h"
#include "comm/host/planner.h"
#include "comm/life/shared_costs.h"
#include "exec/cpu/chunks.h"
#include "tune/chooser.h"
#include "tune/plan_costs.h"

namespace tutti::comm {

Result<tune::Chooser> MakeChooser(const Settings& settings, const ChoiceInputs& inputs) {
  const std::shared_ptr<tune::PlanCosts> costs = SharedCosts(inputs.ranks, inputs.host_of);
  return tune::Chooser::Create(
      {.ranks = inputs.ranks,
       .hosts = costs->hosts(),
       .costs = costs,
       .cpus = inputs.cpus,
       .machine = inputs.machine,
       .algo_filter = settings.algo,
       .proto_filter = settings.proto,
       .can_refer = inputs.can_refer,
       .force_reference = settings.single_copy == SingleCopy::kForce,
       .min_channels = std::min(std::max(settings.min_channels, 1), inputs.channels),
       .max_channels = inputs.channels,
       .chunk_bytes = [rules = inputs.chunks](
                          const plan::Footprint& footprint, proto::Protocol protocol, bool by_reference,
                          int channels) { return rules.ForPlan(footprint, protocol, by_reference, channels); },
       .transfer_chunk_bytes = [rules = inputs.chunks](
                                   proto::Protocol protocol,
                                   bool by_reference) { return rules.ForTransfer(protocol, by_reference); }});
}

Status StartPlanner(Planner& planner, const Settings& settings, const ChoiceInputs& inputs) {
  Result<tune::Chooser> chooser = MakeChooser(settings, inputs);
  if (!chooser.ok()) return chooser.status();
  if (inputs.rank == 0 && !chooser->ignored_algorithms().empty()) {
    const std::string line =
        fmt::format("NCCL_ALGO=\"{}\": {} is ignored: an algorithm of network switches, which Tutti does not have",
                    settings.algo, fmt::join(chooser->ignored_algorithms(), ", "));
    if (log::FirstTime(line)) TUTTI_WARN("{}", line);
  }
  // Calls are timed by one clock, and a trial needs the plans of all its ways.
  constexpr int kMostRanks = 64;
  const bool tries = inputs.ranks > 1 && inputs.ranks <= kMostRanks && chooser->hosts().count() == 1;
  return planner.Start(std::move(*chooser), inputs.chunks, inputs.open, tries ? settings.calls_before_trial : 0,
                       inputs.tuner);
}

}  // namespace tutti::comm
