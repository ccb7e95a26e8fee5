// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_CONTROL_GROUP_H_
#define TUTTI_SYS_OS_CONTROL_GROUP_H_

// What the control groups of a process have done to it, in versions 1 and 2 of them: kept it off the cores, or ended processes for want of
// memory. Folders are "/proc/123" for a process and "/sys/fs/cgroup" for the groups; tests have their own.

#include <cstdint>
#include <optional>
#include <string>

namespace tutti::sys {

// Time of all processes of a group, each on its own core, added up over the cores.
struct GroupTime {
  std::int64_t throttled_ns = -1;  // kept off the cores; -1: not known
  std::int64_t run_ns = -1;        // on them; -1: not known
};
// Of the group that was kept off the longest, from the process's own up to the root: each of them can hold it up. Some 50 us.
GroupTime ReadGroupTime(const std::string& process, const std::string& proc, const std::string& groups);

// The group whose limit a process's memory counts towards.
struct MemoryGroup {
  std::string name;               // "/job": as the process sees it
  std::string folder;             // that has its counters
  std::int64_t limit_bytes = -1;  // the least of it and those above; -1: none
};
// nullopt where it has none, or it may not be seen. A process that has ended has none. Some 50 us.
std::optional<MemoryGroup> FindMemoryGroup(const std::string& process, const std::string& groups);
// How many processes of the group, and of those within it, the kernel has ended for want of memory; nullopt: not known. Some 10 us.
std::optional<std::int64_t> ReadMemoryKills(const MemoryGroup& group);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_CONTROL_GROUP_H_
