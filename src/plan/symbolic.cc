// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/symbolic.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::plan {

Folds::Folds(int ranks, std::span<const std::int32_t> host_of) : ranks_(ranks), ranks_of_(1), seen_(ranks, -1) {
  for (int rank = 0; rank < ranks; ++rank) {
    const std::size_t host = host_of.empty() ? 0 : static_cast<std::size_t>(host_of[static_cast<std::size_t>(rank)]);
    if (host >= ranks_of_.size()) ranks_of_.resize(host + 1);
    ranks_of_[host].push_back(rank);
  }
}

std::optional<Value> Folds::Make(std::span<const Value> operands, int rank, int step, By by) {
  std::int64_t contributions = 0;
  for (const Value& operand : operands) contributions += operand.fold < 0 ? 1 : folds_[operand.fold].contributions;
  folds_.push_back({.rank = rank,
                    .step = step,
                    .first = static_cast<std::int32_t>(operands_.size()),
                    .count = static_cast<std::int32_t>(operands.size()),
                    .contributions = static_cast<std::int32_t>(std::min<std::int64_t>(contributions, ranks_ + 1)),
                    .by = by});
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  if (contributions > ranks_) return std::nullopt;
  return Value{.rank = -1, .block = operands[0].block, .fold = static_cast<std::int32_t>(folds_.size()) - 1};
}

std::vector<int> Folds::Contributors(const Value& value) const {
  std::vector<int> ranks;
  std::vector<Value> open = {value};
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    if (next.fold < 0) {
      ranks.push_back(next.rank);
      continue;
    }
    const std::span<const Value> operands = OperandsOf(next);
    open.insert(open.end(), operands.rbegin(), operands.rend());
  }
  return ranks;
}

int Folds::Twice(const Value& value) {
  ++query_;
  for (int rank : Contributors(value)) {
    if (seen_[rank] == query_) return rank;
    seen_[rank] = query_;
  }
  return -1;
}

bool Folds::IsComplete(const Value& value, int block) {
  if (value.block != block) return false;
  if (value.fold < 0) return ranks_ == 1;
  Fold& fold = folds_[value.fold];
  if (!fold.complete) fold.complete = fold.contributions == ranks_ && Twice(value) < 0;
  return fold.complete;
}

bool Folds::IsFoldOf(const Value& value, std::span<const std::int32_t> ranks) const {
  if (value.fold < 0) return ranks.size() == 1 && value.rank == ranks[0];
  const auto is = [](const Value& operand, std::int32_t rank) { return operand.fold < 0 && operand.rank == rank; };
  return folds_[value.fold].by == By::kRank && std::ranges::equal(OperandsOf(value), ranks, is);
}

bool Folds::IsFoldOfHosts(const Value& value) const {
  const auto is = [this](const Value& operand, const auto& ranks) { return IsFoldOf(operand, ranks); };
  return folds_[value.fold].by == By::kRank && std::ranges::equal(OperandsOf(value), ranks_of_, is);
}

bool Folds::IsRankOrdered(const Value& value) {
  if (value.fold < 0) return true;
  Fold& fold = folds_[value.fold];
  if (!fold.ordered) fold.ordered = ranks_of_.size() == 1 ? IsFoldOf(value, ranks_of_[0]) : IsFoldOfHosts(value);
  return fold.ordered;
}

void Folds::AppendOrder(const Value& value, std::string* text) const {
  constexpr std::size_t kLongest = 200;
  if (value.fold < 0) {
    *text += std::to_string(value.rank);
    return;
  }
  std::string_view between = "";
  for (const Value& operand : OperandsOf(value)) {
    *text += between;
    between = folds_[value.fold].by == By::kSwitch ? " ^ " : " + ";
    if (text->size() > kLongest) {
      *text += "...";
      return;
    }
    if (operand.fold >= 0) *text += '(';
    AppendOrder(operand, text);
    if (operand.fold >= 0) *text += ')';
  }
}

std::string Folds::Describe(const Value& value) const {
  if (value.empty()) return "nothing";
  if (value.fold < 0) return fmt::format("rank {}'s in{}", value.rank, value.block);
  std::string order;
  AppendOrder(value, &order);
  return fmt::format("in{} of ranks {}", value.block, order);
}

std::optional<Folds::Doubled> Folds::FindDoubled(const Value& value) {
  // Folds are numbered in the order in which they were made, so the lowest number is the first that went
  // wrong.
  std::vector<std::int32_t> reached;
  std::vector<Value> open = {value};
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    if (next.fold < 0) continue;
    reached.push_back(next.fold);
    for (const Value& operand : OperandsOf(next)) open.push_back(operand);
  }
  std::sort(reached.begin(), reached.end());
  for (std::int32_t fold : reached) {
    const int rank = Twice({.rank = -1, .block = value.block, .fold = fold});
    if (rank >= 0) return Doubled{folds_[fold].rank, folds_[fold].step, rank};
  }
  return std::nullopt;
}

std::vector<int> Folds::FindMissing(const Value& value) {
  ++query_;
  if (!value.empty()) {
    for (int rank : Contributors(value)) seen_[rank] = query_;
  }
  std::vector<int> missing;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (seen_[rank] != query_) missing.push_back(rank);
  }
  return missing;
}

}  // namespace tutti::plan
