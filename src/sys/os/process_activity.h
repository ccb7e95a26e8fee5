// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_PROCESS_ACTIVITY_H_
#define TUTTI_SYS_OS_PROCESS_ACTIVITY_H_

// What another process is doing at this moment, as far as /proc and its control group tell. Nothing is asked of the process
// itself: it may be stopped or hang.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::sys {

struct ThreadActivity {
  std::int32_t tid = 0;
  std::string name;          // at most 15 characters
  char state = '?';          // R, S, D, T, t, Z, X: proc(5)
  std::string system_call;   // that it is in: "write", "system call 451"; empty: none, or it may not be seen
  std::string object;        // of a call on a descriptor, what that is: "/ckpt/17.pt", "pipe:[123]"; else empty
  std::string kernel_place;  // the function of the kernel that it sleeps in; empty: none, or it may not be seen
};

struct ProcessActivity {
  std::int32_t pid = 0;
  std::string name;
  char state = '?';  // of its main thread; Z or X: it has ended
  std::uint64_t start_ticks = 0;
  // The main thread, then up to 3 others that run or sleep where no signal wakes them. None of a process that has ended.
  std::vector<ThreadActivity> threads;
  std::vector<std::string> children;  // names of processes that it has started and not waited for, at most 16
  // Of the main thread, since it began: time on a core, and ready to run without one. -1: not known.
  std::int64_t run_ns = -1;
  std::int64_t queue_ns = -1;
  // How long the processes of its control group were kept off the cores, and on them, added up over the cores (control_group.h). -1: not
  // known.
  std::int64_t throttled_ns = -1;
  std::int64_t group_run_ns = -1;
  std::int64_t written_bytes = -1;  // to files of disks and networks, since it began; -1: not known
  std::optional<int> end;           // of one that has ended and was not waited for: its status as waitpid has it
};

// Where to look; tests have a tree of their own.
struct ActivityRoots {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// nullopt where there is no such process. Some 100 us.
std::optional<ProcessActivity> ReadActivity(std::int32_t pid, const ActivityRoots& roots = {});

// All processes that /proc shows, in no order.
std::vector<std::int32_t> ListProcesses(const ActivityRoots& roots = {});

// "write" for the number of a system call of this machine; "system call 451" for one that has no name here.
std::string NameOfSystemCall(long number);
// Whether its first argument is a descriptor, which the call then works on or waits for.
bool TakesDescriptor(std::string_view system_call);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_PROCESS_ACTIVITY_H_
