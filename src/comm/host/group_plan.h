// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_GROUP_PLAN_H_
#define TUTTI_COMM_HOST_GROUP_PLAN_H_

// Plans of groups of sends and receives, on host and on device memory.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tutti/operation.h"
#include "tutti/status.h"

namespace tutti::plan {
class RankPlan;
}

namespace tutti::comm {

// A send or receive without its data: the peer of a send, and the complement of a receive's.
inline int EndOf(const Operation& transfer) {
  return transfer.kind == Collective::kSend ? transfer.root : ~transfer.root;
}

// The plan of a group (algo::BuildSendRecv): it depends on whom a rank sends to and receives from, and not on sizes, so that
// blocks have a size of 1 in it. REQUIRES: CheckOwn found no fault.
plan::RankPlan BuildGroup(std::span<const int> ends, int rank, int ranks);

// Whether what a rank sends to itself meets what it receives from itself. Both in bytes, in the order of the calls.
Status CheckOwn(int rank, std::span<const std::size_t> sent, std::span<const std::size_t> received);

// The plans of the groups that were used last.
template <typename Plan>
class GroupPlans {
 public:
  // `ends`: EndOf for each. Null: there is none.
  Plan* Find(std::span<const int> ends) {
    const auto has = [&](const Entry& entry) { return std::ranges::equal(entry.ends, ends); };
    if (last_ < entries_.size() && has(entries_[last_])) return entries_[last_].plan.get();
    for (last_ = 0; last_ < entries_.size(); ++last_) {
      if (has(entries_[last_])) return entries_[last_].plan.get();
    }
    return nullptr;
  }
  // Forgets the oldest one for which `may_go` says so, where there are kMost.
  template <typename MayGo>
  Plan* Keep(std::vector<int> ends, std::unique_ptr<Plan> plan, MayGo may_go) {
    Plan* const kept = plan.get();
    Entry entry{std::move(ends), std::move(plan)};
    for (std::size_t tried = 0; entries_.size() >= kMost && tried < kMost; ++tried) {
      Entry& oldest = entries_[next_++ % kMost];
      if (!may_go(*oldest.plan)) continue;
      oldest = std::move(entry);
      return kept;
    }
    entries_.push_back(std::move(entry));
    return kept;
  }

 private:
  static constexpr std::size_t kMost = 32;
  struct Entry {
    std::vector<int> ends;
    std::unique_ptr<Plan> plan;
  };
  std::vector<Entry> entries_;
  std::size_t next_ = 0;  // to be forgotten
  std::size_t last_ = 0;  // that was used
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_GROUP_PLAN_H_
