// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/timeline.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace tutti::plan {
namespace {

class Maker {
 public:
  Maker(std::span<const RankPlan> plans, std::span<const std::int32_t> host_of)
      : plans_(plans), host_of_(host_of), ranks_(plans.size()) {
    for (const RankPlan& plan : plans) {
      timeline_.hop.emplace_back(plan.step_count(), Timeline::kNever);
      Rank& rank = ranks_[&plan - plans.data()];
      rank.senders = SendersOf(plan);
      rank.inboxes.resize(rank.senders.size());
      std::vector<int>& order = rank.order;
      order.resize(plan.step_count());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return plan.step(a).stage < plan.step(b).stage; });
    }
  }

  Timeline Run() {
    std::vector<int> runnable(plans_.size());
    std::iota(runnable.rbegin(), runnable.rend(), 0);
    while (!runnable.empty()) {
      const int rank = runnable.back();
      runnable.pop_back();
      while (ranks_[rank].next < ranks_[rank].order.size() && RunStep(rank, &runnable)) {
      }
      timeline_.hops = std::max(timeline_.hops, ranks_[rank].time);
    }
    return std::move(timeline_);
  }

 private:
  struct Arrival {
    int time, step;  // the sender's step
    int next;        // the arrival after it in its inbox; -1: none so far
  };
  // What has come from one sender and was not read: a list in arrivals_.
  struct Inbox {
    int first = -1, last = -1;
  };
  struct Rank {
    std::vector<int> order;  // steps of a round, as they run
    std::size_t next = 0;
    std::size_t taken = 0;  // operands of the next step that are there
    int time = 0;
    int waits_for = -1;
    std::vector<std::int32_t> senders;  // that it receives from, sorted
    std::vector<Inbox> inboxes;         // by place in `senders`
  };

  static std::vector<std::int32_t> SendersOf(const RankPlan& plan) {
    std::vector<std::int32_t> senders;
    for (int i = 0; i < plan.step_count(); ++i) {
      for (const Operand& operand : plan.step(i).operands) {
        if (!operand.local()) senders.push_back(operand.index);
      }
    }
    std::ranges::sort(senders);
    senders.erase(std::unique(senders.begin(), senders.end()), senders.end());  // clang 14 knows no std::ranges::unique
    return senders;
  }

  // Null where the receiver never reads what the sender sends.
  Inbox* InboxOf(Rank& receiver, int sender) {
    const auto found = std::ranges::lower_bound(receiver.senders, sender);
    if (found == receiver.senders.end() || *found != sender) return nullptr;
    return &receiver.inboxes[static_cast<std::size_t>(found - receiver.senders.begin())];
  }

  void Deliver(int from, int step, int to) {
    Inbox* const inbox = InboxOf(ranks_[to], from);
    if (inbox == nullptr) return;
    const int place = static_cast<int>(arrivals_.size());
    arrivals_.push_back({.time = ranks_[from].time + HopsBetween(from, to), .step = step, .next = -1});
    (inbox->first < 0 ? inbox->first : arrivals_[inbox->last].next) = place;
    inbox->last = place;
  }

  bool RunStep(int rank, std::vector<int>* runnable) {
    Rank& r = ranks_[rank];
    const int index = r.order[r.next];
    const Step step = plans_[rank].step(index);
    for (; r.taken < step.operands.size(); ++r.taken) {
      const Operand& operand = step.operands[r.taken];
      if (operand.local()) continue;
      Inbox& inbox = *InboxOf(r, operand.index);
      if (inbox.first < 0) {
        r.waits_for = operand.index;
        return false;
      }
      const Arrival& arrival = arrivals_[inbox.first];
      inbox.first = arrival.next;
      r.time = std::max(r.time, arrival.time);
      timeline_.messages.push_back({operand.index, arrival.step, rank, index});
    }
    for (int peer : step.to) {
      Deliver(rank, index, peer);
      if (ranks_[peer].waits_for != rank) continue;
      ranks_[peer].waits_for = -1;
      runnable->push_back(peer);
    }
    timeline_.hop[rank][index] = r.time;
    r.taken = 0;
    ++r.next;
    return true;
  }

  int HopsBetween(int from, int to) const { return !host_of_.empty() && host_of_[from] == host_of_[to] ? 0 : 1; }

  std::span<const RankPlan> plans_;
  std::span<const std::int32_t> host_of_;
  std::vector<Rank> ranks_;
  std::vector<Arrival> arrivals_;  // of all inboxes
  Timeline timeline_;
};

}  // namespace

Timeline MakeTimeline(std::span<const RankPlan> plans, std::span<const std::int32_t> host_of) {
  return Maker(plans, host_of).Run();
}

}  // namespace tutti::plan
