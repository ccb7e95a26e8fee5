// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "plan/timeline.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <unordered_map>

namespace tutti::plan {
namespace {

class Maker {
 public:
  Maker(std::span<const RankPlan> plans, std::span<const std::int32_t> host_of)
      : plans_(plans), host_of_(host_of), ranks_(plans.size()) {
    for (const RankPlan& plan : plans) {
      timeline_.hop.emplace_back(plan.step_count(), Timeline::kNever);
      std::vector<int>& order = ranks_[&plan - plans.data()].order;
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
  };
  struct Inbox {
    std::vector<Arrival> arrivals;
    std::size_t read = 0;
  };
  struct Rank {
    std::vector<int> order;  // steps of a round, as they run
    std::size_t next = 0;
    std::size_t taken = 0;  // operands of the next step that are there
    int time = 0;
    int waits_for = -1;
    std::unordered_map<int, Inbox> inboxes;  // by sender
  };

  bool RunStep(int rank, std::vector<int>* runnable) {
    Rank& r = ranks_[rank];
    const int index = r.order[r.next];
    const Step step = plans_[rank].step(index);
    for (; r.taken < step.operands.size(); ++r.taken) {
      const Operand& operand = step.operands[r.taken];
      if (operand.kind != Operand::Kind::kRecv) continue;
      Inbox& inbox = r.inboxes[operand.index];
      if (inbox.read == inbox.arrivals.size()) {
        r.waits_for = operand.index;
        return false;
      }
      const Arrival& arrival = inbox.arrivals[inbox.read++];
      r.time = std::max(r.time, arrival.time);
      timeline_.messages.push_back({operand.index, arrival.step, rank, index});
    }
    for (int peer : step.to) {
      ranks_[peer].inboxes[rank].arrivals.push_back({r.time + HopsBetween(rank, peer), index});
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
  Timeline timeline_;
};

}  // namespace

Timeline MakeTimeline(std::span<const RankPlan> plans, std::span<const std::int32_t> host_of) {
  return Maker(plans, host_of).Run();
}

}  // namespace tutti::plan
