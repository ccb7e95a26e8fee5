// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_BOOTSTRAP_ATTENDANCE_H_
#define TUTTI_COMM_MEET_BOOTSTRAP_ATTENDANCE_H_

// What a rank that gathers and one that visits have in common. Part of bootstrap.h.

#include <cstdint>
#include <string>
#include <vector>

#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap_message.h"
#include "comm/meet/meeting.h"
#include "comm/meet/rank_list.h"
#include "sys/os/clock.h"

namespace tutti::comm {

// How often a rank that waits looks whether the processes that it waits for still exist. The end of a connection says
// so at once, but not where a forked child of that process holds a copy of it.
inline constexpr std::int64_t kProbeNs = 300 * sys::kNsPerMs;
// A socket can be writable and yet take nothing, where too many descriptors are under way. Then it is tried again after
// this time.
inline constexpr std::int64_t kRetryNs = 100'000;
// How often a rank that waits looks whether it shall give up.
inline constexpr std::int64_t kCancelNs = 50 * sys::kNsPerMs;

// What one call of Meet knows from its start.
struct Attendance {
  const MeetOptions* options = nullptr;
  IdParts id;
  sys::ProcessId process;
  std::uint64_t process_namespace = 0;
  std::int64_t begin_ns = 0;
  std::int64_t deadline_ns = 0;
  std::int64_t note_until_ns =
      0;  // the deadline of the meeting; deadline_ns is earlier where all is lost but some may hear

  Introduction Introduce() const;
  // What to hand to OnMember for another's, or its own, introduction.
  Member MakeMember(const Introduction& introduction, sys::Fd shared) const;
  // A process of that name space as this one knows it: pid 0 where it is another name space.
  sys::ProcessId Known(sys::ProcessId process, std::uint64_t process_namespace) const;
  // Whether this rank shall give up, and what it and the others say then.
  bool Cancelled() const { return options->cancel != nullptr && options->cancel->load(std::memory_order_acquire); }
  Status Cancellation() const;
  // How long a wait that begins at `now_ns` may be before it looks around.
  std::int64_t NextLookNs(std::int64_t now_ns) const {
    return now_ns + (options->cancel != nullptr ? kCancelNs : kProbeNs);
  }
};

// Why a member's connection ended: it "died" or "left", as the process table shows.
const char* DiedOrLeft(sys::ProcessId process);

// An error of OnMember as a meeting tells it: as it is where it blames a rank, else with the rank it is about.
Status Untaken(const Status& status, int rank);
// A status as all ranks are to read it: as it is where it blames a rank, else with the rank in trouble as its subject.
Status Blame(const Status& status, int rank, const std::string& who);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_BOOTSTRAP_ATTENDANCE_H_
