// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "plan/plan.h"
#include "sim/simulator.h"
#include "tools/sim_cases.h"

namespace tutti::tools {
namespace {

// Hours, and more memory than a machine has for what is under way.
constexpr double kMostSteps = 4e9;

Status CheckSteps(const sim::Operation& operation, int ranks) {
  const double steps = 1.0 * operation.plans->Build(0, 0).step_count() * operation.channels * ranks;
  if (steps <= kMostSteps) return Status::Ok();
  return Status(
      Code::kInvalidArgument,
      fmt::format("{} among {} ranks has about {:.0e} steps, and {:.0e} are the most; take fewer ranks, fewer "
                  "channels or another algorithm, or --merge, with which halving_doubling and the like have "
                  "few steps",
                  operation.name, ranks, steps, kMostSteps));
}

}  // namespace

SimTrials::SimTrials(const SimCase& which, Collective collective, const SimWays& ways)
    : case_(which), collective_(collective), ways_(ways), sound_(which.setup.options) {
  ranks_.resize(which.setup.machine.nodes.size());
  std::iota(ranks_.begin(), ranks_.end(), 0);
  hosts_ = sim::HostsOf(which.setup.machine, ranks_);
  sound_.faults.clear();
  sound_.late.clear();
}

sim::Call SimTrials::CallOf(std::size_t size) const {
  const int pieces = std::max(plan::InPieces(collective_, ranks()), plan::OutPieces(collective_, ranks()));
  return {
      .collective = collective_, .bytes = size / static_cast<std::size_t>(pieces), .ranks = ranks_, .hosts = hosts_};
}

Result<sim::Way> SimTrials::Fastest(std::optional<algo::Algorithm> algorithm, std::size_t size) const {
  if (!algorithm) {
    const sim::Call call = CallOf(size);
    return sim::ChooseBySimulation(case_.setup.machine, sound_, ways_.channels, ways_.chunks.front())(call);
  }
  const bool only_one = ways_.protocols.size() * ways_.channels.size() * ways_.chunks.size() == 1;
  // What switches fold has no flags between data.
  const bool simple_only =
      algo::NeedsSwitches(*algorithm) && std::ranges::count(ways_.protocols, proto::Protocol::kSimple) > 0;
  const bool merges = sim::RegistryPlans(*algorithm, collective_, hosts_).Merges();
  const sim::Merge merge = merges ? ways_.merge : sim::Merge::kNo;
  std::optional<std::pair<sim::Time, sim::Way>> best;
  for (const proto::Protocol protocol : ways_.protocols) {
    if (simple_only && protocol != proto::Protocol::kSimple) continue;
    for (const int channels : ways_.channels) {
      for (const std::uint64_t chunk : ways_.chunks) {
        const sim::Way way{.algorithm = *algorithm,
                           .protocol = protocol,
                           .channels = channels,
                           .chunk_bytes = chunk,
                           .order = sim::OrderFor(hosts_),
                           .merge = merge};
        if (only_one) return way;
        const Result<Done> done = Simulate(way, size, sound_);
        if (!done.ok()) return done.status();
        if (!best || done->outcome.end < best->first) best = {done->outcome.end, way};
      }
    }
  }
  return best->second;
}

Result<SimTrials::Done> SimTrials::Run(const sim::Way& way, std::size_t size, sim::MessageLog* log) const {
  sim::Options options = case_.setup.options;
  options.log = log;
  return Simulate(way, size, options);
}

Result<SimTrials::Done> SimTrials::Simulate(const sim::Way& way, std::size_t size, const sim::Options& options) const {
  const Result<sim::Operation> operation = sim::MakeOperation(CallOf(size), way, 0);
  if (!operation.ok()) return operation.status();
  if (way.merge == sim::Merge::kNo) TUTTI_RETURN_IF_ERROR(CheckSteps(*operation, ranks()));
  Done done;
  done.job.communicators.push_back({.ranks = ranks_});
  sim::AddOperation(*operation, done.job);
  Result<sim::Outcome> outcome = sim::Simulate(done.job, case_.setup.machine, options);
  if (!outcome.ok()) return outcome.status();
  if (!outcome->stuck.ok()) return outcome->stuck;
  done.outcome = std::move(*outcome);
  return done;
}

}  // namespace tutti::tools
