// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/check_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plan/text.h"

namespace tutti::plan {
namespace {

constexpr int kMaxStage = 1 << 16;

// Whether a rank has the buffer at all.
bool HasIn(const RankPlan& plan) {
  const Collective c = plan.collective;
  return (c != Collective::kBroadcast && c != Collective::kScatter) || plan.rank == plan.root;
}
bool HasOut(const RankPlan& plan) {
  const Collective c = plan.collective;
  return (c != Collective::kReduce && c != Collective::kGather) || plan.rank == plan.root;
}

Status CheckAgreement(const RankPlan& plan, const RankPlan& first, int rank, int ranks) {
  if (plan.rank != rank || plan.ranks != ranks) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("plan number {} of {} is of rank {} of {} ranks; Check wants the plans of ranks 0, 1, ...", rank,
                    ranks, plan.rank, plan.ranks));
  }
  if (plan.collective != first.collective) {
    return Fault(plan, -1, fmt::format("it runs {}, rank 0 {}", Name(plan.collective), Name(first.collective)));
  }
  if (plan.root != first.root || plan.root < 0 || plan.root >= ranks) {
    return Fault(plan, -1, fmt::format("its root is {}, that of rank 0 is {}", plan.root, first.root));
  }
  if (plan.link_slots != first.link_slots || plan.link_slots < 1) {
    return Fault(plan, -1, fmt::format("it has {} link slots, rank 0 {}", plan.link_slots, first.link_slots));
  }
  return Status::Ok();
}

Status CheckBuffer(const RankPlan& plan, const char* name, int blocks, bool exists, int pieces, int* per_piece) {
  if (!exists) {
    return blocks == 0 ? Status::Ok()
                       : Fault(plan, -1, fmt::format("it has {} {} blocks, but no such buffer", blocks, name));
  }
  if (blocks <= 0 || blocks % pieces != 0) {
    return Fault(plan, -1, fmt::format("{} blocks are no way to cut its {}, of {} pieces", blocks, name, pieces));
  }
  if (*per_piece == 0) *per_piece = blocks / pieces;
  if (*per_piece == blocks / pieces) return Status::Ok();
  return Fault(
      plan, -1,
      fmt::format("a piece of its {} has {} blocks, elsewhere a piece has {}", name, blocks / pieces, *per_piece));
}

// Block counts; *per_piece is 0 until a buffer has said how many blocks a piece has.
Status CheckBlocks(const RankPlan& plan, int* per_piece) {
  if (plan.collective == Collective::kSendRecv) {
    *per_piece = 1;
    if (static_cast<std::size_t>(plan.in_blocks) == plan.in_sizes.size() &&
        static_cast<std::size_t>(plan.out_blocks) == plan.out_sizes.size()) {
      return Status::Ok();
    }
    return Fault(plan, -1, "its lists of block sizes are not as long as it has blocks");
  }
  if (!plan.in_sizes.empty() || !plan.out_sizes.empty()) {
    return Fault(plan, -1, "it lists block sizes, which only a grouped send and receive has");
  }
  TUTTI_RETURN_IF_ERROR(
      CheckBuffer(plan, "input", plan.in_blocks, HasIn(plan), InPieces(plan.collective, plan.ranks), per_piece));
  return CheckBuffer(plan, "output", plan.out_blocks, HasOut(plan), OutPieces(plan.collective, plan.ranks), per_piece);
}

// The sizes of a step's blocks, as far as they can differ: a block's place in its piece, or its elements.
class StepSize {
 public:
  StepSize(const RankPlan& plan, int per_piece) : plan_(plan), per_piece_(per_piece) {}
  // False where the block's size differs from that of an earlier one.
  bool Agrees(bool in, int block) {
    const std::size_t size = plan_.collective == Collective::kSendRecv ? (in ? plan_.in_sizes : plan_.out_sizes)[block]
                                                                       : static_cast<std::size_t>(block % per_piece_);
    if (!known_) size_ = size;
    known_ = true;
    return size == size_;
  }
  bool known() const { return known_; }

 private:
  const RankPlan& plan_;
  int per_piece_;
  bool known_ = false;
  std::size_t size_ = 0;
};

Status CheckTargets(const RankPlan& plan, int index, std::vector<int>* last_step_to) {
  for (int peer : plan.step(index).to) {
    if (peer < 0 || peer >= plan.ranks) {
      return Fault(plan, index, fmt::format("sends to rank {} of {} ranks", peer, plan.ranks));
    }
    if (peer == plan.rank && !IsOffer(plan.step(index).sending)) return Fault(plan, index, "sends to its own rank");
    if ((*last_step_to)[peer] == index) return Fault(plan, index, fmt::format("sends to rank {} twice", peer));
    (*last_step_to)[peer] = index;
  }
  return Status::Ok();
}

// Of what is received or read.
Status CheckSource(const RankPlan& plan, int index, const Operand& operand) {
  const bool message = operand.kind == Operand::Kind::kRecv;
  if (message && operand.index == plan.rank) return Fault(plan, index, "receives from its own rank");
  if (operand.index < 0 || operand.index >= plan.ranks) {
    return Fault(plan, index,
                 fmt::format("{} rank {} of {} ranks", message ? "receives from" : "reads what is offered by",
                             operand.index, plan.ranks));
  }
  const auto operands = plan.step(index).operands;
  if (message || std::ranges::count(operands, operand) == 1) return Status::Ok();
  return Fault(plan, index, fmt::format("reads what rank {} offers twice", operand.index));
}

Status CheckStep(const RankPlan& plan, int index, int per_piece) {
  const Step step = plan.step(index);
  StepSize size(plan, per_piece);
  if (step.operands.empty()) return Fault(plan, index, "has no operand");
  if (step.stage < 0 || step.stage > kMaxStage) {
    return Fault(plan, index, fmt::format("is in stage {}, outside 0 ... {}", step.stage, kMaxStage));
  }
  for (const Operand& operand : step.operands) {
    if (!operand.local()) {
      TUTTI_RETURN_IF_ERROR(CheckSource(plan, index, operand));
      continue;
    }
    const bool in = operand.kind == Operand::Kind::kIn;
    const int blocks = in ? plan.in_blocks : plan.out_blocks;
    if (operand.index < 0 || operand.index >= blocks) {
      return Fault(plan, index,
                   fmt::format("reads block {} of an {} of {} blocks", operand.index, in ? "input" : "output", blocks));
    }
    if (!size.Agrees(in, operand.index)) return Fault(plan, index, "has blocks of different sizes");
  }
  if (step.out != kNoBlock) {
    if (step.out < 0 || step.out >= plan.out_blocks) {
      return Fault(plan, index, fmt::format("stores to block {} of an output of {} blocks", step.out, plan.out_blocks));
    }
    if (!size.Agrees(false, step.out)) return Fault(plan, index, "has blocks of different sizes");
  }
  if (!size.known() && (per_piece != 1 || plan.collective == Collective::kSendRecv)) {
    return Fault(plan, index, "passes on a block without naming one, so that its size is not known");
  }
  return Status::Ok();
}

}  // namespace

std::string Describe(const RankPlan& plan) {
  return fmt::format("{} of {} rank{}{}", Name(plan.collective), plan.ranks, plan.ranks == 1 ? "" : "s",
                     HasRoot(plan.collective) ? fmt::format(", root {}", plan.root) : "");
}

Status Fault(const RankPlan& plan, int step, const std::string& what) {
  if (step < 0)
    return Status(Code::kInternal, fmt::format("{}: rank {}: {}", Describe(plan), plan.rank, what), plan.rank);
  return Status(
      Code::kInternal,
      fmt::format("{}: rank {}, step {} '{}' {}", Describe(plan), plan.rank, step, Print(plan.step(step)), what),
      plan.rank);
}

Result<Shape> CheckShape(std::span<const RankPlan> plans) {
  const int ranks = static_cast<int>(plans.size());
  int per_piece = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    TUTTI_RETURN_IF_ERROR(CheckAgreement(plans[rank], plans[0], rank, ranks));
    TUTTI_RETURN_IF_ERROR(CheckBlocks(plans[rank], &per_piece));
  }
  for (const RankPlan& plan : plans) {
    std::vector<int> last_step_to(ranks, -1);
    for (int i = 0; i < plan.step_count(); ++i) {
      TUTTI_RETURN_IF_ERROR(CheckStep(plan, i, per_piece));
      TUTTI_RETURN_IF_ERROR(CheckTargets(plan, i, &last_step_to));
    }
  }
  return Shape{per_piece};
}

}  // namespace tutti::plan
