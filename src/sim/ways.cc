// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/ways.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "sim/simulator.h"

namespace tutti::sim {
namespace {

// Answers calls from memory, or tries all ways.
class Trials {
 public:
  Trials(const Machine& machine, Options options, std::vector<int> channels, std::uint64_t chunk_bytes)
      : machine_(machine), options_(std::move(options)), channels_(std::move(channels)), chunk_bytes_(chunk_bytes) {
    options_.faults.clear();
    options_.late.clear();
    options_.log = nullptr;
  }

  Result<Way> Answer(const Call& call) {
    std::vector<int> host_of;
    for (int rank = 0; rank < call.hosts.ranks() && call.hosts.count() > 1; ++rank)
      host_of.push_back(call.hosts.HostOf(rank));
    const Key key = {call.collective, call.bytes, call.root, call.hosts.ranks(), host_of};
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const Result<Way> best = Try(call);
    if (best.ok()) known_.emplace(key, *best);
    return best;
  }

 private:
  using Key = std::tuple<Collective, std::uint64_t, int, int, std::vector<int>>;

  Result<Way> Try(const Call& call) const {
    std::optional<std::pair<Time, Way>> best;
    for (const algo::Entry& entry : algo::Registry()) {
      if (!entry.supports(call.collective, call.hosts)) continue;
      for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
        for (const int channels : channels_) {
          const Way way{.algorithm = entry.algorithm,
                        .protocol = static_cast<proto::Protocol>(protocol),
                        .channels = channels,
                        .chunk_bytes = chunk_bytes_,
                        .order = OrderFor(call.hosts)};
          const Result<Time> time = Predict(call, way);
          if (!time.ok()) return time.status();
          if (!best || *time < best->first) best = {*time, way};
        }
      }
    }
    if (best) return best->second;
    return Status(Code::kUnsupported, fmt::format("no algorithm does {} among {} ranks of {} hosts",
                                                  Name(call.collective), call.ranks.size(), call.hosts.count()));
  }

  Result<Time> Predict(const Call& call, const Way& way) const {
    Job job;
    job.communicators.push_back({.ranks = {call.ranks.begin(), call.ranks.end()}});
    const Result<Operation> operation = MakeOperation(call, way, 0);
    if (!operation.ok()) return operation.status();
    AddOperation(*operation, job);
    const Result<Outcome> outcome = Simulate(job, machine_, options_);
    if (!outcome.ok()) return outcome.status();
    if (!outcome->stuck.ok()) return outcome->stuck;
    return outcome->end;
  }

  const Machine& machine_;
  Options options_;
  std::vector<int> channels_;
  std::uint64_t chunk_bytes_;
  std::map<Key, Way> known_;
};

}  // namespace

algo::Hosts HostsOf(const Machine& machine, std::span<const int> ranks) {
  if (machine.graph == nullptr || ranks.empty()) return algo::Hosts(static_cast<int>(ranks.size()));
  std::vector<int> host_of;
  for (const int rank : ranks) {
    host_of.push_back(machine.graph->node(machine.nodes[static_cast<std::size_t>(rank)]).host);
  }
  return algo::Hosts::ByRank(host_of);
}

Order OrderFor(const algo::Hosts& hosts) {
  return hosts.count() > 1 && hosts.most() == hosts.fewest() ? Order::kTurnedInHosts : Order::kByRank;
}

Result<Operation> MakeOperation(const Call& call, const Way& way, int communicator) {
  const algo::Entry& entry = algo::Get(way.algorithm);
  if (!entry.supports(call.collective, call.hosts)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} does no {} among {} ranks of {} hosts; choose another algorithm", entry.name,
                              Name(call.collective), call.ranks.size(), call.hosts.count()));
  }
  return Operation{
      .name = fmt::format("{} {} {}", Name(call.collective), entry.name, proto::Name(way.protocol)),
      .communicator = communicator,
      .plans = std::make_shared<RegistryPlans>(way.algorithm, call.collective, call.hosts, call.root, way.order),
      .bytes = call.bytes,
      .protocol = way.protocol,
      .channels = way.channels,
      .chunk_bytes = way.chunk_bytes,
      .merge = way.merge};
}

Chooser ChooseBySimulation(const Machine& machine, const Options& options, std::vector<int> channels,
                           std::uint64_t chunk_bytes) {
  const auto trials = std::make_shared<Trials>(machine, options, std::move(channels), chunk_bytes);
  return [trials](const Call& call) { return trials->Answer(call); };
}

}  // namespace tutti::sim
