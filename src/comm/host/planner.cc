// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "algo/algorithm.h"
#include "comm/host/entry.h"
#include "comm/host/log_choice.h"
#include "comm/host/size_class.h"
#include "exec/cpu/chunks.h"
#include "exec/cpu/prepared_plan.h"
#include "plan/footprint.h"
#include "trace/layout.h"
#include "tune/chooser.h"
#include "tune/plugin/tuned_chooser.h"

namespace tutti::comm {
using exec::cpu::PreparedPlan;

namespace {

// Sizes that a tuner is asked about one by one; of more it speaks for a whole class.
constexpr std::size_t kMostTunedSizes = std::size_t{1} << 16;

}  // namespace

struct Planner::EntryTable : std::array<Entry, kSizeClasses> {};
struct Planner::Decision {
  tune::Choice choice;
  bool by_tuner = false;
};

Planner::Planner(int rank, int ranks, const Jobs& jobs, TransferTrials* transfers)
    : rank_(rank), ranks_(ranks), jobs_(jobs), transfers_(transfers), lanes_(kSizeClasses) {}
Planner::~Planner() = default;

Status Planner::Start(tune::Chooser chooser, const exec::cpu::ChunkRules& rules, std::function<void(int)> open,
                      std::int64_t calls_before_trial, std::shared_ptr<tune::plugin::Tuner> tuner) {
  chooser_ = std::make_unique<tune::Chooser>(std::move(chooser));
  rules_ = &rules;
  open_ = std::move(open);
  calls_before_trial_ = calls_before_trial;
  if (tuner == nullptr) return Status::Ok();
  Result<tune::plugin::TunedChooser> tuned = tune::plugin::TunedChooser::Create(std::move(tuner), chooser_->options());
  if (!tuned.ok()) return tuned.status();
  tuned_ = std::make_unique<tune::plugin::TunedChooser>(std::move(*tuned));
  return Status::Ok();
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
    slot->refers_in_place = entry.in_place_by_reference(collective, chooser_->hosts());
  }
  return slot.get();
}

Entry& Planner::EntryOf(Collective collective, int size_class, int root) {
  const int c = static_cast<int>(collective);
  std::unique_ptr<EntryTable>* table = &entries_[c];
  if (HasRoot(collective)) {
    if (rooted_entries_[c].empty()) rooted_entries_[c].resize(ranks_);
    table = &rooted_entries_[c][root];
  }
  if (*table == nullptr) *table = std::make_unique<EntryTable>();
  return (**table)[size_class];
}

Recipe Planner::MakeRecipe(const tune::Choice& choice, Collective collective, int root) {
  Recipe recipe{.choice = choice};
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

Entry& Planner::TunedEntryOf(Collective collective, std::size_t bytes, int root) {
  const std::tuple key(collective, bytes, HasRoot(collective) ? root : 0);
  const auto found = tuned_entries_.find(key);
  if (found != tuned_entries_.end()) return *found->second;
  if (tuned_entries_.size() >= kMostTunedSizes) return EntryOf(collective, SizeClass(bytes), root);
  return *tuned_entries_.emplace(key, std::make_unique<Entry>()).first->second;
}

Result<Planner::Decision> Planner::Decide(Collective collective, std::size_t bytes) {
  const std::size_t smallest = SmallestOfClass(SizeClass(bytes));
  if (tuned_ != nullptr) {
    const std::optional<tune::Choice> choice = tuned_->Choose(*chooser_, collective, bytes, smallest);
    if (choice) return Decision{.choice = *choice, .by_tuner = true};
  }
  const Result<tune::Choice> choice = chooser_->Choose(collective, smallest);
  if (!choice.ok()) return choice.status();
  return Decision{.choice = *choice};
}

bool Planner::LetTunerCut(Recipe& recipe, Collective collective, std::size_t bytes) {
  if (tuned_ == nullptr) return false;
  const std::size_t chunk = tuned_->ChunkBytes(recipe.choice, collective, bytes, recipe.chunk_bytes);
  if (chunk == recipe.chunk_bytes) return false;
  recipe.chunk_bytes = chunk;
  recipe.pool_chunk_bytes = std::min(recipe.pool_chunk_bytes, chunk);
  return true;
}

Result<Entry*> Planner::FindEntry(Collective collective, std::size_t bytes, int root) {
  Entry* entry = &EntryOf(collective, SizeClass(bytes), root);
  if (entry->recipe.plans.empty() && tuned_ != nullptr && tune::plugin::TunedChooser::Asks(collective)) {
    entry = &TunedEntryOf(collective, bytes, root);
  }
  if (entry->recipe.plans.empty()) [[unlikely]] {
    const Result<Decision> decision = Decide(collective, bytes);
    if (!decision.ok()) return decision.status();
    const tune::Choice& choice = decision->choice;
    LogChoice(said_, collective, algo::Get(choice.algorithm).name, proto::Name(choice.protocol));
    entry->recipe = MakeRecipe(choice, collective, root);
    const bool by_tuner = LetTunerCut(entry->recipe, collective, bytes) || decision->by_tuner;
    const bool tries = calls_before_trial_ != 0 && collective != Collective::kBarrier && !by_tuner;
    entry->left = entry->granted = tries ? CallsBetween(choice, true) + 1 : Entry::kNever;
  }
  return entry;
}

Result<tune::Choice> Planner::DecideWay(Collective collective, std::size_t bytes) {
  const Result<Decision> decision = Decide(collective, bytes);
  if (!decision.ok()) return decision.status();
  return decision->choice;
}

std::string Planner::Explain(const Operation& o) {
  const std::size_t bytes = o.count * SizeOf(o.type);
  if (IsTransfer(o.kind)) return tune::ToString(chooser_->ChooseTransfer(SmallestOfClass(SizeClass(bytes))));
  tune::Choice way;
  const Status found = FindCurrent(o.kind, bytes, o.root, way);
  return found.ok() ? tune::ToString(way) : found.ToString();
}

void Planner::Use(Collective collective, std::size_t bytes, int root, const tune::Choice* way) {
  const int size_class = SizeClass(bytes);
  if (collective == Collective::kSendRecv) {
    lanes_[size_class].reset();
    if (way == nullptr) {
      ForgetTransferTrials(bytes);
    } else {
      lanes_[size_class] = exec::cpu::Lane{way->protocol, way->by_reference};
    }
    return;
  }
  Entry& entry = EntryOf(collective, size_class, root);
  entry = Entry();
  if (way != nullptr) entry.recipe = MakeRecipe(*way, collective, root);
}

}  // namespace tutti::comm
