// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_report.h"

#include <optional>

#include "algo/algorithm.h"
#include "sim/simulator.h"
#include "sim/ways.h"
#include "sim/workload_job.h"
#include "tools/cli.h"
#include "tools/perf_shape.h"
#include "tools/sim_cases.h"

namespace tutti::tools {
namespace {

Json RowOf(const SimCase& which) {
  return {{"machine", which.name},
          {"hosts", which.hosts},
          {"ranks", which.setup.machine.nodes.size()},
          {"slow", which.fault.empty() ? Json() : Json(which.fault)}};
}

}  // namespace

void SimReport::Add(const SimCase& which, Collective collective, std::size_t size, const sim::Way& way,
                    const sim::Outcome& outcome) {
  const double us = sim::ToUs(outcome.end), algorithm_gb_per_s = static_cast<double>(size) / us / 1e3;
  Json row = RowOf(which);
  row["operation"] = Name(collective);
  row["bytes"] = size;
  row["us"] = us;
  row["algbw_gb_per_s"] = algorithm_gb_per_s;
  row["busbw_gb_per_s"] =
      algorithm_gb_per_s * BusFactor(collective, static_cast<int>(which.setup.machine.nodes.size()));
  row["algorithm"] = algo::Get(way.algorithm).name;
  row["protocol"] = proto::Name(way.protocol);
  row["channels"] = way.channels;
  row["chunk_bytes"] = way.chunk_bytes;
  row["merged"] = way.merge == sim::Merge::kTogether;
  row["messages"] = outcome.messages;
  if (const std::optional<sim::Binding> binding = sim::FindBinding(outcome.links, outcome.end)) {
    row["busiest_link"] = sim::NameOf(which.topology.graph, binding->arc);
    row["busiest_link_share"] = binding->share;
  }
  rows_.Append(row);
}

void SimReport::Add(const SimCase& which, std::string_view workload, const sim::WorkloadTimes& times) {
  Json row = RowOf(which);
  row["workload"] = workload;
  row["step_us"] = times.step_us;
  row["compute_us"] = times.compute_us;
  row["exposed_us"] = times.exposed_us;
  row["utilisation"] = times.utilisation ? Json(*times.utilisation) : Json();
  Json groups = Json::Array();
  for (const auto& one : times.communication) {
    groups.Append({{"group", one.name},
                   {"busy_us", one.busy_us},
                   {"exposed_us", one.exposed_us},
                   {"waiting_us", one.waiting_us}});
  }
  row["communication"] = groups;
  rows_.Append(row);
}

Status SimReport::Write() const {
  return file_.empty() ? Status::Ok() : WriteText(file_, Json({{"rows", rows_}}).Dump(2) + "\n");
}

}  // namespace tutti::tools
