// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/host_choices.h"

#include <algorithm>
#include <utility>

#include "comm/host/predict.h"
#include "comm/host/size_class.h"
#include "comm/life/host_channels.h"
#include "comm/life/start_planner.h"
#include "exec/cpu/chunks.h"
#include "plan/footprint.h"
#include "sim/plans.h"
#include "tools/simulated.h"
#include "transport/shm/segment.h"
#include "tune/terms.h"

namespace tutti::tools {

struct HostChoices::Rules {
  exec::cpu::ChunkRules chunks;
};

HostChoices::HostChoices(algo::Hosts hosts, tune::Chooser chooser, std::unique_ptr<Rules> rules)
    : hosts_(std::move(hosts)), chooser_(std::move(chooser)), rules_(std::move(rules)) {}
HostChoices::HostChoices(HostChoices&&) noexcept = default;
HostChoices& HostChoices::operator=(HostChoices&&) noexcept = default;
HostChoices::~HostChoices() = default;

Result<HostChoices> HostChoices::Create(const algo::Hosts& hosts, const Settings& settings, const HostFacts& facts) {
  const bool several_hosts = hosts.count() > 1;
  const int channels = comm::ChannelsOfHostMemory(hosts.ranks(), settings);
  const transport::shm::Geometry geometry =
      transport::shm::MakeGeometry(hosts.ranks(), channels, static_cast<std::size_t>(settings.shared_bytes));
  auto rules = std::make_unique<Rules>(Rules{.chunks = {.rings = geometry.rings,
                                                        .pool_bytes = geometry.pool_bytes,
                                                        .ranks = hosts.ranks(),
                                                        .several_hosts = several_hosts}});
  Result<tune::Chooser> chooser =
      comm::MakeChooser(settings, {.rank = 0,
                                   .ranks = hosts.ranks(),
                                   .cpus = facts.cpus,
                                   .machine = facts.machine,
                                   .channels = several_hosts || hosts.ranks() == 1 ? 1 : channels,
                                   .can_refer = facts.can_refer && settings.single_copy != SingleCopy::kOff,
                                   .chunks = rules->chunks,
                                   .host_of = hosts.host_of()});
  if (!chooser.ok()) return chooser.status();
  return HostChoices(hosts, std::move(*chooser), std::move(rules));
}

Result<tune::Choice> HostChoices::Choose(Collective collective, std::size_t bytes) {
  return comm::ChooseForClass(chooser_, collective, bytes);
}

Result<std::vector<PredictedWay>> HostChoices::Ways(Collective collective, std::size_t bytes) {
  const std::size_t smallest = comm::SmallestOfClass(comm::SizeClass(bytes));
  const Result<tune::Choice> chosen = Choose(collective, bytes);
  if (!chosen.ok()) return chosen.status();
  const std::vector<tune::Choice> candidates = collective == Collective::kSendRecv
                                                   ? chooser_.TransferCandidates(smallest)
                                                   : chooser_.Candidates(collective, smallest);
  std::vector<PredictedWay> ways;
  for (const tune::Choice& way : candidates) {
    std::string name = tune::ToString(way);
    if (collective == Collective::kSendRecv) name = name.substr(name.find(' ') + 1);  // of no algorithm
    ways.push_back({.name = std::move(name), .terms = tune::TermsOf(chooser_, way, collective, bytes)});
  }
  const auto is_chosen = [&](const tune::Choice& way) { return tune::ToString(way) == tune::ToString(*chosen); };
  const auto at = std::ranges::find_if(candidates, is_chosen) - candidates.begin();
  PutChosenFirst(ways, static_cast<std::size_t>(at));
  return ways;
}

sim::Operation HostChoices::OperationFor(const tune::Choice& way, Collective collective, std::size_t bytes, int root) {
  const exec::cpu::ChunkRules& chunks = rules_->chunks;
  plan::Footprint footprint = chooser_.FootprintOf(way.algorithm, collective, root);
  const int depth = chunks.DepthFor(footprint, way.protocol, way.by_reference);
  footprint = plan::Deepen(footprint, depth);
  std::vector<plan::RankPlan> plans = algo::BuildAll(way.algorithm, collective, hosts_, root);
  for (plan::RankPlan& plan : plans) plan.Deepen(depth);
  sim::Operation operation = OperationOf(std::move(plans), bytes);
  operation.protocol = way.protocol;
  operation.channels = way.channels;
  operation.chunk_bytes = chunks.ForPlan(footprint, way.protocol, way.by_reference, way.channels);
  return operation;
}

sim::Operation HostChoices::TransfersFor(const tune::Choice& way, const std::vector<Pair>& pairs, std::size_t bytes) {
  std::vector<sim::TransferPlans::Transfer> transfers;
  for (const Pair& pair : pairs) transfers.push_back({.from = pair.from, .to = pair.to, .bytes = bytes});
  return {.name = "sends and receives",
          .communicator = 0,
          .plans = std::make_shared<sim::TransferPlans>(hosts_.ranks(), std::move(transfers)),
          .bytes = bytes,
          .protocol = way.protocol,
          .chunk_bytes = rules_->chunks.ForTransfer(way.protocol, way.by_reference)};
}

sim::Costs HostChoices::CostsFor(const tune::Choice& way, Collective collective) const {
  tune::Machine machine = chooser_.options().machine;
  const tune::Way constants = chooser_.ConstantsOf(way, collective);
  (constants.protocol == proto::Protocol::kLl      ? machine.ll
   : constants.protocol == proto::Protocol::kLl128 ? machine.ll128
                                                   : machine.simple) = constants;
  return sim::CostsOf(machine);
}

}  // namespace tutti::tools
