// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_PROCESS_H_
#define TUTTI_SYS_OS_PROCESS_H_

// Processes of this host: who they are, whether they live, what lies in their memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/os/fd.h"
#include "tutti/status.h"

namespace tutti::sys {

// Names one process for as long as the host runs. A pid alone does not: pids are used again.
struct ProcessId {
  std::int32_t pid = 0;           // 0: unknown
  std::uint64_t start_ticks = 0;  // since boot, field 22 of /proc/<pid>/stat; 0: unknown

  bool operator==(const ProcessId&) const = default;
};

// This process. Costs a read of /proc, about 10 us; not cached, because a fork would inherit the cache.
ProcessId Self();

// Now, on the clock of ProcessId::start_ticks.
std::uint64_t TicksSinceBoot();

// The process that started this one, as far as /proc tells: it may be a later adopter when that one has
// ended.
ProcessId Parent();

// Identifies the name space that this process's pids and start times are valid in. Two processes can judge
// each other's ProcessId only where their values are equal. 0: unknown.
std::uint64_t ProcessNamespace();

// The effective user id, as peers see it in sys::Credentials.
std::uint32_t UserId();

enum class Liveness : std::uint8_t { kAlive, kDead, kUnknown };

// Whether a process still runs. A zombie is dead; a process that is stopped, or whose first thread alone has
// ended, is alive. Never kDead for a process that lives: kDead is said only where the kernel knows no such
// pid, or shows a zombie, or shows another process under that pid. kUnknown where nothing can be found out,
// as for another user's process under hidepid. Costs 5 to 10 us. REQUIRES: `process` comes from this
// ProcessNamespace().
Liveness ProbeProcess(ProcessId process);

// A handle of this process (a pidfd), for others to watch: it means the same process in every pid name space, and is
// passed on like a file. kUnsupported where the kernel or a sandbox does not offer it (Linux before 5.3).
Result<Fd> OwnHandle();
// Whether the process of a handle still runs, all its threads taken together. Costs less than 1 us.
Liveness ProbeHandle(const Fd& handle);

// Copies `bytes` between this process and another's memory, all or an error; the count is `bytes`. Needs the
// right to trace the other process. Codes: kRemote where it is gone, kSystem otherwise.
Result<std::size_t> ReadProcessMemory(std::int32_t pid, const void* remote, void* local, std::size_t bytes);
Result<std::size_t> WriteProcessMemory(std::int32_t pid, void* remote, const void* local, std::size_t bytes);

// Lets any process of this user read and write this one's memory as above where the Yama module would
// restrict that to ancestors (kernel.yama.ptrace_scope=1). Without effect, and without harm, elsewhere.
// Called once, at init.
void AllowPeersToRead();

// CPUs that this thread may really use: its affinity mask, or the CPU quota of its cgroups (rounded up) where
// that is less. At least 1. Costs some file reads.
int UsableCpus();

std::string HostName();

// The same for all processes of one running kernel, in whatever container; different between hosts. Derived
// from the kernel's boot id; from the host name where there is none.
std::uint64_t HostHash();

// The variable's value; nullopt where it is not set.
std::optional<std::string> GetEnv(const char* name);
// All variables, "NAME=value". Threads: not while another one changes the environment.
std::vector<std::string> Environment();

// What /proc/<pid>/stat says about a process.
struct ProcessStat {
  std::int32_t pid = 0;
  std::string name;  // at most 15 characters; of any kind, spaces and parentheses included
  char state = '?';  // R, S, D, Z, T, X, ...
  std::int32_t parent = 0;
  int threads = 0;
  std::uint64_t start_ticks = 0;
};
// nullopt for text that is not such a line.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);
// nullopt where there is no such process, or no /proc.
std::optional<ProcessStat> ReadProcessStat(std::int32_t pid);

namespace internal {
// CPUs granted by the text of a cgroup v2 cpu.max ("150000 100000": 2); nullopt: no limit, or no such text.
std::optional<int> ParseCpuMax(std::string_view text);
}  // namespace internal

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_PROCESS_H_
