// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/chooser.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "proto/ll.h"
#include "proto/ll128.h"
#include "tune/model.h"
#include "tune/plan_costs.h"

namespace tutti::tune {
namespace {

using algo::Algorithm;
using proto::Protocol;

// A reduce of several hosts that folds in the one order sends every host's values to the root: (hosts - 1) * S. two_shot between
// hosts sends the root's host S, for one hop more and an order of its own (algo::Entry::orders_long). By the built-in constants that pays from 44 KiB on for
// 3 hosts, and earlier for more. Not measured anew anywhere: the order would follow.
constexpr std::size_t kLongBytes = std::size_t{64} << 10;

// By reference; `fresh`: to be read by a fold. Where each rank is a host of its own nobody reads another one's memory: what crosses
// the network is all the work, and it is folded where it lands.
Way ReferenceOf(const Machine& machine, const algo::Hosts& hosts, bool fresh) {
  Way way = machine.reference;
  if (fresh) way.read_us_per_kib = machine.reference_fresh_read_us_per_kib;
  if (hosts.count() == 1 || hosts.most() > 1) return way;
  way.hop_us = machine.simple.hop_us;
  way.message_us = machine.simple.message_us;
  way.write_us_per_kib = way.read_us_per_kib = 0;
  way.folds_in_place = true;
  return way;
}

std::optional<std::uint32_t> AlgorithmBits(std::string_view name) {
  std::uint32_t bits = 0;
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const algo::Entry& entry : algo::Registry()) {
    std::string own(entry.name);
    std::ranges::transform(own, own.begin(), [](unsigned char c) { return std::toupper(c); });
    if (own == upper || (!entry.nccl_name.empty() && entry.nccl_name == upper)) {
      bits |= std::uint32_t{1} << static_cast<int>(entry.algorithm);
    }
  }
  if (bits != 0) return bits;
  // What NCCL does in switches: CollNetDirect, CollNetChain, NVLS, NVLSTree and their older names.
  if (upper.starts_with("COLLNET") || upper.starts_with("NVLS")) return 0;
  return std::nullopt;
}

// What lines of LL128 take in an exchange on one host, as a multiple of what they take by themselves, as the constants are measured. `hop_us`:
// of a line of LL. By the constants alone short messages would go by LL. Up to 16 B that is right between cores; from 32 B on LL128 takes 0.78 to
// 1.07 times as long as LL, and between threads of a core 0.83 to 1.07 at 8 B, too (docs/decisions/0019-trials.md). At 512 B, where kSimple takes
// as long by prediction, LL128 takes 1.1 to 1.4 times as long as that on Xeons, and as long on EPYCs.
double Ll128InExchange(std::size_t bytes, double hop_us) {
  constexpr std::size_t kFewLines = 2;
  constexpr double kFew = 0.85, kOther = 1.1, kWithinACoreUs = 0.12;
  const bool few =
      (bytes >= proto::kLlUnitPayloadBytes || hop_us < kWithinACoreUs) && proto::Ll128Lines(bytes) <= kFewLines;
  return few ? kFew : kOther;
}

// Of a send and a receive of every rank.
PlanCost CostOfTransfer() {
  PlanCost one;
  one.cost.hops = 1;
  one.cost.steps_max = 1;
  one.cost.messages_max = 1;
  one.cost.ends_max = 2;
  one.cost.moved_max = 2.0;
  one.cost.posted_max = one.cost.posted_mean = one.cost.received_max = one.cost.received_mean = one.cost.sent_max = 1.0;
  return one;
}

std::string KnownAlgorithms() {
  std::string names;
  for (const algo::Entry& entry : algo::Registry()) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

}  // namespace

std::optional<Algorithm> OrderOf(Collective collective, const algo::Hosts& hosts, std::size_t bytes) {
  if (bytes < kLongBytes) return std::nullopt;
  for (const algo::Entry& entry : algo::Registry()) {
    if (entry.orders_long != nullptr && entry.orders_long(collective, hosts)) return entry.algorithm;
  }
  return std::nullopt;
}

std::string ToString(const Choice& choice) {
  return fmt::format("{} {}{}{}", algo::Get(choice.algorithm).name, proto::Name(choice.protocol),
                     choice.by_reference ? ", by reference" : "",
                     choice.channels > 1 ? fmt::format(", {} channels", choice.channels) : "");
}

Result<Filters> ParseFilters(std::string_view algo_filter, std::string_view proto_filter) {
  const Result<Filter> algorithms = Filter::Parse(algo_filter, "NCCL_ALGO", AlgorithmBits, KnownAlgorithms());
  if (!algorithms.ok()) return algorithms.status();
  const Result<Filter> protocols = Filter::Parse(
      proto_filter, "NCCL_PROTO",
      [](std::string_view name) -> std::optional<std::uint32_t> {
        const std::optional<Protocol> protocol = proto::ParseProtocol(name);
        if (!protocol) return std::nullopt;
        return std::uint32_t{1} << static_cast<int>(*protocol);
      },
      "LL, LL128, Simple");
  if (!protocols.ok()) return protocols.status();
  return Filters{*algorithms, *protocols};
}

Result<Chooser> Chooser::Create(const ChooserOptions& options) {
  Chooser chooser;
  chooser.options_ = options;
  if (options.hosts.count() == 1) chooser.options_.hosts = algo::Hosts(options.ranks);
  chooser.costs_ = options.costs != nullptr ? options.costs : std::make_shared<PlanCosts>(chooser.options_.hosts);
  const Result<Filters> filters = ParseFilters(options.algo_filter, options.proto_filter);
  if (!filters.ok()) return filters.status();
  chooser.filters_ = *filters;
  return chooser;
}

const PlanCost& Chooser::CostOf(Algorithm algorithm, Collective collective) {
  return costs_->Of(algorithm, collective);
}

plan::Footprint Chooser::FootprintOf(Algorithm algorithm, Collective collective, int root) {
  if (RootsAreAlike(collective, hosts())) return CostOf(algorithm, collective).footprint;
  return plan::MeasureFootprint(algo::BuildAll(algorithm, collective, hosts(), root));
}

Ranks Chooser::WhoRuns() const { return {.all = options_.ranks, .of_host = hosts().most(), .cpus = options_.cpus}; }

Way Chooser::ConstantsOf(const Choice& way, Collective collective) const {
  const Machine& m = options_.machine;
  if (way.by_reference) return ReferenceOf(m, hosts(), Reduces(collective));
  if (way.protocol == Protocol::kLl) return m.ll;
  return way.protocol == Protocol::kLl128 ? m.ll128 : m.simple;
}

std::size_t Chooser::MessageBytes(const Choice& way, Collective collective) {
  if (collective == Collective::kSendRecv) return options_.transfer_chunk_bytes(way.protocol, way.by_reference);
  return options_.chunk_bytes(CostOf(way.algorithm, collective).footprint, way.protocol, way.by_reference,
                              way.channels);
}

double Chooser::PredictUs(const Choice& way, Collective collective, std::size_t bytes) {
  if (collective != Collective::kSendRecv) {
    return tune::PredictUs(options_.machine, CostOf(way.algorithm, collective), ConstantsOf(way, collective), bytes,
                           MessageBytes(way, collective), way.channels, WhoRuns());
  }
  PlanCost cost = CostOfTransfer();
  if (hosts().count() > 1) {
    cost.network = {.hops = 1,
                    .sent_max = 1,
                    .received_max = 1,
                    .host_sent_max = 1,
                    .host_received_max = 1,
                    .messages_max = 1,
                    .bursts_max = 1,
                    .peers_max = 1,
                    .links_max = 1};
  }
  return TransferUs(way, bytes, cost);
}

double Chooser::TransferUs(const Choice& way, std::size_t bytes, const PlanCost& cost) const {
  const double us = tune::PredictUs(options_.machine, cost, ConstantsOf(way, Collective::kSendRecv), bytes,
                                    options_.transfer_chunk_bytes(way.protocol, way.by_reference), 1, WhoRuns());
  const bool in_lines = way.protocol == Protocol::kLl128 && cost.network.hops == 0;
  return in_lines ? Ll128InExchange(bytes, options_.machine.ll.hop_us) * us : us;
}

void Chooser::AddCandidates(const algo::Entry& entry, Collective collective, std::size_t bytes, int max_channels,
                            std::vector<Choice>& candidates) {
  const auto add = [&](Protocol protocol, bool by_reference) {
    if (!filters_.protocols.Allows(collective, static_cast<int>(protocol))) return;
    for (int channels = options_.min_channels; channels <= max_channels; ++channels) {
      Choice choice{entry.algorithm, protocol, by_reference, channels};
      if (MessageBytes(choice, collective) == 0) continue;
      choice.predicted_us = PredictUs(choice, collective, bytes);
      candidates.push_back(choice);
    }
  };
  add(Protocol::kLl, false);
  add(Protocol::kLl128, false);
  const bool refers = options_.can_refer && algo::MayRefer(entry, collective, hosts());
  if (!refers || !options_.force_reference) add(Protocol::kSimple, false);
  if (refers) add(Protocol::kSimple, true);
}

// No prediction for the algorithm's plans is less: what their messages alone cost, by the cheapest of all ways, as many times as
// ranks share a core (model.h).
double Chooser::LeastUs(const algo::Entry& entry, Collective collective) const {
  if (!RootsAreAlike(collective, hosts())) return 0;
  const Machine& m = options_.machine;
  const double message_us =
      std::min({m.ll.message_us, m.ll128.message_us, m.simple.message_us, m.reference.message_us});
  const Ranks ranks = WhoRuns();
  const double crowd = std::max(1.0, static_cast<double>(ranks.of_host) / ranks.cpus);
  return crowd * costs_->EndsOfRankZero(entry.algorithm, collective) * message_us / 2 * options_.min_channels;
}

std::vector<Choice> Chooser::Collect(Collective collective, std::size_t bytes, std::optional<Algorithm> order,
                                     bool filtered, Wanted wanted) {
  struct Eligible {
    const algo::Entry* entry;
    int max_channels;
    double least_us;
  };
  std::vector<Eligible> eligible;
  for (const algo::Entry& entry : algo::Registry()) {
    if (!entry.supports(collective, hosts())) continue;
    const bool asked = filtered && filters_.algorithms.Says(collective);
    if (asked && !filters_.algorithms.Allows(collective, static_cast<int>(entry.algorithm))) continue;
    const bool in_order = order ? entry.algorithm == *order : entry.rank_ordered(collective, hosts());
    if (!asked && Reduces(collective) && !in_order) continue;
    eligible.push_back({.entry = &entry,
                        .max_channels = !asked && order ? options_.min_channels : options_.max_channels,
                        .least_us = wanted == Wanted::kBest ? LeastUs(entry, collective) : 0});
  }
  std::ranges::stable_sort(eligible, {}, &Eligible::least_us);
  std::vector<Choice> candidates;
  double best_us = std::numeric_limits<double>::infinity();
  for (const Eligible& e : eligible) {
    if (e.least_us > best_us) break;
    AddCandidates(*e.entry, collective, bytes, e.max_channels, candidates);
    for (const Choice& choice : candidates) best_us = std::min(best_us, choice.predicted_us);
  }
  std::ranges::stable_sort(candidates, {}, [](const Choice& c) { return std::pair(c.predicted_us, c.algorithm); });
  return candidates;
}

std::vector<Choice> Chooser::Candidates(Collective collective, std::size_t bytes, Wanted wanted) {
  const std::optional<Algorithm> order = OrderOf(collective, hosts(), bytes);
  // Unless asked for by name, only algorithms with the one reproducible order of reduction take part, or the one that OrderOf
  // names. Its order goes by blocks, which lie elsewhere with more channels.
  std::vector<Choice> candidates = Collect(collective, bytes, order, true, wanted);
  if (candidates.empty() && !filters_.algorithms.Binds(collective)) {
    candidates = Collect(collective, bytes, order, false, wanted);
  }
  // Links that cannot hold its messages.
  if (candidates.empty() && order) candidates = Collect(collective, bytes, std::nullopt, true, wanted);
  return candidates;
}

std::vector<Choice> Chooser::Candidates(Collective collective, std::size_t bytes) {
  return Candidates(collective, bytes, Wanted::kAll);
}

Result<Choice> Chooser::Choose(Collective collective, std::size_t bytes) {
  const std::vector<Choice> candidates = Candidates(collective, bytes, Wanted::kBest);
  if (!candidates.empty()) return candidates.front();
  return Status(
      Code::kInvalidUsage,
      fmt::format("NCCL_ALGO=\"{}\" and NCCL_PROTO=\"{}\" leave nothing that can do {} among {} ranks; `tutti "
                  "plan --help` lists what there is",
                  options_.algo_filter, options_.proto_filter, Name(collective), options_.ranks));
}

std::vector<Choice> Chooser::TransferCandidates(std::size_t bytes) const {
  std::vector<Choice> candidates;
  const auto consider = [&](Protocol protocol, bool by_reference) {
    if (!filters_.protocols.Allows(Collective::kSendRecv, static_cast<int>(protocol))) return;
    Choice choice{Algorithm::kPairwise, protocol, by_reference, 1};
    choice.predicted_us = TransferUs(choice, bytes, CostOfTransfer());
    candidates.push_back(choice);
  };
  consider(Protocol::kLl, false);
  consider(Protocol::kLl128, false);
  if (!options_.can_refer || !options_.force_reference) consider(Protocol::kSimple, false);
  if (options_.can_refer) consider(Protocol::kSimple, true);
  std::ranges::stable_sort(candidates, {}, &Choice::predicted_us);
  return candidates;
}

Choice Chooser::ChooseTransfer(std::size_t bytes) const {
  const std::vector<Choice> candidates = TransferCandidates(bytes);
  return candidates.empty() ? Choice{Algorithm::kPairwise, Protocol::kSimple, false, 1, 1e300} : candidates.front();
}

}  // namespace tutti::tune
