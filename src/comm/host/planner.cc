// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/planner.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "algo/algorithm.h"
#include "comm/host/jobs.h"
#include "comm/host/log_choice.h"
#include "exec/cpu/chunks.h"
#include "exec/cpu/prepared_plan.h"
#include "plan/footprint.h"
#include "trace/layout.h"
#include "tune/chooser.h"

namespace tutti::comm {

using exec::cpu::PreparedPlan;

Planner::Planner(int rank, int ranks, const Jobs& jobs) : rank_(rank), ranks_(ranks), jobs_(jobs) {}
Planner::~Planner() = default;

void Planner::Start(tune::Chooser chooser, const exec::cpu::ChunkRules& rules, std::function<void(int)> open) {
  chooser_ = std::make_unique<tune::Chooser>(std::move(chooser));
  rules_ = &rules;
  open_ = std::move(open);
}

std::unique_ptr<PreparedPlan> Planner::Prepare(plan::RankPlan plan, std::string name) const {
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    for (const int peer : step.to) open_(peer);
    for (const plan::Operand& operand : step.operands) {
      if (operand.kind == plan::Operand::Kind::kRecv) open_(operand.index);
    }
  }
  return exec::cpu::PreparePlan(std::move(plan), std::move(name));
}

// Of the plans as algorithms build them.
const plan::Footprint& Planner::FindFootprint(algo::Algorithm algorithm, Collective collective, int root) {
  std::unique_ptr<plan::Footprint>& footprint = footprints_[{algorithm, collective, root}];
  if (footprint == nullptr) {
    footprint = std::make_unique<plan::Footprint>(chooser_->FootprintOf(algorithm, collective, root));
  }
  return *footprint;
}

// The plan of an algorithm, and the figures that all ranks must agree on.
const PreparedPlan* Planner::FindPlan(const Wanted& wanted) {
  std::unique_ptr<PreparedPlan>& slot = plans_[wanted];
  if (slot == nullptr) {
    const auto& [algorithm, collective, root, channel, depth] = wanted;
    const algo::Entry& entry = algo::Get(algorithm);
    plan::RankPlan plan = entry.build({.collective = collective,
                                       .rank = rank_,
                                       .ranks = ranks_,
                                       .root = root,
                                       .channel = channel,
                                       .hosts = chooser_->hosts()});
    plan.Deepen(depth);
    slot = Prepare(std::move(plan), fmt::format("{} {}", Name(collective), entry.name));
    slot->footprint = plan::Deepen(FindFootprint(algorithm, collective, root), depth);
    slot->by_reference = algo::MayRefer(entry, collective, chooser_->hosts());
  }
  return slot.get();
}

Recipe& Planner::RecipeOf(Collective collective, int size_class, int root) {
  const int c = static_cast<int>(collective);
  std::unique_ptr<RecipeTable>* table = &recipes_[c];
  if (HasRoot(collective)) {
    if (rooted_recipes_[c].empty()) rooted_recipes_[c].resize(ranks_);
    table = &rooted_recipes_[c][root];
  }
  if (*table == nullptr) *table = std::make_unique<RecipeTable>();
  return (**table)[size_class];
}

Recipe Planner::MakeRecipe(const tune::Choice& choice, Collective collective, int root) {
  Recipe recipe{.protocol = choice.protocol, .by_reference = choice.by_reference};
  const plan::Footprint& shallow = FindFootprint(choice.algorithm, collective, root);
  const int depth = rules_->DepthFor(shallow, choice.protocol, choice.by_reference);
  for (int channel = 0; channel < choice.channels; ++channel) {
    recipe.plans.push_back(FindPlan({choice.algorithm, collective, root, channel, depth}));
  }
  const plan::Footprint& footprint = recipe.plans[0]->footprint;
  recipe.chunk_bytes = rules_->ForPlan(footprint, choice.protocol, choice.by_reference, choice.channels);
  recipe.pool_chunk_bytes = rules_->ForPlan(footprint, choice.protocol, false, choice.channels);
  recipe.how = trace::How{.algorithm = static_cast<std::uint8_t>(choice.algorithm),
                          .protocol = static_cast<std::uint8_t>(choice.protocol),
                          .channels = static_cast<std::uint8_t>(choice.channels),
                          .by_reference = choice.by_reference}
                   .Pack();
  return recipe;
}

Result<const Recipe*> Planner::FindRecipe(Collective collective, std::size_t bytes, int root) {
  const int size_class = SizeClass(bytes);
  Recipe& recipe = RecipeOf(collective, size_class, root);
  if (recipe.plans.empty()) [[unlikely]] {
    const Result<tune::Choice> choice = chooser_->Choose(collective, SmallestOfClass(size_class));
    if (!choice.ok()) return choice.status();
    LogChoice(said_, collective, algo::Get(choice->algorithm).name, proto::Name(choice->protocol));
    recipe = MakeRecipe(*choice, collective, root);
  }
  return &recipe;
}

const PreparedPlan* Planner::FindTransferPlan(std::span<const Operation> operations) {
  ends_.clear();
  for (const Operation& operation : operations) ends_.push_back(EndOf(operation));
  if (const PreparedPlan* known = groups_.Find(ends_)) return known;
  std::string name = operations.size() == 1 ? std::string(Name(operations[0].kind)) : "a group of sends and receives";
  auto plan = Prepare(BuildGroup(ends_, rank_, ranks_), std::move(name));
  return groups_.Keep(ends_, std::move(plan), [&](const PreparedPlan& old) { return !jobs_.Hold(&old); });
}

exec::cpu::Lane Planner::FindLane(std::size_t bytes) {
  const int size_class = SizeClass(bytes);
  std::optional<exec::cpu::Lane>& lane = lanes_[size_class];
  if (!lane) [[unlikely]] {
    const tune::Choice choice = chooser_->ChooseTransfer(SmallestOfClass(size_class));
    lane = exec::cpu::Lane{choice.protocol, choice.by_reference};
  }
  return *lane;
}

Result<double> Planner::PredictUs(const Operation& o) {
  const std::size_t bytes = SmallestOfClass(SizeClass(o.count * SizeOf(o.type)));
  if (o.count == 0 && o.kind != Collective::kBarrier) return 0.0;
  if (IsTransfer(o.kind)) return chooser_->ChooseTransfer(bytes).predicted_us;
  const Result<tune::Choice> choice = chooser_->Choose(o.kind, bytes);
  if (!choice.ok()) return choice.status();
  return choice->predicted_us;
}

std::string Planner::Explain(const Operation& o) const {
  const std::size_t bytes = SmallestOfClass(SizeClass(o.count * SizeOf(o.type)));
  if (IsTransfer(o.kind)) return tune::ToString(chooser_->ChooseTransfer(bytes));
  const Result<tune::Choice> choice = chooser_->Choose(o.kind, bytes);
  return choice.ok() ? tune::ToString(*choice) : choice.status().ToString();
}

std::vector<tune::Choice> Planner::Candidates(Collective collective, std::size_t bytes) const {
  const std::size_t smallest = SmallestOfClass(SizeClass(bytes));
  return collective == Collective::kSendRecv ? chooser_->TransferCandidates(smallest)
                                             : chooser_->Candidates(collective, smallest);
}

void Planner::Use(Collective collective, std::size_t bytes, int root, const tune::Choice* way) {
  const int size_class = SizeClass(bytes);
  if (collective == Collective::kSendRecv) {
    lanes_[size_class].reset();
    if (way != nullptr) lanes_[size_class] = exec::cpu::Lane{way->protocol, way->by_reference};
    return;
  }
  RecipeOf(collective, size_class, root) = way == nullptr ? Recipe() : MakeRecipe(*way, collective, root);
}

}  // namespace tutti::comm
