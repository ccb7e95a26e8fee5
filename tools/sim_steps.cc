// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/simulator.h"
#include "sim/trace.h"
#include "sim/workload.h"
#include "sim/workload_job.h"
#include "sys/os/text_file.h"
#include "tools/sim_cases.h"
#include "tools/sim_options.h"
#include "tools/sim_output.h"
#include "tools/sim_report.h"

namespace tutti::tools {
namespace {

constexpr int kUsualChannels = 8;

struct NamedWorkload {
  std::string path;
  sim::Workload workload;
};

Result<std::vector<NamedWorkload>> ReadWorkloads(const std::vector<std::string>& paths) {
  std::vector<NamedWorkload> read;
  for (const std::string& path : paths) {
    const Result<std::string> text = sys::ReadFile(path);
    if (!text.ok()) return Status(Code::kSystem, text.status().message());
    Result<sim::Workload> workload = sim::ReadWorkload(*text);
    if (!workload.ok()) {
      return Status(workload.status().code(), fmt::format("{}: {}", path, workload.status().message()));
    }
    read.push_back({.path = path, .workload = std::move(*workload)});
  }
  return read;
}

struct Step {
  sim::WorkloadJob job;
  sim::Outcome outcome;
  sim::WorkloadTimes times;
};

// Of the machine's first ranks, as many as the workload has.
Result<Step> Simulate(const sim::Workload& workload, const SimCase& which, const SimWays& ways) {
  const auto ranks = static_cast<std::size_t>(workload.ranks());
  sim::Machine machine = which.setup.machine;
  if (machine.nodes.size() < ranks) {
    return Status(Code::kInvalidUsage, fmt::format("the workload has {} ranks, the machine {} GPUs: more --hosts",
                                                   ranks, machine.nodes.size()));
  }
  machine.nodes.resize(ranks);
  Step step;
  Result<sim::WorkloadJob> job = sim::MakeWorkloadJob(
      workload, machine, sim::ChooseBySimulation(machine, which.setup.options, ways.channels, ways.chunks.front()));
  if (!job.ok()) return job.status();
  step.job = std::move(*job);
  Result<sim::Outcome> outcome = sim::Simulate(step.job.job, machine, which.setup.options);
  if (!outcome.ok()) return outcome.status();
  if (!outcome->stuck.ok()) return outcome->stuck;
  step.outcome = std::move(*outcome);
  step.times = sim::Summarize(workload, step.job, step.outcome);
  return step;
}

void PrintStep(const sim::WorkloadTimes& times) {
  fmt::print("step {:.3f} ms, of which a rank computes {:.3f} ms\n", times.step_us / 1e3, times.compute_us / 1e3);
  fmt::print("{:<20} {:>12} {:>12} {:>24}\n", "communication", "busy (ms)", "exposed (ms)", "of that, waiting (ms)");
  for (const auto& one : times.communication) {
    fmt::print("{:<20} {:>12.3f} {:>12.3f} {:>24.3f}\n", one.name, one.busy_us / 1e3, one.exposed_us / 1e3,
               one.waiting_us / 1e3);
  }
  if (times.utilisation) fmt::print("model FLOPs utilisation {:.1f} %\n", 100 * *times.utilisation);
}

// Several steps, a line each.
class Table {
 public:
  void Add(const NamedWorkload& named, const SimCase& which, const sim::WorkloadTimes& times) {
    lines_.push_back({.workload = StemOf(named.path),
                      .machine = fmt::format("{}{}{}", which.name, which.fault.empty() ? "" : "; ", which.fault),
                      .hosts = which.hosts,
                      .times = times});
  }

  void Print() const {
    std::size_t workload = 8, machine = 7;  // widths: of the words in the head
    for (const Line& line : lines_) {
      workload = std::max(workload, line.workload.size());
      machine = std::max(machine, line.machine.size());
    }
    fmt::print("# {:<{}} {:<{}} {:>5} {:>12} {:>13} {:>10} {:>13} {:>9} {:>6}\n", "workload", workload, "machine",
               machine, "hosts", "step (ms)", "compute (ms)", "busy (ms)", "exposed (ms)", "of step", "MFU");
    for (const Line& line : lines_) {
      double busy_us = 0;
      for (const auto& one : line.times.communication) busy_us += one.busy_us;
      fmt::print("  {:<{}} {:<{}} {:>5} {:>12.3f} {:>13.3f} {:>10.3f} {:>13.3f} {:>7.1f} % {:>6}\n", line.workload,
                 workload, line.machine, machine, line.hosts, line.times.step_us / 1e3, line.times.compute_us / 1e3,
                 busy_us / 1e3, line.times.exposed_us / 1e3, 100 * line.times.exposed_us / line.times.step_us,
                 line.times.utilisation ? fmt::format("{:.1f} %", 100 * *line.times.utilisation) : "-");
    }
  }

 private:
  struct Line {
    std::string workload, machine;
    int hosts = 1;
    sim::WorkloadTimes times;
  };
  std::vector<Line> lines_;
};

}  // namespace

Status SimulateSteps(const SimOptions& options) {
  Result<SimWays> ways = WaysOf(options);
  if (!ways.ok()) return ways.status();
  if (ways->chunks.size() > 1) {
    return Status(Code::kInvalidArgument, "a workload takes one size of --chunk; its own lines may name others");
  }
  if (options.channels.empty()) ways->channels = {kUsualChannels};
  const Result<std::vector<NamedWorkload>> workloads = ReadWorkloads(options.workloads);
  if (!workloads.ok()) return workloads.status();
  const int cases = CountCases(options);
  const bool one = cases == 1 && workloads->size() == 1;
  Table table;
  SimReport report(options.json);
  const Status status = ForEachCase(options, [&](SimCase& which) {
    for (const NamedWorkload& named : *workloads) {
      const Result<Step> step = Simulate(named.workload, which, *ways);
      if (!step.ok()) return step.status();
      report.Add(which, StemOf(named.path), step->times);
      if (!one) {
        table.Add(named, which, step->times);
      } else if (report.prints()) {
        PrintStep(step->times);
      }
      if (options.trace.empty() || which.number + 1 < cases || &named != &workloads->back()) continue;
      TUTTI_RETURN_IF_ERROR(WriteBy(options.trace, [&](const auto& write) {
        sim::WriteChromeTrace(step->job.job, step->outcome, nullptr, write);
        return Status::Ok();
      }));
    }
    return Status::Ok();
  });
  if (!status.ok()) return status;
  if (!one && report.prints()) table.Print();
  return report.Write();
}

}  // namespace tutti::tools
