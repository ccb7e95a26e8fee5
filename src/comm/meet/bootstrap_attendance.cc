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
  const bool remote = introduction.remote != 0;
  return {.process = remote ? sys::ProcessId{} : Known(introduction.process, introduction.process_namespace),
          .uid = introduction.uid,
          .payload = {introduction.payload.begin(), introduction.payload.end()},
          .shared = std::move(shared),
          .remote = remote,
          .host = std::string(introduction.host)};
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
