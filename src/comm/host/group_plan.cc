// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/group_plan.h"

#include <fmt/format.h>

#include "algo/algorithm.h"
#include "plan/plan.h"

namespace tutti::comm {

plan::RankPlan BuildGroup(std::span<const int> ends, int rank, int ranks) {
  std::vector<algo::Transfer> sends, receives;
  for (const int end : ends) (end >= 0 ? sends : receives).push_back({.peer = end >= 0 ? end : ~end, .count = 1});
  return algo::BuildSendRecv(rank, ranks, sends, receives);
}

Status CheckOwn(int rank, std::span<const std::size_t> sent, std::span<const std::size_t> received) {
  if (std::ranges::equal(sent, received)) return Status::Ok();
  return Status(Code::kInvalidUsage,
                fmt::format("rank {} sends to itself without a matching receive in the same group: {} sends and {} "
                            "receives, or of different sizes; put both into one group",
                            rank, sent.size(), received.size()),
                rank);
}

}  // namespace tutti::comm
