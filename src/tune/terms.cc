// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/terms.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

namespace tutti::tune {
namespace {

constexpr double kNoLimit = 1e12;  // GB/s

// In which order groups of constants are taken away.
constexpr std::array kOrder = {Term::kHops,  Term::kNetwork,  Term::kLinks, Term::kCopies,
                               Term::kFolds, Term::kMessages, Term::kStart};
static_assert(kOrder.size() == kTerms);

// The group of a constant of GPUs, by the unit that its name ends in.
std::optional<Term> TermOf(std::string_view constant) {
  if (constant.ends_with("_gb_per_s")) return constant.starts_with("fold") ? Term::kFolds : Term::kLinks;
  if (!constant.ends_with("_us")) return std::nullopt;
  return constant.ends_with("hop_us") ? Term::kHops : Term::kStart;
}

bool IsOfChannels(std::string_view constant) { return constant.ends_with("_channel_gb_per_s"); }

// Puts constants of GPUs at no cost: those for which `chosen` holds.
template <typename Chosen>
void MakeFree(GpuMachine& machine, Chosen chosen) {
  for (const Constant& constant : ConstantsOf(machine)) {
    double* const* const value = std::get_if<double*>(&constant.value);
    if (value == nullptr || !chosen(constant.name)) continue;
    **value = constant.name.ends_with("_us") ? 0 : kNoLimit;
  }
}

void MakeFree(GpuMachine& machine, Term term) {
  MakeFree(machine, [term](std::string_view name) { return TermOf(name) == term; });
}

void MakeFree(Machine& machine, Term term) {
  Way* const ways[] = {&machine.ll, &machine.ll128, &machine.simple, &machine.reference};
  switch (term) {
    case Term::kHops:
      for (Way* way : ways) way->hop_us = 0;
      machine.network.hop_us = machine.switch_us = 0;
      break;
    case Term::kNetwork:
      machine.network.send_us_per_kib = machine.network.receive_us_per_kib = 0;
      break;
    case Term::kCopies:
      for (Way* way : ways) {
        way->write_us_per_kib = way->read_us_per_kib = 0;
        way->long_write_us_per_kib = way->long_read_us_per_kib = 0;
      }
      machine.reference_fresh_read_us_per_kib = machine.copy_us_per_kib = 0;
      break;
    case Term::kFolds:
      machine.fold_us_per_kib = 0;
      break;
    case Term::kMessages:
      for (Way* way : ways) way->message_us = 0;
      machine.network.message_us = 0;
      break;
    case Term::kLinks:
    case Term::kStart:
      break;
  }
}

// The predictions of all candidates by other constants, in the order of `ways`.
std::vector<double> PredictAll(GpuChooser& chooser, std::span<const GpuWayTerms> ways, Collective collective,
                               std::size_t bytes, Outputs outputs, const GpuMachine& machine) {
  chooser.GoBy(machine);
  const std::vector<GpuChoice> all = chooser.Candidates(collective, bytes, outputs);
  std::vector<double> us;
  for (const GpuWayTerms& one : ways) {
    const auto same = [&](const GpuChoice& other) {
      return other.algorithm == one.way.algorithm && other.protocol == one.way.protocol &&
             other.copies == one.way.copies;
    };
    const auto found = std::ranges::find_if(all, same);
    us.push_back(found == all.end() ? 0 : found->predicted_us);
  }
  return us;
}

}  // namespace

std::string_view Name(Term term) {
  constexpr std::array<std::string_view, kTerms> kNames = {"start",  "hops",  "messages", "links",
                                                           "copies", "folds", "network"};
  return kNames[static_cast<std::size_t>(term)];
}

Terms& Terms::operator+=(const Terms& more) {
  for (std::size_t i = 0; i < us.size(); ++i) us[i] += more.us[i];
  return *this;
}

double Terms::Sum() const { return std::accumulate(us.begin(), us.end(), 0.0); }

Term Terms::Largest() const { return static_cast<Term>(std::ranges::max_element(us) - us.begin()); }

std::vector<GpuWayTerms> TermsOf(const GpuChooser& chooser, Collective collective, std::size_t bytes, Outputs outputs) {
  GpuChooser asked = chooser;
  std::vector<GpuWayTerms> ways;
  std::vector<double> before;
  for (const GpuChoice& way : asked.Candidates(collective, bytes, outputs)) {
    ways.push_back({.way = way});
    before.push_back(way.predicted_us);
  }
  GpuMachine channels_free = chooser.options().machine;
  MakeFree(channels_free, IsOfChannels);
  const std::vector<double> freed = PredictAll(asked, ways, collective, bytes, outputs, channels_free);
  for (std::size_t i = 0; i < ways.size(); ++i) ways[i].by_channels = freed[i] < before[i];
  GpuMachine machine = chooser.options().machine;
  for (const Term term : kOrder) {
    MakeFree(machine, term);
    const std::vector<double> after = PredictAll(asked, ways, collective, bytes, outputs, machine);
    // The last one gets what is left, so that all add up.
    for (std::size_t i = 0; i < ways.size(); ++i) {
      ways[i].terms[term] = term == kOrder.back() ? before[i] : before[i] - after[i];
    }
    before = after;
  }
  return ways;
}

Terms TermsOfTransfer(const GpuMachine& machine, std::size_t bytes) {
  Terms terms;
  GpuMachine rest = machine;
  double before = PredictTransferUs(rest, bytes);
  for (const Term term : kOrder) {
    MakeFree(rest, term);
    const double after = term == kOrder.back() ? 0 : PredictTransferUs(rest, bytes);
    terms[term] = before - after;
    before = after;
  }
  return terms;
}

Terms TermsOf(const Chooser& chooser, const Choice& way, Collective collective, std::size_t bytes) {
  Chooser asked = chooser;
  Machine machine = chooser.options().machine;
  Terms terms;
  double before = asked.PredictUs(way, collective, bytes);
  for (const Term term : kOrder) {
    MakeFree(machine, term);
    asked.GoBy(machine);
    const double after = asked.PredictUs(way, collective, bytes);
    terms[term] = before - after;
    before = after;
  }
  return terms;
}

}  // namespace tutti::tune
