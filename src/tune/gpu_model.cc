// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/footprint.h"
#include "tune/chooser.h"

namespace tutti::tune {

using proto::Protocol;

namespace {

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
  const GpuWay& way = machine.ways[static_cast<int>(Protocol::kSimple)];
  return machine.start_us + way.hop_us + static_cast<double>(bytes) / (way.link_gb_per_s * 1e3);
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

GpuChoice GpuChooser::Predict(const algo::Entry& entry, Collective collective, Protocol protocol, std::size_t bytes,
                              int channels) {
  const Known& known = CostOf(entry, collective);
  const plan::Forms& forms = known.forms;
  const bool direct = options_.direct && protocol == Protocol::kSimple && known.for_teams;
  const bool chain = forms.chain;
  const bool relay = direct && forms.relay;
  const GpuWay& way = !direct  ? options_.machine.ways[static_cast<int>(protocol)]
                      : !relay ? options_.machine.direct
                      : chain  ? options_.machine.chain
                               : options_.machine.relay;
  const double message = static_cast<double>(bytes) * known.message;
  GpuChoice choice{.algorithm = entry.algorithm, .protocol = protocol, .direct = direct};
  const GpuMachine& machine = options_.machine;
  const bool long_chain = chain && Reduces(collective) && protocol == Protocol::kLl128 &&
                          options_.ranks >= machine.long_chain_ranks && bytes >= machine.long_chain_bytes;
  const bool many_channels = message > static_cast<double>(machine.many_channels_bytes) && !long_chain;
  int most =
      many_channels || channels > 0 ? options_.max_channels : std::min(options_.max_channels, machine.few_channels);
  if (protocol == Protocol::kSimple && !direct) most = std::min(most, options_.max_simple_channels);
  const auto channels_for = [&](double message_bytes) {
    if (channels > 0) return std::min(channels, most);
    if (direct) return options_.max_channels;  // blocks
    const double filled = std::min(message_bytes / static_cast<double>(way.channel_bytes), 4096.0);
    return std::clamp(static_cast<int>(filled + 0.999), std::min(options_.min_channels, most), most);
  };
  // `bytes` is the least of a class of sizes (comm::SizeClass). With LL128 a warp that has a unit too many takes a second turn,
  // so there are warps for the largest of the class; those without a unit cost next to nothing.
  const double largest = protocol == Protocol::kLl128 ? 1.25 * message : message;
  choice.channels = channels_for(largest);
  choice.threads = Threads(protocol, largest / choice.channels);
  if (long_chain) choice.threads = std::min(choice.threads, machine.long_chain_threads / 32 * 32);
  if (protocol == Protocol::kSimple) {
    choice.chunk_bytes =
        std::max(static_cast<std::size_t>(message / choice.channels / options_.machine.pipeline_rounds),
                 options_.machine.least_chunk_bytes);
  }
  const bool by_lines = direct && !relay && options_.whole_lines && message <= machine.cuts.lines_bytes;
  const bool passed_on = HasRoot(collective) && known.cost.hops > 1 && protocol == Protocol::kLl128;
  double link = way.link_gb_per_s;
  if (passed_on) link = std::min(link, machine.passed_on_gb_per_s);
  if (by_lines) link = std::min(link, machine.ways[static_cast<int>(Protocol::kLl128)].link_gb_per_s);
  const double rate = std::min(channels_for(message) * way.channel_gb_per_s, link);
  constexpr double kBytesPerUsOfGb = 1000.0;
  const bool is_short = known.is_short[static_cast<int>(protocol)] && options_.ranks <= machine.short_ranks;
  const double moved = std::max(known.cost.sent_max, known.cost.received_max);
  const bool to_root = collective == Collective::kReduce && known.cost.hops > 1;
  const bool folds_first = relay && !chain && Reduces(collective);
  const double filling_us = (relay ? machine.relay_us : 0) + (folds_first ? machine.relay_fold_us : 0) +
                            (folds_first && to_root ? machine.relay_root_us : 0);
  const double later_hop_us = chain && !relay ? machine.chain_hop_us : way.hop_us;
  const double folded = relay || chain ? 0 : known.cost.folded_max / machine.fold_gb_per_s;
  const int launches = direct ? options_.rounds : 1;
  choice.predicted_us = launches * machine.start_us + filling_us - (is_short ? machine.short_us : 0) +
                        (known.cost.hops > 0 ? way.hop_us + (known.cost.hops - 1) * later_hop_us : 0) +
                        static_cast<double>(bytes) / kBytesPerUsOfGb * (moved / rate + folded);
  return choice;
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
  std::ranges::stable_sort(candidates, {}, &GpuChoice::predicted_us);
  return candidates;
}

}  // namespace tutti::tune
