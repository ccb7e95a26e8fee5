// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/check_shape.h"
#include "plan/execution.h"

namespace tutti::plan {
namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 27;

// Judges what the outputs hold after an execution.
class Outputs {
 public:
  Outputs(std::span<const RankPlan> plans, const Shape& shape, const CheckOptions& options, Execution* execution)
      : plans_(plans), shape_(shape), options_(options), execution_(*execution) {}

  // Wrong values first: they say more than what was left over or left out.
  Status Check() {
    TUTTI_RETURN_IF_ERROR(CheckValues());
    TUTTI_RETURN_IF_ERROR(execution_.CheckAllRead());
    if (!never_stored_.ok()) return never_stored_;
    return plans_[0].collective == Collective::kSendRecv ? CheckAllDelivered() : Status::Ok();
  }

 private:
  Status CheckValues() {
    for (const RankPlan& plan : plans_) {
      if (plan.collective == Collective::kBarrier) {
        TUTTI_RETURN_IF_ERROR(CheckBarrier(plan));
        continue;
      }
      for (int round = 0; round < execution_.rounds(); ++round) {
        for (int block = 0; block < plan.out_blocks; ++block) {
          if (!execution_.Exists(plan, false, block, round)) continue;
          TUTTI_RETURN_IF_ERROR(CheckBlock(plan, round, block));
        }
      }
    }
    return Status::Ok();
  }

  Status CheckBarrier(const RankPlan& plan) {
    for (int other = 0; other < plan.ranks; ++other) {
      if (execution_.causality().KnowsOf(plan.rank, other)) continue;
      return Fault(plan, -1, fmt::format("it may end before rank {} has begun", other));
    }
    return Status::Ok();
  }

  // What a block of an output that is only moved must hold.
  Value Expected(const RankPlan& plan, int block) const {
    const int k = shape_.blocks_per_piece;
    switch (plan.collective) {
      case Collective::kAllGather:
      case Collective::kGather:
        return {.rank = block / k, .block = block % k};
      case Collective::kScatter:
        return {.rank = plan.root, .block = plan.rank * k + block};
      case Collective::kAllToAll:
        return {.rank = block / k, .block = plan.rank * k + block % k};
      default:
        return {.rank = plan.root, .block = block};
    }
  }

  Status CheckBlock(const RankPlan& plan, int round, int block) {
    const Cell& cell = execution_.Output(plan.rank, round, block);
    if (cell.stored_by < 0) {
      if (never_stored_.ok()) never_stored_ = Fault(plan, -1, fmt::format("its out{} is never stored", block));
      return Status::Ok();
    }
    if (plan.collective == Collective::kSendRecv) return CheckTransfer(plan, block, cell);
    if (Reduces(plan.collective)) return CheckFold(plan, block, cell);
    const Value expected = Expected(plan, block);
    if (cell.value == expected) return Status::Ok();
    return Fault(plan, cell.stored_by,
                 fmt::format("leaves {} in out{}{}; {} belongs there", execution_.folds().Describe(cell.value), block,
                             Source(cell), execution_.folds().Describe(expected)));
  }

  static std::string Source(const Cell& cell) {
    return cell.sender < 0 ? "" : fmt::format(", sent by rank {}'s step {}", cell.sender, cell.sender_step);
  }

  Status CheckFold(const RankPlan& plan, int block, const Cell& cell) {
    Folds& folds = execution_.folds();
    const int in_block =
        plan.collective == Collective::kReduceScatter ? plan.rank * shape_.blocks_per_piece + block : block;
    if (folds.IsComplete(cell.value, in_block)) {
      if (!options_.rank_ordered || folds.IsRankOrdered(cell.value)) return Status::Ok();
      return Fault(
          plan, cell.stored_by,
          fmt::format("leaves {} in out{}{}, which is not one fold in rank order{}", folds.Describe(cell.value), block,
                      Source(cell), !options_.host_of.empty() ? ", inside hosts and then of hosts" : ""));
    }
    if (cell.value.block != in_block) {
      return Fault(plan, cell.stored_by,
                   fmt::format("leaves {} in out{}{}; in{} belongs there", folds.Describe(cell.value), block,
                               Source(cell), in_block));
    }
    if (const auto doubled = folds.FindDoubled(cell.value)) {
      return Fault(plans_[doubled->rank], doubled->step,
                   fmt::format("folds the contribution of rank {} to block {} twice", doubled->contributor, in_block));
    }
    const std::vector<int> missing = folds.FindMissing(cell.value);
    return Fault(plan, cell.stored_by,
                 fmt::format("leaves {} in out{}{}; the contribution of rank {} is missing", folds.Describe(cell.value),
                             block, Source(cell), missing[0]));
  }

  Status CheckTransfer(const RankPlan& plan, int block, const Cell& cell) {
    const std::size_t size = plans_[cell.value.rank].in_sizes[cell.value.block];
    if (size == plan.out_sizes[block]) return Status::Ok();
    return Fault(plan, cell.stored_by,
                 fmt::format("leaves {}, of {} elements, in out{}, of {}", execution_.folds().Describe(cell.value),
                             size, block, plan.out_sizes[block]));
  }

  // Grouped send and receive: every block that is sent arrives once, and between two ranks in list order.
  Status CheckAllDelivered() {
    std::vector<std::vector<int>> arrivals;
    for (const RankPlan& plan : plans_) arrivals.emplace_back(plan.in_blocks, 0);
    for (const RankPlan& plan : plans_) {
      std::vector<int> last(plan.ranks, -1);
      for (int block = 0; block < plan.out_blocks; ++block) {
        if (!execution_.Exists(plan, false, block, 0)) continue;
        const Cell& cell = execution_.Output(plan.rank, 0, block);
        if (cell.value.block <= last[cell.value.rank]) {
          return Fault(plan, cell.stored_by,
                       fmt::format("leaves {} in out{}, but an earlier block holds in{} of that rank",
                                   execution_.folds().Describe(cell.value), block, last[cell.value.rank]));
        }
        last[cell.value.rank] = cell.value.block;
        ++arrivals[cell.value.rank][cell.value.block];
      }
    }
    for (const RankPlan& plan : plans_) {
      for (int block = 0; block < plan.in_blocks; ++block) {
        if (!execution_.Exists(plan, true, block, 0) || arrivals[plan.rank][block] == 1) continue;
        return Fault(plan, -1, fmt::format("its in{} arrives {} times", block, arrivals[plan.rank][block]));
      }
    }
    return Status::Ok();
  }

  std::span<const RankPlan> plans_;
  const Shape& shape_;
  const CheckOptions& options_;
  Execution& execution_;
  Status never_stored_;
};

Status CheckOnce(std::span<const RankPlan> plans, const Shape& shape, const CheckOptions& options) {
  Execution execution(plans, shape, options);
  TUTTI_RETURN_IF_ERROR(execution.Run());
  return Outputs(plans, shape, options, &execution).Check();
}

Status CheckSize(std::span<const RankPlan> plans, const CheckOptions& options) {
  if (plans.empty() || plans.size() > kMaxCheckRanks || options.rounds < 1 || options.link_slots < 0) {
    return Status(Code::kInvalidArgument,
                  fmt::format("Check takes the plans of 1 to {} ranks and at least one round; these are {} and {}",
                              kMaxCheckRanks, plans.size(), options.rounds));
  }
  const bool hosts_known = std::ranges::all_of(
      options.host_of, [&](std::int32_t host) { return host >= 0 && host < static_cast<std::int32_t>(plans.size()); });
  if (!hosts_known || (!options.host_of.empty() && options.host_of.size() != plans.size())) {
    return Status(Code::kInvalidArgument,
                  fmt::format("Check takes the host of each of the {} ranks, from 0 on, or of none; these are {}",
                              plans.size(), options.host_of.size()));
  }
  std::int64_t cells = 0;
  for (const RankPlan& plan : plans) cells += std::int64_t{plan.in_blocks} + plan.out_blocks;
  if (cells * options.rounds <= kMaxCells) return Status::Ok();
  return Status(Code::kUnsupported, fmt::format("{}: {} blocks in {} rounds are more than the checker takes",
                                                Describe(plans[0]), cells, options.rounds));
}

}  // namespace

Status Check(std::span<const RankPlan> plans, const CheckOptions& options) {
  TUTTI_RETURN_IF_ERROR(CheckSize(plans, options));
  const Result<Shape> shape = CheckShape(plans);
  if (!shape.ok()) return shape.status();
  CheckOptions once = options;
  if (once.link_slots == 0) once.link_slots = plans[0].link_slots;
  for (Placement placement : {Placement::kSeparate, Placement::kInPlace}) {
    if (options.placement != Placement::kBoth && options.placement != placement) continue;
    once.placement = placement;
    const Status status = CheckOnce(plans, *shape, once);
    if (status.ok()) continue;
    // A fault that shows in a single round is easier to understand there.
    once.rounds = 1;
    const Status simple = CheckOnce(plans, *shape, once);
    return simple.ok() ? status : simple;
  }
  return Status::Ok();
}

}  // namespace tutti::plan
