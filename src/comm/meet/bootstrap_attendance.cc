// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/bootstrap_attendance.h"

#include <fmt/format.h>

#include <utility>

namespace tutti::comm {

Introduction Attendance::Introduce() const {
  return {.process = process,
          .process_namespace = process_namespace,
          .uid = sys::UserId(),
          .has_shared = options->shared != nullptr ? 1u : 0u,
          .payload = options->payload};
}

Member Attendance::MakeMember(const Introduction& introduction, sys::Fd shared) const {
  return {.process = Known(introduction.process, introduction.process_namespace),
          .uid = introduction.uid,
          .payload = {introduction.payload.begin(), introduction.payload.end()},
          .shared = std::move(shared)};
}

sys::ProcessId Attendance::Known(sys::ProcessId theirs, std::uint64_t their_namespace) const {
  return their_namespace == process_namespace ? theirs : sys::ProcessId{};
}

Status Attendance::Cancellation() const {
  return Status(Code::kRemote,
                fmt::format("rank {} (pid {}) gave up before the ranks had met: its program aborted the communicator",
                            options->rank, process.pid),
                options->rank);
}

std::string RankList(const std::vector<int>& ranks) {
  constexpr std::size_t kMostRanges = 12;
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (ranges.size() == kMostRanges) {
      ranges.push_back(fmt::format("{} more", ranks.size() - i));
      break;
    }
    if (end - i <= 2) end = i + 1;
    ranges.push_back(end - i == 1 ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    i = end;
  }
  std::string text;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == ranges.size() ? " and " : ", ") + ranges[i];
  }
  return text;
}

std::string NamedRanks(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + RankList(ranks);
}

const char* DiedOrLeft(sys::ProcessId process) {
  // A process that is being killed closes its sockets shortly before the kernel shows it as dead.
  for (int i = 0; i < 20; ++i) {
    if (sys::ProbeProcess(process) == sys::Liveness::kDead) return "died";
    sys::SleepNs(sys::kNsPerMs);
  }
  return "left";
}

Status Untaken(const Status& status, int rank) {
  if (status.peer() >= 0) return status;
  return Status(status.code(), fmt::format("could not take what rank {} sent: {}", rank, status.message()));
}

Status Blame(const Status& status, int rank, const std::string& who) {
  if (status.peer() >= 0) return status;
  return Status(status.code(), fmt::format("{} {}", who, status.message()), rank);
}

}  // namespace tutti::comm
