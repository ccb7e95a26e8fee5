// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/symbolic.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::plan {

std::optional<Value> Folds::Make(std::span<const Value> operands, int rank, int step) {
  std::int64_t contributions = 0;
  for (const Value& operand : operands) contributions += operand.fold < 0 ? 1 : folds_[operand.fold].contributions;
  folds_.push_back({.rank = rank,
                    .step = step,
                    .first = static_cast<std::int32_t>(operands_.size()),
                    .count = static_cast<std::int32_t>(operands.size()),
                    .contributions = static_cast<std::int32_t>(std::min<std::int64_t>(contributions, ranks_ + 1))});
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

bool Folds::IsRankOrdered(const Value& value) const {
  if (value.fold < 0) return true;
  int next = 0;
  for (const Value& operand : OperandsOf(value)) {
    if (operand.fold >= 0 || operand.rank != next++) return false;
  }
  return true;
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
    between = " + ";
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
