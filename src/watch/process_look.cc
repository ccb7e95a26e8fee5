// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/process_look.h"

#include <iterator>
#include <optional>

namespace tutti::watch {
namespace {

using diag::ProcessState;

ProcessState StateOf(char letter, const std::string& place) {
  // A frozen control group shows as a sleep.
  if (place.find("freezer") != std::string::npos || place.find("refrigerator") != std::string::npos)
    return ProcessState::kFrozen;
  switch (letter) {
    case 'R':
      return ProcessState::kRunning;
    case 'S':
    case 'I':
      return ProcessState::kSleeping;
    case 'D':
      return ProcessState::kUninterruptible;
    case 'T':
      return ProcessState::kStopped;
    case 't':
      return ProcessState::kTraced;
    case 'Z':
      return ProcessState::kZombie;
    case 'X':
    case 'x':
      return ProcessState::kGone;
    default:
      return ProcessState::kUnknown;
  }
}

bool HasEnded(const sys::ProcessStat& stat) {
  return (stat.state == 'Z' && stat.threads <= 1) || stat.state == 'X' || stat.state == 'x';
}

}  // namespace

diag::ProcessLook Convert(const sys::ProcessActivity& seen, const std::string& host) {
  diag::ProcessLook process{.host = host,
                            .pid = seen.pid,
                            .name = seen.name,
                            .children = seen.children,
                            .run_ns = seen.run_ns,
                            .queue_ns = seen.queue_ns,
                            .throttled_ns = seen.throttled_ns,
                            .group_run_ns = seen.group_run_ns,
                            .written_bytes = seen.written_bytes,
                            .end = seen.end};
  for (const sys::ThreadActivity& t : seen.threads) {
    process.threads.push_back({.id = t.tid,
                               .name = t.name,
                               .state = StateOf(t.state, t.kernel_place),
                               .system_call = t.system_call,
                               .object = t.object,
                               .kernel_place = t.kernel_place});
  }
  // That of a main thread that has ended while others go on says nothing.
  const bool others = seen.state == 'Z' && !seen.threads.empty();
  process.state = others ? ProcessState::kUnknown
                         : StateOf(seen.state, seen.threads.empty() ? "" : seen.threads.front().kernel_place);
  return process;
}

diag::ProcessLook LookAt(const sys::ProcessId& process, const std::string& host, Depth depth) {
  diag::ProcessLook look{.host = host, .pid = process.pid};
  const std::optional<sys::ProcessStat> stat = sys::ReadProcessStat(process.pid);
  const bool same = stat && (process.start_ticks == 0 || stat->start_ticks == process.start_ticks);
  if (!same) {
    if (sys::ProbeProcess(process) == sys::Liveness::kDead) look.state = ProcessState::kGone;
    return look;
  }
  if (depth == Depth::kActivity || HasEnded(*stat)) {
    const std::optional<sys::ProcessActivity> activity = sys::ReadActivity(process.pid);
    if (activity && activity->start_ticks == stat->start_ticks) return Convert(*activity, host);
  }
  look.name = stat->name;
  if (stat->state != 'Z' || HasEnded(*stat)) look.state = StateOf(stat->state, "");
  return look;
}

diag::RankState StateOf(transport::RankState state) {
  constexpr diag::RankState kStates[] = {diag::RankState::kStarting, diag::RankState::kReady, diag::RankState::kLeft,
                                         diag::RankState::kFailed};
  const auto index = static_cast<std::uint32_t>(state);
  return index < std::size(kStates) ? kStates[index] : diag::RankState::kUnknown;
}

}  // namespace tutti::watch
