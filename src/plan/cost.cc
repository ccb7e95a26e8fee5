// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <vector>

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

void AddRank(const RankPlan& plan, Cost* cost) {
  const BlockSize block(plan);
  double sent = 0, posted = 0, received = 0, folded = 0, stored = 0;
  int messages = 0;
  std::vector<int> peers;
  for (int i = 0; i < plan.step_count(); ++i) {
    const Step step = plan.step(i);
    const double size = block.Of(step);
    sent += size * static_cast<double>(step.to.size());
    posted += step.to.empty() ? 0 : size;
    folded += step.operands.size() > 1 ? size * static_cast<double>(step.operands.size()) : 0;
    stored += step.out == kNoBlock ? 0 : size;
    messages += static_cast<int>(step.to.size());
    peers.insert(peers.end(), step.to.begin(), step.to.end());
    for (const Operand& operand : step.operands) {
      if (operand.kind != Operand::Kind::kRecv) continue;
      received += size;
      peers.push_back(operand.index);
    }
    cost->stages = std::max(cost->stages, step.stage + 1);
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  cost->steps_max = std::max(cost->steps_max, plan.step_count());
  cost->sent_max = std::max(cost->sent_max, sent);
  cost->posted_max = std::max(cost->posted_max, posted);
  cost->received_max = std::max(cost->received_max, received);
  cost->folded_max = std::max(cost->folded_max, folded);
  cost->stored_max = std::max(cost->stored_max, stored);
  cost->messages_max = std::max(cost->messages_max, messages);
  cost->peers_max = std::max(cost->peers_max, static_cast<int>(peers.size()));
}

// Runs one round on links without bounds, where a message takes one hop and steps take no time.
class HopCount {
 public:
  explicit HopCount(std::span<const RankPlan> plans) : plans_(plans), ranks_(plans.size()) {
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      Rank& r = ranks_[rank];
      r.order.resize(plans[rank].step_count());
      std::iota(r.order.begin(), r.order.end(), 0);
      std::stable_sort(r.order.begin(), r.order.end(), [&](int a, int b) {
        return plans[rank].step(a).stage < plans[rank].step(b).stage;
      });
    }
  }

  int Run() {
    std::vector<int> runnable(plans_.size());
    std::iota(runnable.begin(), runnable.end(), 0);
    int hops = 0;
    while (!runnable.empty()) {
      const int rank = runnable.back();
      runnable.pop_back();
      while (ranks_[rank].next < ranks_[rank].order.size() && RunStep(rank, &runnable)) {
      }
      hops = std::max(hops, ranks_[rank].time);
    }
    return hops;
  }

 private:
  struct Inbox {
    std::vector<int> arrivals;
    std::size_t read = 0;
  };
  struct Rank {
    std::vector<int> order;  // steps of a round, as they run
    std::size_t next = 0;
    std::size_t ready = 0;  // operands of the next step that have been taken
    int time = 0;
    int waits_for = -1;
    std::unordered_map<int, Inbox> inboxes;  // by sender
  };

  bool RunStep(int rank, std::vector<int>* runnable) {
    Rank& r = ranks_[rank];
    const Step step = plans_[rank].step(r.order[r.next]);
    for (; r.ready < step.operands.size(); ++r.ready) {
      const Operand& operand = step.operands[r.ready];
      if (operand.kind != Operand::Kind::kRecv) continue;
      Inbox& inbox = r.inboxes[operand.index];
      if (inbox.read == inbox.arrivals.size()) {
        r.waits_for = operand.index;
        return false;
      }
      r.time = std::max(r.time, inbox.arrivals[inbox.read++]);
    }
    for (int peer : step.to) {
      ranks_[peer].inboxes[rank].arrivals.push_back(r.time + 1);
      if (ranks_[peer].waits_for != rank) continue;
      ranks_[peer].waits_for = -1;
      runnable->push_back(peer);
    }
    r.ready = 0;
    ++r.next;
    return true;
  }

  std::span<const RankPlan> plans_;
  std::vector<Rank> ranks_;
};

}  // namespace

Cost Evaluate(std::span<const RankPlan> plans) {
  Cost cost;
  for (const RankPlan& plan : plans) AddRank(plan, &cost);
  cost.hops = HopCount(plans).Run();
  return cost;
}

}  // namespace tutti::plan
