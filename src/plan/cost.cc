// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.h"

#include <algorithm>
#include <vector>

#include "plan/timeline.h"

namespace tutti::plan {
namespace {

// Size of a step's block in the Cost's unit.
class BlockSize {
 public:
  explicit BlockSize(const RankPlan& plan) : plan_(plan) {
    if (plan.in_blocks > 0) per_piece_ = plan.in_blocks / InPieces(plan.collective, plan.ranks);
    if (plan.out_blocks > 0) per_piece_ = plan.out_blocks / OutPieces(plan.collective, plan.ranks);
  }
  double Of(const Step& step) const {
    if (plan_.collective != Collective::kSendRecv) return 1.0 / per_piece_;
    const Operand& first = step.operands[0];
    if (step.out != kNoBlock) return static_cast<double>(plan_.out_sizes[step.out]);
    return first.kind == Operand::Kind::kIn ? static_cast<double>(plan_.in_sizes[first.index]) : 0;
  }

 private:
  const RankPlan& plan_;
  int per_piece_ = 1;
};

// Returns how many messages the rank receives.
int AddRank(const RankPlan& plan, Cost* cost) {
  const BlockSize block(plan);
  double sent = 0, posted = 0, received = 0, folded = 0, stored = 0;
  int messages = 0, receives = 0;
  std::vector<int> peers;
  for (int i = 0; i < plan.step_count(); ++i) {
    const Step step = plan.step(i);
    const double size = block.Of(step);
    sent += size * step.sent();
    posted += step.sent() == 0 ? 0 : size;
    folded += step.values() > 1 ? size * step.values() : 0;
    stored += step.out == kNoBlock ? 0 : size;
    received += size * (step.received() + (step.sending == Sending::kMulticastBack ? 1 : 0));
    messages += step.sent();
    receives += step.received();
    peers.insert(peers.end(), step.to.begin(), step.to.end());
    for (const Operand& operand : step.operands) {
      if (!operand.local()) peers.push_back(operand.index);
    }
    cost->stages = std::max(cost->stages, step.stage + 1);
  }
  std::erase(peers, plan.rank);
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  cost->steps_max = std::max(cost->steps_max, plan.step_count());
  cost->sent_max = std::max(cost->sent_max, sent);
  cost->posted_max = std::max(cost->posted_max, posted);
  cost->received_max = std::max(cost->received_max, received);
  cost->moved_max = std::max(cost->moved_max, posted + received);
  cost->posted_mean += posted / plan.ranks;
  cost->received_mean += received / plan.ranks;
  cost->folded_mean += folded / plan.ranks;
  cost->folded_max = std::max(cost->folded_max, folded);
  cost->stored_max = std::max(cost->stored_max, stored);
  cost->messages_max = std::max(cost->messages_max, messages);
  cost->ends_max = std::max(cost->ends_max, messages + receives);
  cost->peers_max = std::max(cost->peers_max, static_cast<int>(peers.size()));
  return receives;
}

// Whether messages go from rank to rank without ever coming back: then some rank receives nothing.
bool IsOneWay(std::span<const RankPlan> plans) {
  std::vector<std::vector<int>> peers(plans.size());  // that a rank sends to
  std::vector<int> senders(plans.size(), 0);          // to it, that have not been taken away
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    for (int i = 0; i < plans[rank].step_count(); ++i) {
      const Step step = plans[rank].step(i);
      peers[rank].insert(peers[rank].end(), step.to.begin(), step.to.end());
    }
    std::erase(peers[rank], static_cast<int>(rank));
    for (const int peer : peers[rank]) ++senders[static_cast<std::size_t>(peer)];
  }
  std::vector<std::size_t> free;  // ranks without senders
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    if (senders[rank] == 0) free.push_back(rank);
  }
  for (std::size_t next = 0; next < free.size(); ++next) {
    for (const int peer : peers[free[next]]) {
      if (--senders[static_cast<std::size_t>(peer)] == 0) free.push_back(static_cast<std::size_t>(peer));
    }
  }
  return free.size() == plans.size();
}

}  // namespace

Cost Evaluate(std::span<const RankPlan> plans) {
  Cost cost;
  bool all_receive = true;
  for (const RankPlan& plan : plans) all_receive = AddRank(plan, &cost) > 0 && all_receive;
  cost.one_way = !all_receive && IsOneWay(plans);
  cost.hops = MakeTimeline(plans).hops;
  return cost;
}

void TakeMost(const Cost& other, Cost& cost) {
  cost.hops = std::max(cost.hops, other.hops);
  cost.stages = std::max(cost.stages, other.stages);
  cost.steps_max = std::max(cost.steps_max, other.steps_max);
  cost.sent_max = std::max(cost.sent_max, other.sent_max);
  cost.posted_max = std::max(cost.posted_max, other.posted_max);
  cost.received_max = std::max(cost.received_max, other.received_max);
  cost.moved_max = std::max(cost.moved_max, other.moved_max);
  cost.posted_mean = std::max(cost.posted_mean, other.posted_mean);
  cost.received_mean = std::max(cost.received_mean, other.received_mean);
  cost.folded_mean = std::max(cost.folded_mean, other.folded_mean);
  cost.folded_max = std::max(cost.folded_max, other.folded_max);
  cost.stored_max = std::max(cost.stored_max, other.stored_max);
  cost.peers_max = std::max(cost.peers_max, other.peers_max);
  cost.messages_max = std::max(cost.messages_max, other.messages_max);
  cost.ends_max = std::max(cost.ends_max, other.ends_max);
  cost.one_way = cost.one_way && other.one_way;
}

}  // namespace tutti::plan
