// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algo/algorithm.h"
#include "comm/host/jobs.h"
#include "exec/cpu/chunks.h"
#include "exec/cpu/prepared_plan.h"
#include "trace/layout.h"
#include "tune/chooser.h"

namespace tutti::comm {
namespace {

using exec::cpu::PreparedPlan;

constexpr std::size_t kCachedGroups = 32;

}  // namespace

Planner::Planner(int rank, int ranks, const Jobs& jobs) : rank_(rank), ranks_(ranks), jobs_(jobs) {}
Planner::~Planner() = default;

void Planner::Start(tune::Chooser chooser, const exec::cpu::ChunkRules& rules) {
  chooser_ = std::make_unique<tune::Chooser>(std::move(chooser));
  rules_ = &rules;
}

// The plan of an algorithm, and the figures that all ranks must agree on.
const PreparedPlan* Planner::FindPlan(algo::Algorithm algorithm, Collective collective, int root, int channel) {
  std::unique_ptr<PreparedPlan>& slot = plans_[{static_cast<int>(algorithm), collective, root, channel}];
  if (slot == nullptr) {
    const algo::Entry& entry = algo::Get(algorithm);
    plan::RankPlan plan =
        entry.build({.collective = collective, .rank = rank_, .ranks = ranks_, .root = root, .channel = channel});
    slot = exec::cpu::PreparePlan(std::move(plan), fmt::format("{} {}", Name(collective), entry.name));
    slot->footprint = chooser_->CostOf(algorithm, collective).footprint;
    slot->by_reference = algo::MayRefer(entry, collective, ranks_);
  }
  return slot.get();
}

Result<const Recipe*> Planner::FindRecipe(Collective collective, std::size_t bytes, int root) {
  const int c = static_cast<int>(collective);
  std::unique_ptr<RecipeTable>* table = &recipes_[c];
  if (HasRoot(collective)) {
    if (rooted_recipes_[c].empty()) rooted_recipes_[c].resize(ranks_);
    table = &rooted_recipes_[c][root];
  }
  if (*table == nullptr) *table = std::make_unique<RecipeTable>();
  const int size_class = SizeClass(bytes);
  Recipe& recipe = (**table)[size_class];
  if (recipe.plans.empty()) [[unlikely]] {
    const Result<tune::Choice> choice = chooser_->Choose(collective, SmallestOfClass(size_class));
    if (!choice.ok()) return choice.status();
    recipe.protocol = choice->protocol;
    recipe.by_reference = choice->by_reference;
    const plan::Footprint& footprint = chooser_->CostOf(choice->algorithm, collective).footprint;
    recipe.chunk_bytes = rules_->ForPlan(footprint, choice->protocol, choice->by_reference, choice->channels);
    recipe.pool_chunk_bytes = rules_->ForPlan(footprint, choice->protocol, false, choice->channels);
    recipe.how = trace::How{.algorithm = static_cast<std::uint8_t>(choice->algorithm),
                            .protocol = static_cast<std::uint8_t>(choice->protocol),
                            .channels = static_cast<std::uint8_t>(choice->channels),
                            .by_reference = choice->by_reference}
                     .Pack();
    for (int channel = 0; channel < choice->channels; ++channel) {
      recipe.plans.push_back(FindPlan(choice->algorithm, collective, root, channel));
    }
  }
  return &recipe;
}

// A plan for the same list of transfers, of whatever sizes, is built once; the cache forgets the oldest.
const PreparedPlan* Planner::FindTransferPlan(std::span<const Operation> operations) {
  const auto same_shape = [&](const CachedGroup& group) {
    return std::ranges::equal(group.shape, operations, [](const Operation& a, const Operation& b) {
      return a.kind == b.kind && a.root == b.root;
    });
  };
  if (last_group_ < groups_.size() && same_shape(groups_[last_group_])) return groups_[last_group_].plan.get();
  for (last_group_ = 0; last_group_ < groups_.size(); ++last_group_) {
    if (same_shape(groups_[last_group_])) return groups_[last_group_].plan.get();
  }
  std::vector<algo::Transfer> sends, receives;
  for (const Operation& o : operations) {
    (o.kind == Collective::kSend ? sends : receives).push_back({.peer = o.root, .count = 1});
  }
  std::string name = "a group of sends and receives";
  if (operations.size() == 1) {
    name = Name(operations[0].kind);
  }
  CachedGroup group{{operations.begin(), operations.end()},
                    exec::cpu::PreparePlan(algo::BuildSendRecv(rank_, ranks_, sends, receives), std::move(name))};
  if (groups_.size() < kCachedGroups) {
    groups_.push_back(std::move(group));
    return groups_.back().plan.get();
  }
  for (std::size_t tried = 0; tried < kCachedGroups; ++tried) {
    CachedGroup& oldest = groups_[next_group_++ % kCachedGroups];
    if (jobs_.Hold(oldest.plan.get())) continue;  // it stays for a job that may still run it
    oldest = std::move(group);
    return oldest.plan.get();
  }
  groups_.push_back(std::move(group));
  return groups_.back().plan.get();
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

}  // namespace tutti::comm
