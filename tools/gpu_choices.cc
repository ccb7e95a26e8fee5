// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/gpu_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algo/algorithm.h"
#include "comm/agree/gpu_machine.h"
#include "comm/gpu/limits.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/recipe.h"
#include "comm/gpu/work.h"
#include "comm/host/predict.h"
#include "transport/p2p/sections.h"
#include "tune/terms.h"
#include "tutti/gpu.h"

namespace tutti::tools {
namespace {

// Consecutive operations that follow one plan and can share a launch, as groups of stages have them.
bool ShareALaunch(const Operation& a, const Operation& b) {
  return a.kind == b.kind && !IsTransfer(a.kind) && a.count == b.count && a.type == b.type && a.op == b.op &&
         (!HasRoot(a.kind) || a.root == b.root);
}

}  // namespace

GpuChoices::GpuChoices(int ranks, std::string table, std::unique_ptr<comm::GpuPlanner> planner)
    : ranks_(ranks), table_(std::move(table)), planner_(std::move(planner)) {}
GpuChoices::GpuChoices(GpuChoices&&) noexcept = default;
GpuChoices& GpuChoices::operator=(GpuChoices&&) noexcept = default;
GpuChoices::~GpuChoices() = default;

Result<GpuChoices> GpuChoices::Create(const GpuFacts& facts, const Settings& settings) {
  const int ranks = facts.situation.ranks;
  if (ranks > transport::p2p::kMaxRanks) {
    return Status(Code::kUnsupported,
                  fmt::format("{} ranks of one host: at most {} use device memory there; fewer --ranks", ranks,
                              transport::p2p::kMaxRanks));
  }
  const tune::GpuTable& table = tune::FindGpuTable(facts.stored, facts.situation);
  const GpuOptions options{.ranks_per_gpu = facts.situation.ranks_per_gpu};
  const int multiprocessors =
      tune::MostBlocks(table.machine, facts.situation.multiprocessors, facts.situation.ranks_per_gpu);
  const comm::GpuLimits limits{
      .most_blocks = std::min(comm::MostChannels(table.machine, options, settings), multiprocessors),
      .least_blocks = comm::LeastChannels(options, settings),
      .whole_lines = facts.whole_lines};
  auto planner = std::make_unique<comm::GpuPlanner>(0, ranks);
  TUTTI_RETURN_IF_ERROR(planner->Start(table.machine, limits,
                                       comm::SectionsFor(ranks, table.machine, options, settings), settings, nullptr));
  return GpuChoices(ranks, table.name, std::move(planner));
}

tune::GpuChooser& GpuChoices::chooser() { return planner_->chooser(); }

std::vector<plan::RankPlan> GpuChoices::PlansOf(const tune::GpuChoice& way, Collective collective) const {
  const bool fixed = ranks_ > transport::p2p::kSeats && algo::Get(way.algorithm).few_links(collective);
  return fixed ? algo::BuildAllOverFixedLinks(way.algorithm, collective, ranks_)
               : algo::BuildAll(way.algorithm, collective, ranks_);
}

Result<GpuChoices::Ways> GpuChoices::Find(Collective collective, std::size_t bytes, tune::Outputs outputs) {
  Ways found;
  if (collective == Collective::kSendRecv) {
    found.ways.push_back({.name = "direct", .terms = tune::TermsOfTransfer(chooser().options().machine, bytes)});
    return found;
  }
  const Result<const comm::GpuRecipe*> recipe = planner_->FindRecipe(collective, bytes, 0);
  if (!recipe.ok()) return recipe.status();
  const Operation operation{.kind = collective, .count = bytes, .type = DataType::kUint8};
  const bool copies = outputs == tune::Outputs::kInWindows && planner_->CopiesPay(operation);
  std::size_t chosen = 0;
  for (const tune::GpuWayTerms& one : tune::TermsOf(chooser(), collective, bytes, outputs)) {
    const bool is_recipe = !one.way.copies && one.way.algorithm == (*recipe)->algorithm &&
                           one.way.protocol == (*recipe)->shape.protocol && one.way.direct == (*recipe)->direct;
    if (copies ? one.way.copies : is_recipe) {
      chosen = found.ways.size();
      found.chosen = one.way;
      found.by_channels = one.by_channels;
    }
    found.ways.push_back({.name = tune::ToString(one.way), .terms = one.terms});
  }
  PutChosenFirst(found.ways, chosen);
  return found;
}

Result<double> GpuChoices::PredictGroupUs(std::span<const Operation> operations) {
  const Result<PredictedWay> way = DescribeGroup(operations);
  if (!way.ok()) return way.status();
  return way->us();
}

Result<PredictedWay> GpuChoices::DescribeGroup(std::span<const Operation> operations) {
  PredictedWay group;
  const auto add = [&group](const std::string& name, const tune::Terms& terms) {
    if (group.name.find(name) == std::string::npos) group.name += (group.name.empty() ? "" : "; ") + name;
    group.terms += terms;
  };
  for (std::size_t i = 0; i < operations.size();) {
    const Operation& first = operations[i];
    std::vector<const Operation*> alike;
    do {
      alike.push_back(&operations[i++]);
    } while (i < operations.size() && ShareALaunch(first, operations[i]));
    if (IsTransfer(first.kind) || comm::IsEmpty(first)) continue;
    const Result<double> us = planner_->PredictAlikeUs(alike);
    if (!us.ok()) return us.status();
    const Result<Ways> ways = Find(first.kind, comm::BytesOf(first), tune::Outputs::kAnywhere);
    if (!ways.ok()) return ways.status();
    // Of several that share a launch the parts are those of one by itself, stretched.
    tune::Terms terms = ways->ways.front().terms;
    const double one_us = terms.Sum();
    for (double& part : terms.us) part *= one_us > 0 ? *us / one_us : 0;
    add(fmt::format("{}{} {}", alike.size() > 1 ? fmt::format("{} x ", alike.size()) : "", Name(first.kind),
                    ways->ways.front().name),
        terms);
  }
  const std::size_t most = comm::MostTransferred(operations).bytes;
  if (most > 0) add("sends and receives", tune::TermsOfTransfer(chooser().options().machine, most));
  return group;
}

}  // namespace tutti::tools
