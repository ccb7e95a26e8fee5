// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/words.h"
#include "sys/os/aliasing.h"
#include "sys/os/error.h"
#include "sys/os/fd.h"
#include "sys/os/text_file.h"

namespace tutti::sys {
namespace {

// Cuts the next word, up to a space or a newline, off the front of `text`.
std::string_view NextWord(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

template <typename Number>
bool ParseNumber(std::string_view word, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() && !word.empty();
}

// Reads the file into `buffer` with one read; the text, or nothing and errno. Allocates nothing.
std::optional<std::string_view> ReadOnce(const char* path, char* buffer, std::size_t bytes) {
  const Fd fd(open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::nullopt;
  ssize_t n;
  do {
    n = read(fd.get(), buffer, bytes);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return std::nullopt;
  return std::string_view(buffer, static_cast<std::size_t>(n));
}

std::optional<ProcessStat> ReadStatFile(const char* path) {
  char buffer[1024];
  const std::optional<std::string_view> text = ReadOnce(path, buffer, sizeof(buffer));
  return text ? ParseProcessStat(*text) : std::nullopt;
}

// False where /proc belongs to another pid name space, or is missing: then its pids mean other processes.
bool ProcIsOurs() {
  const std::optional<ProcessStat> self = ReadStatFile("/proc/self/stat");
  return self && self->pid == getpid();
}

Liveness ProbeBySignal(std::int32_t pid, Liveness if_exists) {
  if (kill(pid, 0) == 0 || errno == EPERM) return if_exists;
  return errno == ESRCH ? Liveness::kDead : Liveness::kUnknown;
}

using TransferCall = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);

Status TransferError(std::int32_t pid, const char* verb, std::size_t done, std::size_t bytes, int error) {
  const std::string what =
      fmt::format("cannot {} memory of process {}: stopped after {} of {} bytes", verb, pid, done, bytes);
  if (error == ESRCH) return Status(Code::kRemote, what + ": the process is gone");
  const char* hint = "";
  if (error == EPERM) {
    hint =
        "Likely kernel.yama.ptrace_scope, a container's seccomp profile (docker run --cap-add SYS_PTRACE), "
        "or "
        "different users.";
  } else if (error == ENOSYS) {
    hint = "The kernel or a sandbox does not offer process_vm_readv and process_vm_writev.";
  } else if (error == EFAULT) {
    hint = "The address range is not mapped there, or not with the access needed.";
  }
  return SystemError(error, what, hint);
}

Result<std::size_t> Transfer(TransferCall call, const char* verb, std::int32_t pid, void* remote, void* local,
                             std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const iovec near = {static_cast<std::byte*>(local) + done, bytes - done};
    const iovec far = {static_cast<std::byte*>(remote) + done, bytes - done};
    const ssize_t n = call(pid, &near, 1, &far, 1, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return TransferError(pid, verb, done, bytes, n < 0 ? errno : EFAULT);
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

// By way of a buffer that lies half a page off the other process's memory, a part at a time: `move` moves one between the two.
template <typename Move>
Result<std::size_t> GoAround(const std::byte* remote, std::size_t bytes, Move move) {
  constexpr std::size_t kPage = 4096, kPart = 4 * kPage;
  alignas(kPage) std::byte buffer[kPart + kPage];
  std::byte* const between = buffer + (reinterpret_cast<std::uintptr_t>(remote) + kPage / 2) % kPage;
  for (std::size_t done = 0; done < bytes; done += kPart) {
    const Result<std::size_t> moved = move(between, done, std::min(kPart, bytes - done));
    if (!moved.ok()) return moved;
  }
  return bytes;
}

Result<std::size_t> ReadAround(std::int32_t pid, std::byte* remote, std::byte* local, std::size_t bytes) {
  return GoAround(remote, bytes, [&](std::byte* between, std::size_t at, std::size_t part) {
    Result<std::size_t> got = Transfer(&process_vm_readv, "read", pid, remote + at, between, part);
    if (got.ok()) std::memcpy(local + at, between, part);
    return got;
  });
}

Result<std::size_t> WriteAround(std::int32_t pid, std::byte* remote, std::byte* local, std::size_t bytes) {
  return GoAround(remote, bytes, [&](std::byte* between, std::size_t at, std::size_t part) {
    std::memcpy(between, local + at, part);
    return Transfer(&process_vm_writev, "write", pid, remote + at, between, part);
  });
}

int AffinityCpus() {
  for (int capacity = 1024; capacity <= 1 << 18; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    const std::size_t size = CPU_ALLOC_SIZE(capacity);
    const bool known = set != nullptr && sched_getaffinity(0, size, set) == 0;
    const int count = known ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (known) return std::max(count, 1);
    if (errno != EINVAL) break;
  }
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

std::optional<int> RoundUp(double quota, double period) {
  if (quota <= 0 || period <= 0) return std::nullopt;
  return std::max(1, static_cast<int>((quota + period - 1) / period));
}

std::optional<int> QuotaOfV1(const std::string& directory) {
  const Result<std::string> quota = ReadFile(directory + "/cpu.cfs_quota_us");
  const Result<std::string> period = ReadFile(directory + "/cpu.cfs_period_us");
  if (!quota.ok() || !period.ok()) return std::nullopt;
  return RoundUp(std::atof(quota->c_str()), std::atof(period->c_str()));
}

std::optional<int> QuotaOfV2(const std::string& directory) {
  const Result<std::string> text = ReadFile(directory + "/cpu.max");
  return text.ok() ? internal::ParseCpuMax(*text) : std::nullopt;
}

// The least quota on the way from a cgroup up to the root: each of them limits.
int LeastQuota(std::optional<int> (*quota_of)(const std::string&), const std::string& root, std::string path,
               int least) {
  while (true) {
    if (const std::optional<int> quota = quota_of(root + path)) least = std::min(least, *quota);
    if (path.empty()) return least;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool HasController(std::string_view controllers, std::string_view name) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == name) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  ProcessStat stat;
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  std::string_view head = text.substr(0, open);
  if (!ParseNumber(NextWord(head), stat.pid)) return std::nullopt;
  stat.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  for (int field = 3; field <= 22; ++field) {  // numbered as in proc(5)
    const std::string_view word = NextWord(rest);
    bool good = !word.empty();
    if (field == 3 && good) stat.state = word[0];
    if (field == 4) good = ParseNumber(word, stat.parent);
    if (field == 20) good = ParseNumber(word, stat.threads);
    if (field == 22) good = ParseNumber(word, stat.start_ticks);
    if (!good) return std::nullopt;
  }
  return stat;
}

std::optional<ProcessStat> ReadProcessStat(std::int32_t pid) {
  char path[32];
  *fmt::format_to(path, "/proc/{}/stat", pid) = '\0';
  return ReadStatFile(path);
}

std::uint64_t TicksSinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const auto per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) * per_second +
         static_cast<std::uint64_t>(now.tv_nsec) * per_second / 1'000'000'000;
}

ProcessId Self() {
  const std::optional<ProcessStat> stat = ReadStatFile("/proc/self/stat");
  const std::int32_t pid = getpid();
  return {.pid = pid, .start_ticks = stat && stat->pid == pid ? stat->start_ticks : 0};
}

ProcessId Parent() {
  const std::int32_t pid = getppid();
  const std::optional<ProcessStat> stat = ProcIsOurs() ? ReadProcessStat(pid) : std::nullopt;
  return {.pid = pid, .start_ticks = stat ? stat->start_ticks : 0};
}

std::uint32_t UserId() { return geteuid(); }

std::uint64_t ProcessNamespace() {
  struct stat pids, times;
  if (stat("/proc/self/ns/pid", &pids) != 0) return 0;
  const std::uint64_t time = stat("/proc/self/ns/time", &times) == 0 ? times.st_ino : 0;
  return pids.st_ino * 0x9e3779b97f4a7c15u + time;
}

Liveness ProbeProcess(ProcessId process) {
  if (process.pid <= 0) return Liveness::kUnknown;
  if (process.start_ticks == 0) return ProbeBySignal(process.pid, Liveness::kAlive);
  const std::optional<ProcessStat> stat = ReadProcessStat(process.pid);
  if (!stat) return ProbeBySignal(process.pid, Liveness::kUnknown);
  const bool ended = (stat->state == 'Z' && stat->threads <= 1) || stat->state == 'X' || stat->state == 'x';
  if (!ended && stat->start_ticks == process.start_ticks) return Liveness::kAlive;
  return ProcIsOurs() ? Liveness::kDead : Liveness::kUnknown;
}

Result<Fd> OwnHandle() {
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
  Fd handle(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));  // close-on-exec by itself
  if (handle.valid()) return handle;
  const Status why = SystemError(errno, "cannot open a handle of this process");
  return Status(Code::kUnsupported, why.message());
}

Liveness ProbeHandle(const Fd& handle) {
  pollfd ended = {.fd = handle.get(), .events = POLLIN, .revents = 0};
  const int ready = poll(&ended, 1, 0);
  if (ready < 0 || (ended.revents & POLLNVAL) != 0) return Liveness::kUnknown;
  return ready > 0 ? Liveness::kDead : Liveness::kAlive;
}

Result<std::size_t> ReadProcessMemory(std::int32_t pid, const void* remote, void* local, std::size_t bytes) {
  if (CopyAliases(local, remote, bytes) && AliasedCopiesAreSlow()) {
    return ReadAround(pid, static_cast<std::byte*>(const_cast<void*>(remote)), static_cast<std::byte*>(local), bytes);
  }
  return Transfer(&process_vm_readv, "read", pid, const_cast<void*>(remote), local, bytes);
}

Result<std::size_t> WriteProcessMemory(std::int32_t pid, void* remote, const void* local, std::size_t bytes) {
  if (CopyAliases(remote, local, bytes) && AliasedCopiesAreSlow()) {
    return WriteAround(pid, static_cast<std::byte*>(remote), static_cast<std::byte*>(const_cast<void*>(local)), bytes);
  }
  return Transfer(&process_vm_writev, "write", pid, remote, const_cast<void*>(local), bytes);
}

void AllowPeersToRead() {
#ifndef PR_SET_PTRACER
  constexpr int PR_SET_PTRACER = 0x59616d61;
  constexpr unsigned long PR_SET_PTRACER_ANY = ~0ul;
#endif
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

std::optional<int> internal::ParseCpuMax(std::string_view text) {
  std::int64_t quota = 0, period = 0;
  if (!ParseNumber(NextWord(text), quota) || !ParseNumber(NextWord(text), period)) return std::nullopt;
  return RoundUp(static_cast<double>(quota), static_cast<double>(period));
}

int UsableCpus() {
  int cpus = AffinityCpus();
  const Result<std::string> cgroups = ReadFile("/proc/self/cgroup");
  std::string_view rest = cgroups.ok() ? std::string_view(*cgroups) : std::string_view();
  while (!rest.empty()) {  // lines of <number>:<controllers>:<path>; version 2 has no controllers
    const std::string_view line = TakeLine(rest);
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    std::string path(line.substr(second + 1));
    if (path == "/" || path.find("/..") != std::string::npos) path.clear();
    if (controllers.empty()) {
      cpus = LeastQuota(&QuotaOfV2, "/sys/fs/cgroup", path, cpus);
      cpus = LeastQuota(&QuotaOfV2, "/sys/fs/cgroup/unified", path, cpus);
    } else if (HasController(controllers, "cpu")) {
      cpus = LeastQuota(&QuotaOfV1, "/sys/fs/cgroup/cpu", path, cpus);
    }
  }
  return std::max(cpus, 1);
}

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "unknown-host";
  return name;
}

std::uint64_t HostHash() {
  const Result<std::string> boot = ReadFile("/proc/sys/kernel/random/boot_id");
  return Fnv1a(boot.ok() && boot->size() > 30 ? *boot : HostName());
}

std::optional<std::string> GetEnv(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::vector<std::string> Environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return variables;
}

}  // namespace tutti::sys
