// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PLAN_SYMBOLIC_H_
#define TUTTI_PLAN_SYMBOLIC_H_

// The values that plan::Check computes with: a rank's input block, or a fold of such values. Folds are kept
// as a graph, so that a value is three integers to copy and yet every contribution to it can be named.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::plan {

struct Value {
  std::int32_t rank = -1;   // whose input; -1: a fold, or nothing
  std::int32_t block = -1;  // which block of the input (of all inputs, in a fold); -1: nothing
  std::int32_t fold = -1;   // index in the Folds, or -1

  bool empty() const { return block < 0; }
  bool operator==(const Value&) const = default;
};

class Folds {
 public:
  // `host_of`: by rank its host, 0, 1, 2, ...; empty: all are on one.
  explicit Folds(int ranks, std::span<const std::int32_t> host_of = {});

  // Who folds: the rank, from left to right, or a switch, in an order that nobody knows.
  enum class By : std::uint8_t { kRank, kSwitch };

  // The fold of `operands`, all of one block, made by or for `step` of `rank`. nullopt where it has more
  // contributions than there are ranks.
  std::optional<Value> Make(std::span<const Value> operands, int rank, int step, By by = By::kRank);

  // The fold that was made last, whether returned or not. REQUIRES: there is one.
  Value Last() const { return {.rank = -1, .block = 0, .fold = static_cast<std::int32_t>(folds_.size()) - 1}; }

  // Whether `value` is the fold of block `block` of all ranks, each exactly once. Remembers folds that are.
  bool IsComplete(const Value& value, int block);
  // Whether a complete value was folded in one step, in the order of the ranks. Of several hosts: in one step that folds the
  // hosts' values in their order, each of which was folded so from its ranks. Not where a switch has folded. Remembers folds that are.
  bool IsRankOrdered(const Value& value);

  // "rank 2's block 3", "block 3 of ranks 0 + 1 + (2 + 3)"; "2 ^ 3" where a switch has folded.
  std::string Describe(const Value& value) const;
  // The first step that folded a rank's contribution into itself, among those that made `value`.
  struct Doubled {
    int rank, step, contributor;
  };
  std::optional<Doubled> FindDoubled(const Value& value);
  // Ranks whose contribution `value` lacks.
  std::vector<int> FindMissing(const Value& value);

 private:
  struct Fold {
    std::int32_t rank, step;    // who made it
    std::int32_t first, count;  // in operands_
    std::int32_t contributions;
    By by;
    bool complete = false, ordered = false;  // known to be
  };
  std::span<const Value> OperandsOf(const Value& value) const {
    return std::span(operands_).subspan(folds_[value.fold].first, folds_[value.fold].count);
  }
  // The ranks that contributed, from left to right.
  std::vector<int> Contributors(const Value& value) const;
  // Whether `value` was folded in one step from just these ranks, in their order.
  bool IsFoldOf(const Value& value, std::span<const std::int32_t> ranks) const;
  bool IsFoldOfHosts(const Value& value) const;
  // A rank that contributed twice, or -1.
  int Twice(const Value& value);
  void AppendOrder(const Value& value, std::string* text) const;

  int ranks_;
  std::vector<std::vector<std::int32_t>> ranks_of_;  // by host
  std::vector<Fold> folds_;
  std::vector<Value> operands_;
  std::vector<std::int32_t> seen_;  // by rank: the last query that saw it
  std::int32_t query_ = 0;
};

}  // namespace tutti::plan

#endif  // TUTTI_PLAN_SYMBOLIC_H_
