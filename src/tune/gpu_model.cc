// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/footprint.h"
#include "tune/chooser.h"

namespace tutti::tune {

using proto::Protocol;

namespace {

constexpr double kBytesPerUsOfGb = 1000.0;

// Folds of a reduce may be in any order, since one rank alone has the result (docs/decisions/0002-rank-order.md).
bool MustBeOrdered(Collective collective) { return Reduces(collective) && collective != Collective::kReduce; }

}  // namespace

std::string ToString(const GpuChoice& choice) {
  if (choice.copies) return fmt::format("{}, copy engines", algo::Get(choice.algorithm).name);
  if (choice.direct) return fmt::format("{}, direct", algo::Get(choice.algorithm).name);
  return fmt::format("{} {}, {} channel{} of {} threads", algo::Get(choice.algorithm).name,
                     proto::Name(choice.protocol), choice.channels, choice.channels == 1 ? "" : "s", choice.threads);
}

double PredictTransferUs(const GpuMachine& machine, std::size_t bytes) {
  constexpr int kEnds = 2;
  const bool lines = bytes <= machine.cuts.lines_bytes;
  const double hop_us = lines ? machine.lines_hop_us : machine.direct.hop_us;
  const double link = machine.both_ways_share * (lines ? machine.lines_link_gb_per_s : machine.direct.link_gb_per_s);
  const bool one_block = bytes <= machine.cuts.small_channel_bytes;
  return machine.start_us + kEnds * machine.end_us + (one_block ? 0 : machine.blocks_us) + hop_us +
         static_cast<double>(bytes) / (link * kBytesPerUsOfGb);
}

Result<GpuChooser> GpuChooser::Create(const GpuChooserOptions& options) {
  GpuChooser chooser;
  chooser.options_ = options;
  const Result<Filters> filters = ParseFilters(options.algo_filter, options.proto_filter);
  if (!filters.ok()) return filters.status();
  chooser.filters_ = *filters;
  return chooser;
}

std::vector<plan::RankPlan> GpuChooser::PlansOf(const algo::Entry& entry, Collective collective) const {
  return GoesOverFixedLinks(entry, collective)
             ? algo::BuildAllOverFixedLinks(entry.algorithm, collective, options_.ranks)
             : algo::BuildAll(entry.algorithm, collective, options_.ranks);
}

bool GpuChooser::Has(const algo::Entry& entry, Collective collective, Protocol protocol) {
  if (GoesOverFixedLinks(entry, collective)) return true;
  if (!entry.supports(collective, options_.ranks)) return false;
  return !many() || (options_.direct && protocol == Protocol::kSimple && CostOf(entry, collective).for_teams);
}

bool GpuChooser::IsPlanOfEarlier(const algo::Entry& entry, Collective collective,
                                 const std::vector<plan::RankPlan>& plans) const {
  for (const algo::Entry& earlier : algo::Registry()) {
    if (earlier.algorithm == entry.algorithm) return false;
    if (!earlier.supports(collective, options_.ranks)) continue;
    if (algo::BuildAll(earlier.algorithm, collective, options_.ranks) == plans) return true;
  }
  return false;
}

const GpuChooser::Known& GpuChooser::CostOf(const algo::Entry& entry, Collective collective) {
  Known& known = known_[static_cast<int>(entry.algorithm)][static_cast<int>(collective)];
  if (!known.known) {
    const std::vector<plan::RankPlan> plans = PlansOf(entry, collective);
    known.cost = plan::Evaluate(plans);
    const int blocks = plan::MeasureFootprint(plans).blocks_per_piece;
    known.message = 1.0 / blocks;
    known.moved = std::max(known.cost.sent_max, known.cost.received_max);
    known.forms = plan::FindForms(plans);
    if (many()) known.forms = {.moves = !GoesOverFixedLinks(entry, collective) && known.forms.moves};
    // Where it is the plan of an algorithm before it, that one stands for what teams do, and this one for its steps.
    known.for_teams = known.forms.ForTeams() && !IsPlanOfEarlier(entry, collective, plans);
    const bool passed_on_once = known.cost.hops <= 1 || known.forms.ForTeams();
    for (int p = 0; p < proto::kProtocols; ++p) {
      known.is_short[p] = passed_on_once && plan::HasFlatForm(known.forms.lists, p, plan::Copied::kIsStored);
    }
    known.known = true;
  }
  return known;
}

GpuChooser::Run GpuChooser::RunOf(const Known& known, Collective collective, Protocol protocol,
                                  std::size_t bytes) const {
  const GpuMachine& machine = options_.machine;
  const bool direct = options_.direct && protocol == Protocol::kSimple && known.for_teams;
  const bool relay = direct && known.forms.relay;
  const GpuWay& way = !direct             ? machine.ways[static_cast<int>(protocol)]
                      : !relay            ? machine.direct
                      : known.forms.chain ? machine.chain
                                          : machine.relay;
  const double message = static_cast<double>(bytes) * known.message;
  return {.known = known,
          .way = way,
          .collective = collective,
          .protocol = protocol,
          .bytes = static_cast<double>(bytes),
          .message = message,
          .direct = direct,
          .relay = relay,
          .lines = direct && !relay && options_.whole_lines && message <= static_cast<double>(machine.cuts.lines_bytes),
          .is_short = known.is_short[static_cast<int>(protocol)] && options_.ranks <= machine.short_ranks};
}

bool GpuChooser::IsLongChain(const Run& run) const {
  const GpuMachine& machine = options_.machine;
  return run.chain() && Reduces(run.collective) && run.protocol == Protocol::kLl128 &&
         options_.ranks >= machine.long_chain_ranks && run.bytes >= static_cast<double>(machine.long_chain_bytes);
}

int GpuChooser::ChannelsFor(const Run& run, double message_bytes, int asked) const {
  const GpuMachine& machine = options_.machine;
  const bool many = run.message > static_cast<double>(machine.many_channels_bytes) && !IsLongChain(run);
  int most = many || asked > 0 ? options_.max_channels : std::min(options_.max_channels, machine.few_channels);
  if (run.protocol == Protocol::kSimple && !run.direct) most = std::min(most, options_.max_simple_channels);
  if (asked > 0) return std::min(asked, most);
  if (run.direct) return options_.max_channels;  // blocks
  const double filled = std::min(message_bytes / static_cast<double>(run.way.channel_bytes), 4096.0);
  return std::clamp(static_cast<int>(filled + 0.999), std::min(options_.min_channels, most), most);
}

// Steps deal with one message after the other, and short forms with one peer after the other. Teams of different peers wait side by
// side: there one message counts, and where a rank sends too, that all its peers have to be there.
int GpuChooser::EndsOf(const Run& run) const {
  const plan::Cost& cost = run.known.cost;
  if (run.direct) return cost.one_way ? 1 : 1 + cost.peers_max;
  return run.is_short ? cost.peers_max * (cost.one_way ? 1 : 2) : cost.ends_max;
}

double GpuChooser::FillingUs(const Run& run) const {
  if (!run.relay) return 0;
  const GpuMachine& machine = options_.machine;
  if (!Reduces(run.collective)) return machine.relay_us;
  if (run.chain()) return machine.relay_us + machine.relay_chain_us;
  const bool to_root = run.collective == Collective::kReduce && run.known.cost.hops > 1;
  return machine.relay_us + machine.relay_fold_us + (to_root ? machine.relay_root_us : 0);
}

double GpuChooser::HopsUs(const Run& run) const {
  const plan::Cost& cost = run.known.cost;
  if (cost.hops == 0) return 0;
  const GpuMachine& machine = options_.machine;
  const double hop_us = run.lines ? machine.lines_hop_us : run.way.hop_us;
  const double later_us = run.chain() && !run.relay       ? machine.chain_hop_us
                          : run.is_short && !cost.one_way ? machine.short_later_hop_us
                                                          : hop_us;
  return hop_us + (cost.hops - 1) * later_us;
}

double GpuChooser::DataUs(const Run& run, int channels) const {
  const GpuMachine& machine = options_.machine;
  const plan::Cost& cost = run.known.cost;
  double link = run.lines ? machine.lines_link_gb_per_s : run.way.link_gb_per_s;
  const bool passed_on = HasRoot(run.collective) && cost.hops > 1 && run.protocol == Protocol::kLl128;
  if (passed_on) link = std::min(link, machine.passed_on_gb_per_s);
  if (!cost.one_way || cost.hops > 1) link *= machine.both_ways_share;
  const double rate = std::min(channels * run.way.channel_gb_per_s, link);
  const double folded = run.relay || run.chain() ? 0 : cost.folded_max / machine.fold_gb_per_s;
  return run.bytes / kBytesPerUsOfGb * (run.known.moved / rate + folded);
}

double GpuChooser::PredictUs(const Run& run, int channels) const {
  const GpuMachine& machine = options_.machine;
  const int launches = run.direct ? options_.rounds : 1;
  const double line_blocks = run.message / static_cast<double>(machine.cuts.small_channel_bytes);
  const bool several_blocks = !run.direct ? channels > 1
                              : run.lines ? line_blocks > 1 || run.known.cost.peers_max > 1
                                          : true;
  const double before_us = launches * machine.start_us + EndsOf(run) * machine.end_us + FillingUs(run) -
                           (run.is_short ? machine.short_us : 0) + (several_blocks ? machine.blocks_us : 0);
  const double hops_us = HopsUs(run), data_us = DataUs(run, channels);
  if (!run.known.cost.one_way) return before_us + hops_us + data_us;
  return before_us + std::max(hops_us, machine.one_way_share * hops_us + data_us);
}

GpuChoice GpuChooser::Predict(const algo::Entry& entry, Collective collective, Protocol protocol, std::size_t bytes,
                              int channels) {
  const Run run = RunOf(CostOf(entry, collective), collective, protocol, bytes);
  const GpuMachine& machine = options_.machine;
  GpuChoice choice{.algorithm = entry.algorithm, .protocol = protocol, .direct = run.direct};
  // `bytes` is the least of a class of sizes (comm::SizeClass). With LL128 a warp that has a unit too many takes a second turn,
  // so there are warps for the largest of the class; those without a unit cost next to nothing.
  const double largest = protocol == Protocol::kLl128 ? 1.25 * run.message : run.message;
  choice.channels = ChannelsFor(run, largest, channels);
  choice.threads = Threads(protocol, largest / choice.channels);
  if (IsLongChain(run)) choice.threads = std::min(choice.threads, machine.long_chain_threads / 32 * 32);
  if (protocol == Protocol::kSimple) {
    choice.chunk_bytes = std::max(static_cast<std::size_t>(run.message / choice.channels / machine.pipeline_rounds),
                                  machine.least_chunk_bytes);
  }
  choice.predicted_us = PredictUs(run, ChannelsFor(run, run.message, channels));
  return choice;
}

bool GpuChooser::IsLast(const GpuChoice& choice, Collective collective, std::size_t bytes) {
  if (!choice.direct || many() || !options_.algo_filter.empty() || !options_.proto_filter.empty()) return false;
  const Known& known = CostOf(algo::Get(choice.algorithm), collective);
  return known.forms.moves &&
         static_cast<double>(bytes) * known.message < static_cast<double>(options_.machine.transfer_least_bytes);
}

std::optional<algo::Algorithm> GpuChooser::AlgorithmOfCopies(Collective collective) {
  for (const algo::Entry& entry : algo::Registry()) {
    if (!entry.supports(collective, options_.ranks)) continue;
    if (CostOf(entry, collective).forms.copies != plan::Forms::Copies::kNone) return entry.algorithm;
  }
  return std::nullopt;
}

std::optional<GpuChoice> GpuChooser::PredictCopies(Collective collective, std::size_t bytes) {
  const std::optional<algo::Algorithm> algorithm = AlgorithmOfCopies(collective);
  if (!algorithm) return std::nullopt;
  const Known& known = CostOf(algo::Get(*algorithm), collective);
  if (!known.forms.outputs_alike) return std::nullopt;
  GpuChoice choice{.algorithm = *algorithm, .copies = true};
  if (known.forms.copies == plan::Forms::Copies::kAll) {
    const double sent = static_cast<double>(bytes) * known.cost.sent_max;
    choice.predicted_us = PredictCopiesUs(options_.machine, static_cast<std::size_t>(sent));
    return choice;
  }
  const std::size_t piece = bytes / static_cast<std::size_t>(options_.ranks);
  const std::vector<GpuChoice> scatter = Candidates(Collective::kReduceScatter, piece);
  if (scatter.empty()) return std::nullopt;
  choice.predicted_us = scatter.front().predicted_us +
                        PredictCopiesUs(options_.machine, piece * static_cast<std::size_t>(options_.ranks - 1));
  return choice;
}

int GpuChooser::Threads(Protocol protocol, double message_bytes) const {
  // Enough for the message at once, in whole warps.
  constexpr double kThreadBytes[proto::kProtocols] = {8, 30, 16};
  const double threads = message_bytes / kThreadBytes[static_cast<int>(protocol)];
  const int most = options_.machine.ways[static_cast<int>(protocol)].threads / 32 * 32;
  return std::clamp((static_cast<int>(std::min(threads, 4096.0)) + 31) / 32 * 32, 32, most);
}

std::vector<GpuChoice> GpuChooser::Candidates(Collective collective, std::size_t bytes, Outputs outputs) {
  std::vector<GpuChoice> candidates;
  const auto collect = [&](bool filtered) {
    for (const algo::Entry& entry : algo::Registry()) {
      const bool asked = filtered && filters_.algorithms.Says(collective);
      if (asked && !filters_.algorithms.Allows(collective, static_cast<int>(entry.algorithm))) continue;
      if (!asked && !many() && MustBeOrdered(collective) && !entry.rank_ordered(collective, options_.ranks)) continue;
      for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
        if (!filters_.protocols.Allows(collective, protocol)) continue;
        if (!Has(entry, collective, static_cast<Protocol>(protocol))) continue;
        if (static_cast<Protocol>(protocol) == Protocol::kLl128 && !options_.whole_lines) continue;
        candidates.push_back(Predict(entry, collective, static_cast<Protocol>(protocol), bytes));
      }
    }
  };
  collect(true);
  if (candidates.empty() && !filters_.algorithms.Binds(collective)) collect(false);
  const bool asks_for_kernels = !options_.algo_filter.empty() || !options_.proto_filter.empty();
  if (outputs == Outputs::kInWindows && !asks_for_kernels) {
    if (const std::optional<GpuChoice> copies = PredictCopies(collective, bytes)) candidates.push_back(*copies);
  }
  std::ranges::stable_sort(candidates, {}, [&](const GpuChoice& choice) {
    return std::pair(IsLast(choice, collective, bytes), choice.predicted_us);
  });
  return candidates;
}

}  // namespace tutti::tune
