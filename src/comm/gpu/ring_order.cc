// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/ring_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace tutti::comm {
namespace {

using plan::Operand;
using plan::RankPlan;

class Renaming {
 public:
  explicit Renaming(std::span<const int> ring) : ring_(ring) {}

  RankPlan Of(const RankPlan& by_position) const {
    const RankPlan& from = by_position;
    RankPlan to(from.collective, RankAt(from.rank), from.ranks);
    to.root = HasRoot(from.collective) ? RankAt(from.root) : from.root;
    to.in_blocks = from.in_blocks;
    to.out_blocks = from.out_blocks;
    to.link_slots = from.link_slots;
    const int in_pieces = plan::InPieces(from.collective, from.ranks),
              out_pieces = plan::OutPieces(from.collective, from.ranks);
    for (int i = 0; i < from.step_count(); ++i) {
      const plan::Step step = from.step(i);
      std::vector<Operand> operands(step.operands.begin(), step.operands.end());
      for (Operand& operand : operands) {
        if (operand.kind == Operand::Kind::kIn) {
          operand.index = BlockAt(operand.index, in_pieces, from.in_blocks);
        } else if (operand.kind == Operand::Kind::kOut) {
          operand.index = BlockAt(operand.index, out_pieces, from.out_blocks);
        } else {
          operand.index = RankAt(operand.index);
        }
      }
      std::vector<std::int32_t> peers;
      for (const std::int32_t peer : step.to) peers.push_back(RankAt(peer));
      const int out = step.out == plan::kNoBlock ? step.out : BlockAt(step.out, out_pieces, from.out_blocks);
      to.Add(operands, peers, out, step.stage);
    }
    return to;
  }

 private:
  std::int32_t RankAt(int position) const { return ring_[static_cast<std::size_t>(position)]; }
  // The block at the same place of the piece of the rank that stands where this one's piece says. A piece with a block for each rank
  // counts as so many pieces: forms may ask for a rank's own number.
  int BlockAt(int block, int pieces, int blocks) const {
    if (pieces < 2 && blocks != static_cast<int>(ring_.size())) return block;
    const int each = std::max(blocks / static_cast<int>(ring_.size()), 1);
    return RankAt(block / each) * each + block % each;
  }

  std::span<const int> ring_;
};

}  // namespace

std::vector<RankPlan> InOrder(std::span<const RankPlan> plans, std::span<const int> ring) {
  const Renaming renaming(ring);
  std::vector<RankPlan> by_rank(plans.size());
  for (const RankPlan& plan : plans) {
    RankPlan own = renaming.Of(plan);
    const auto rank = static_cast<std::size_t>(own.rank);
    by_rank[rank] = std::move(own);
  }
  return by_rank;
}

}  // namespace tutti::comm
