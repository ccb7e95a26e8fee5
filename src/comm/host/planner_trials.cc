// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// When ways are tried, and which.
#include <algorithm>
#include <utility>
#include <vector>

#include "algo/algorithm.h"
#include "comm/host/entry.h"
#include "comm/host/log_choice.h"
#include "comm/host/planner.h"
#include "comm/host/size_class.h"
#include "comm/host/trials.h"
#include "trace/call.h"
#include "tune/chooser.h"
#include "tune/distinct.h"

namespace tutti::comm {
namespace {

// By prediction, what passes before each of the first three trials of a kind of call, and from then on: so much that trials do not
// count. Short programs and benchmarks see none.
constexpr double kBeforeTrialUs = 10e3, kBetweenTrialsUs = 1e6;
constexpr std::uint64_t kFewestBeforeTrial = 128, kFewestBetweenTrials = 16384;

}  // namespace

Entry::Entry() = default;
Entry::Entry(Entry&&) noexcept = default;
Entry& Entry::operator=(Entry&&) noexcept = default;
Entry::~Entry() = default;

// Ordinary calls before one of the first three trials, or from one trial to the next.
std::uint64_t Planner::CallsBetween(const tune::Choice& choice, bool first) const {
  if (calls_before_trial_ > 0) return static_cast<std::uint64_t>(calls_before_trial_);
  const double us = (first ? kBeforeTrialUs : kBetweenTrialsUs) / std::max(choice.predicted_us, 1e-3);
  return std::max(first ? kFewestBeforeTrial : kFewestBetweenTrials, static_cast<std::uint64_t>(us));
}

// Whether reading the clock twice counts in a call, and changes how calls that go one way follow each other.
bool IsShort(const tune::Choice& choice) {
  constexpr double kShortUs = 5;
  return choice.predicted_us < kShortUs;
}

// So many that what is under way as one way takes its turn after another one counts little. Of short calls that go one way a sender is many
// ahead in the long run, but not in the first ones of a turn. The first trial tells good ways from bad ones, and later ones what is best among
// a few that are good. Other short calls are timed one by one in the first trial, and may be timed by turns in later ones.
std::uint64_t Planner::CallsOfTurn(Collective collective, const tune::Choice& choice, bool first) const {
  constexpr double kTurnUs = 200;
  constexpr std::uint64_t kMost = 64, kMostShort = 1024, kLater = 8;
  const std::uint64_t longer = first ? 1 : kLater, fewest = first ? 4 : 16;
  const bool many = IsShort(choice) && (HasRoot(collective) || !first);
  const std::uint64_t usual = longer * (many ? kMostShort : kMost);
  const std::uint64_t most =
      calls_before_trial_ > 0 ? std::clamp(static_cast<std::uint64_t>(calls_before_trial_), fewest, kMost) : usual;
  const double us = kTurnUs * static_cast<double>(longer) / std::max(choice.predicted_us, 1e-3);
  return std::clamp(static_cast<std::uint64_t>(us), fewest, most);
}

std::uint64_t Planner::CallsUntilDecided(Collective collective, const Entry& entry) const {
  const tune::Choice& choice = entry.recipe.choice;
  if (entry.left >= Entry::kNever) return 0;
  return entry.left + Trials::MostCalls(CallsOfTurn(collective, choice, true), CallsBetween(choice, true),
                                        CallsOfTurn(collective, choice, false));
}

// Null where there is only one way.
std::unique_ptr<Trials> Planner::MakeTrials(const exec::cpu::Job& job, const Entry& entry) {
  const Collective collective = job.collective;
  const int root = trace::Call{.word = job.calls.word}.root();
  const std::size_t smallest = SmallestOfClass(SizeClass(job.count * job.element));
  std::vector<tune::Choice> all = chooser_->Candidates(collective, smallest);
  // A setting may name algorithms that fold in orders of their own: then results would change with the way.
  if (Reduces(collective) && !all.empty()) {
    const auto ordered = [&](const tune::Choice& way) {
      return algo::Get(way.algorithm).rank_ordered(collective, chooser_->hosts());
    };
    std::erase_if(all, [&, first = all.front()](const tune::Choice& way) {
      const bool same = way.algorithm == first.algorithm && way.channels == first.channels;
      return !same && !(ordered(way) && ordered(first));
    });
  }
  std::vector<tune::Choice> ways =
      Trials::Contestants(tune::Distinct(std::move(all), collective, chooser_->hosts(), root));
  if (ways.size() < 2) return nullptr;
  const Trials::Rules rules{.begin = entry.granted - 1,
                            .second = CallsBetween(entry.recipe.choice, true),
                            .period = CallsBetween(entry.recipe.choice, false),
                            .turn = CallsOfTurn(collective, entry.recipe.choice, true),
                            .later_turn = CallsOfTurn(collective, entry.recipe.choice, false),
                            .one_way = HasRoot(collective),
                            .short_calls = IsShort(entry.recipe.choice)};
  return std::make_unique<Trials>(
      std::move(ways), rules,
      [this, collective, root](const tune::Choice& choice) { return MakeRecipe(choice, collective, root); },
      [this](std::size_t bytes) {
        const int size_class = SizeClass(bytes);
        // Whatever the filters say of this operation: it is not the user's.
        const Result<tune::Choice> choice = chooser_->Choose(Collective::kAllReduce, SmallestOfClass(size_class));
        return MakeRecipe(choice.ok() ? *choice : tune::Choice{}, Collective::kAllReduce, 0);
      });
}

std::vector<tune::Choice> Planner::Candidates(Collective collective, std::size_t bytes) const {
  const std::size_t smallest = SmallestOfClass(SizeClass(bytes));
  if (collective == Collective::kSendRecv) return chooser_->TransferCandidates(smallest);
  return tune::Distinct(chooser_->Candidates(collective, smallest), collective, chooser_->hosts(), 0);
}

exec::cpu::Job* Planner::Try(Entry& entry, exec::cpu::Job& job) {
  if (entry.trials == nullptr) entry.trials = MakeTrials(job, entry);
  if (entry.trials == nullptr) {
    entry.left = entry.granted = Entry::kNever;
    job.calls.watcher = nullptr;
    Follow(entry.recipe, job);
    return nullptr;
  }
  exec::cpu::Job* const ahead = entry.trials->Next(job, entry.granted);
  const Trials::Stretch stretch = entry.trials->Ahead();
  entry.left = entry.granted = stretch.calls + 1;
  if (stretch.calls == 0) return ahead;
  entry.recipe = *stretch.recipe;
  if (stretch.recipe == &entry.trials->current()) {
    const tune::Choice& choice = entry.recipe.choice;
    LogChoice(said_, job.collective, algo::Get(choice.algorithm).name, proto::Name(choice.protocol));
  }
  return ahead;
}

Status Planner::FindCurrent(Collective collective, std::size_t bytes, int root, tune::Choice& way) {
  const Result<Entry*> entry = FindEntry(collective, bytes, root);
  if (!entry.ok()) return entry.status();
  way = (*entry)->trials != nullptr ? (*entry)->trials->current().choice : (*entry)->recipe.choice;
  return Status::Ok();
}

}  // namespace tutti::comm
