// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Sends and receives.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "comm/host/jobs.h"
#include "comm/host/planner.h"
#include "comm/host/size_class.h"
#include "comm/host/transfer_trials.h"
#include "comm/host/turns.h"
#include "exec/cpu/prepared_plan.h"
#include "tune/chooser.h"

namespace tutti::comm {

using exec::cpu::PreparedPlan;

const PreparedPlan* Planner::FindTransferPlan(std::span<const Operation> operations) {
  ends_.clear();
  for (const Operation& operation : operations) ends_.push_back(EndOf(operation));
  if (const PreparedPlan* known = groups_.Find(ends_)) return known;
  std::string name = operations.size() == 1 ? std::string(Name(operations[0].kind)) : "a group of sends and receives";
  auto plan = Prepare(BuildGroup(ends_, rank_, ranks_), std::move(name));
  return groups_.Keep(ends_, std::move(plan), [&](const PreparedPlan& old) { return !jobs_.Hold(&old); });
}

// Both ways of kSimple must have hope by prediction, and there must be two.
bool Planner::TriesBand(int band) {
  constexpr double kTurnUs = 600, kLaterTurnUs = 8000;
  constexpr std::uint64_t kFewest = 4, kMost = 64, kMostLater = 1024;
  constexpr std::uint64_t kFewestBetweenTrials = 2048;
  if (transfers_->Tries(band)) return true;
  std::vector<tune::Choice> ways = chooser_->TransferCandidates(TransferTrials::SmallestOfBand(band));
  std::erase_if(ways, [](const tune::Choice& way) { return way.protocol != proto::Protocol::kSimple; });
  if (ways.size() < 2 || ways[1].predicted_us > kHopelessByReference * ways[0].predicted_us) return false;
  const double us = std::max(ways[0].predicted_us, 1e-3);
  const bool told = calls_before_trial_ > 0;
  const auto before = static_cast<std::uint64_t>(calls_before_trial_);
  const std::uint64_t most = told ? std::clamp(before, kFewest, kMost) : kMost;
  transfers_->Try(
      band, {.begin = CallsBetween(ways[0], true),
             .second = CallsBetween(ways[0], true),
             .period = told ? before : std::max(kFewestBetweenTrials, static_cast<std::uint64_t>(2e6 / us)),
             .turn = std::clamp(static_cast<std::uint64_t>(kTurnUs / us), kFewest, most),
             .later_turn = std::clamp(static_cast<std::uint64_t>(kLaterTurnUs / us), kFewest, told ? most : kMostLater),
             .by_reference = ways[0].by_reference});
  return true;
}

void Planner::ForgetTransferTrials(std::size_t bytes) {
  const bool may_be_tried = transfers_ != nullptr && bytes >= TransferTrials::kLeastBytes;
  if (may_be_tried) transfers_->Forget(TransferTrials::BandOf(bytes));
}

exec::cpu::Lane Planner::MakeLane(int size_class) {
  const tune::Choice choice = chooser_->ChooseTransfer(SmallestOfClass(size_class));
  exec::cpu::Lane lane{choice.protocol, choice.by_reference};
  const std::size_t bytes = SmallestOfClass(size_class);
  const bool may = transfers_ != nullptr && calls_before_trial_ != 0 && bytes >= TransferTrials::kLeastBytes;
  if (!may || choice.protocol != proto::Protocol::kSimple) return lane;
  const int band = TransferTrials::BandOf(bytes);
  if (!TriesBand(band)) return lane;
  lane.tried = true;
  lane.by_reference = transfers_->RulesOf(band).by_reference;
  return lane;
}

exec::cpu::Lane Planner::FindLane(std::size_t bytes) {
  const int size_class = SizeClass(bytes);
  std::optional<exec::cpu::Lane>& lane = lanes_[size_class];
  if (!lane) [[unlikely]]
    lane = MakeLane(size_class);
  return *lane;
}

std::uint64_t Planner::RingExchangesUntilDecided(std::size_t bytes) {
  return FindLane(bytes).tried ? transfers_->MessagesUntilDecided(bytes) : 0;
}

bool Planner::RefersInRing(std::size_t bytes) {
  const exec::cpu::Lane lane = FindLane(bytes);
  if (!lane.tried) return lane.by_reference;
  // Of two ranks the next one is the one before, too.
  return transfers_->ByReference((rank_ + 1) % ranks_, TransferTrials::Direction::kTo, bytes, /*answered=*/ranks_ == 2);
}

bool Planner::FindReference(const Operation& transfer, const exec::cpu::Lane& lane) const {
  if (!lane.tried || transfer.root == rank_) [[likely]]
    return lane.by_reference;
  const bool sends = transfer.kind == Collective::kSend;
  return transfers_->ByReference(transfer.root,
                                 sends ? TransferTrials::Direction::kTo : TransferTrials::Direction::kFrom,
                                 transfer.count * SizeOf(transfer.type), lane.answered);
}

}  // namespace tutti::comm
