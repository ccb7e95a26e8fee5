// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/prepared_plan.h"

#include <algorithm>
#include <utility>

#include "plan/early.h"
#include "plan/switches.h"
#include "transport/link.h"

namespace tutti::exec::cpu {
namespace {

// For each step of a group the last step before it between the same two ranks in the same direction, or -1.
std::vector<int> PreviousOnLink(const plan::RankPlan& plan) {
  std::vector<int> last_send(plan.ranks, -1), last_receive(plan.ranks, -1), previous(plan.step_count(), -1);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    const bool receives = step.operands[0].kind == plan::Operand::Kind::kRecv;
    if (step.to.empty() && !receives) continue;  // a copy to self
    int& last = receives ? last_receive[step.operands[0].index] : last_send[step.to[0]];
    previous[i] = last;
    last = i;
  }
  return previous;
}

// For each step of a group, whether none comes before or after it there. `previous`: PreviousOnLink's.
std::vector<bool> AloneOnLink(const std::vector<int>& previous) {
  std::vector<bool> alone(previous.size(), true);
  for (std::size_t i = 0; i < previous.size(); ++i) {
    if (previous[i] >= 0) alone[i] = alone[static_cast<std::size_t>(previous[i])] = false;
  }
  return alone;
}

// For each step of a group, whether there is one between the same two ranks in the other direction.
std::vector<bool> AnsweredOnLink(const plan::RankPlan& plan) {
  std::vector<bool> sends(plan.ranks, false), receives(plan.ranks, false), answered(plan.step_count(), false);
  const auto peer_of = [&](const plan::Step& step) {
    if (!step.to.empty()) return static_cast<int>(step.to[0]);
    return step.operands[0].local() ? -1 : static_cast<int>(step.operands[0].index);
  };
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    const int peer = peer_of(step);
    if (peer >= 0) (step.to.empty() ? receives : sends)[peer] = true;
  }
  for (int i = 0; i < plan.step_count(); ++i) {
    const int peer = peer_of(plan.step(i));
    answered[i] = peer >= 0 && sends[peer] && receives[peer];
  }
  return answered;
}

// For each step, whether it is a message that its sender may help to copy.
std::vector<Sharing> SharingOf(const plan::RankPlan& plan) {
  std::vector<int> sends(plan.ranks, 0), receives(plan.ranks, 0);
  int all_sends = 0;
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    for (const int peer : step.to) ++sends[peer];
    all_sends += static_cast<int>(step.to.size());
    for (const plan::Operand& operand : step.operands) {
      if (operand.kind == plan::Operand::Kind::kRecv) ++receives[operand.index];
    }
  }
  std::vector<Sharing> sharing(plan.step_count(), Sharing::kNone);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    const plan::Operand& source = step.operands[0];
    if (step.operands.size() > 1 || source.kind != plan::Operand::Kind::kRecv || step.out == plan::kNoBlock) continue;
    if (sends[source.index] > 0) continue;
    sharing[i] = all_sends == 0 && receives[source.index] == 1 ? Sharing::kEarly : Sharing::kShared;
  }
  return sharing;
}

// Whether each block of the input is for one rank alone, which may be this one, and each block of the output is written once.
bool EachBlockServesOnce(const plan::RankPlan& plan) {
  std::vector<int> readers(plan.in_blocks, 0), writes(plan.out_blocks, 0);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    const int readers_here = step.operands.size() == 1 ? std::max<int>(static_cast<int>(step.to.size()), 1) : 1;
    for (const plan::Operand& operand : step.operands) {
      if (operand.kind == plan::Operand::Kind::kIn) readers[operand.index] += readers_here;
    }
    if (step.out != plan::kNoBlock) ++writes[step.out];
  }
  const auto once = [](int n) { return n <= 1; };
  return std::ranges::all_of(readers, once) && std::ranges::all_of(writes, once);
}

// PreparedPlan::takes_values. A rank that cuts its output as this one does knows where a value lies in it. Who makes a value of all ranks'
// inputs has read what this one had for it, and is the only one that reads that. A link has one offer at a time, and those of copies that
// both ends share come first.
bool TakesValues(const PreparedPlan& prepared) {
  const plan::RankPlan& plan = prepared.plan;
  if (plan.collective != Collective::kAllReduce && plan.collective != Collective::kReduce) return false;
  if (prepared.in_blocks_per_piece != prepared.out_blocks_per_piece || !EachBlockServesOnce(plan)) return false;
  if (!std::ranges::all_of(prepared.sharing, [](Sharing s) { return s == Sharing::kNone; })) return false;
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    const bool received = step.operands.size() == 1 && step.operands[0].kind == plan::Operand::Kind::kRecv;
    if (received && step.out != plan::kNoBlock) return true;
  }
  return false;
}

// PreparedPlan::puts of a step. In an all_reduce a rank that takes no values itself leaves it to the others, who have nothing to do meanwhile,
// to fetch its own.
bool PutsValue(const plan::RankPlan& plan, const plan::Step& step, bool takes_values) {
  const bool of_all = plan.ranks > 1 && static_cast<int>(step.operands.size()) == plan.ranks;
  const auto own = std::ranges::find_if(step.operands, &plan::Operand::local);
  if (!of_all || step.to.empty() || own == step.operands.end() || own->kind != plan::Operand::Kind::kIn) return false;
  if (plan.collective == Collective::kAllReduce) return takes_values && step.out == own->index;
  return plan.collective == Collective::kReduce && step.out == plan::kNoBlock && step.to.size() == 1;
}

// PreparedPlan::folds_in_place: the last received operand of folds into blocks of the output that are stored once and never read, and of
// folds into none.
std::vector<int> FoldsInPlace(const plan::RankPlan& plan) {
  std::vector<int> uses(plan.out_blocks, 0);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    if (step.out != plan::kNoBlock) ++uses[step.out];
    for (const plan::Operand& operand : step.operands) {
      if (operand.kind == plan::Operand::Kind::kOut) ++uses[operand.index];
    }
  }
  std::vector<int> folds(plan.step_count(), -1);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    if (step.operands.size() < 2 || (step.out != plan::kNoBlock && uses[step.out] != 1)) continue;
    for (int k = 0; k < static_cast<int>(step.operands.size()); ++k) {
      if (step.operands[k].kind == plan::Operand::Kind::kRecv) folds[i] = k;
    }
  }
  return folds;
}

// PreparedPlan::long_bytes_max of a rank that folds and sends nothing, or of any other.
std::size_t LongBytesMax(const plan::RankPlan& plan) {
  bool folds = false;
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    if (!step.to.empty()) return kAnyLength;
    folds |= step.operands.size() > 1;
  }
  return folds ? transport::kLongestFoldedAlone : kAnyLength;
}

}  // namespace

std::unique_ptr<PreparedPlan> PreparePlan(plan::RankPlan plan, std::string name) {
  auto prepared = std::make_unique<PreparedPlan>();
  const int in_pieces = plan::InPieces(plan.collective, plan.ranks);
  const int out_pieces = plan::OutPieces(plan.collective, plan.ranks);
  prepared->in_blocks_per_piece = std::max(plan.in_blocks / in_pieces, 1);
  prepared->out_blocks_per_piece = std::max(plan.out_blocks / out_pieces, 1);
  for (int i = 0; i < plan.step_count(); ++i) {
    prepared->max_stage = std::max(prepared->max_stage, plan.step(i).stage);
    prepared->by_stage.push_back(i);
  }
  std::ranges::stable_sort(prepared->by_stage, {}, [&](int i) { return plan.step(i).stage; });
  if (plan.collective == Collective::kSendRecv) {
    prepared->previous = PreviousOnLink(plan);
    prepared->alone = AloneOnLink(prepared->previous);
    prepared->answered = AnsweredOnLink(plan);
  } else {
    prepared->early = plan::EarlyOf(plan);
  }
  prepared->sharing = SharingOf(plan);
  prepared->folds_in_place = FoldsInPlace(plan);
  prepared->long_bytes_max = LongBytesMax(plan);
  prepared->runnable = plan::CheckRunnable(plan);
  prepared->plan = std::move(plan);
  prepared->takes_values = TakesValues(*prepared);
  for (int i = 0; i < prepared->plan.step_count(); ++i) {
    prepared->puts.push_back(PutsValue(prepared->plan, prepared->plan.step(i), prepared->takes_values));
  }
  prepared->name = std::move(name);
  return prepared;
}

}  // namespace tutti::exec::cpu
