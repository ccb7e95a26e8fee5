// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/permissions.h"

#include <fmt/format.h>

#include "base/words.h"
#include "doctor/limits.h"
#include "sys/os/process.h"

namespace tutti::doctor {
namespace {

constexpr std::int64_t kSmallBuffer = 4 << 20;
constexpr std::int64_t kFewPorts = 10000;

void ExaminePtrace(const Root& root, const Status& reads_memory, Findings& findings) {
  const std::string status = root.Text("/proc/self/status").value_or("");
  const std::int64_t scope = root.Number("/proc/sys/kernel/yama/ptrace_scope").value_or(0);
  const bool may = HasCapability(status, kCapSysPtrace);
  const std::string evidence = fmt::format("kernel.yama.ptrace_scope={}, {} CAP_SYS_PTRACE, seccomp mode {}", scope,
                                           may ? "with" : "without", NumberOf(status, "Seccomp").value_or(0));
  if (!reads_memory.ok()) {
    Add(findings, Severity::kWarn, "ptrace", "process_vm_readv is forbidden, so large messages are copied twice",
        fmt::format("{}; {}", evidence, reads_memory.message()),
        "allow it: --cap-add SYS_PTRACE or another seccomp profile of the container");
  } else if (scope >= 3 || (scope == 2 && !may)) {
    Add(findings, Severity::kWarn, "ptrace",
        "ranks may not read each other's memory, so large messages are copied twice", evidence,
        "set kernel.yama.ptrace_scope to 0 or 1, or give the job CAP_SYS_PTRACE");
  } else {
    Add(findings, Severity::kOk, "ptrace", "ranks of one user may read each other's memory", evidence);
  }
}

// "4096 131072 6291456"
std::int64_t LastNumber(const std::string& text) {
  return ParseNumber<std::int64_t>(Trim(text.substr(text.find_last_of(" \t") + 1))).value_or(0);
}

void ExamineSockets(const Root& root, Findings& findings) {
  const std::optional<std::string> receive = root.Text("/proc/sys/net/ipv4/tcp_rmem"),
                                   send = root.Text("/proc/sys/net/ipv4/tcp_wmem");
  if (receive && send) {
    const std::int64_t in = LastNumber(*receive), out = LastNumber(*send);
    const bool small = in < kSmallBuffer || out < kSmallBuffer;
    Add(findings, small ? Severity::kInfo : Severity::kOk, "tcp_buffers",
        small ? "TCP may buffer little, which slows connections of 100 Gbit/s or over long ways"
              : "TCP may buffer enough",
        fmt::format("tcp_rmem up to {}, tcp_wmem up to {}", BytesText(static_cast<double>(in)),
                    BytesText(static_cast<double>(out))),
        "raise the third number of net.ipv4.tcp_rmem and tcp_wmem to 16777216");
  }
  const std::optional<std::string> ports = root.Text("/proc/sys/net/ipv4/ip_local_port_range");
  if (!ports) return;
  const std::size_t blank = ports->find_first_of(" \t");
  const std::int64_t first = ParseNumber<std::int64_t>(ports->substr(0, blank)).value_or(0);
  const std::int64_t count = LastNumber(*ports) - first + 1;
  Add(findings, count < kFewPorts ? Severity::kWarn : Severity::kOk, "ports",
      count < kFewPorts ? "few ports are free for connections" : "there are enough ports for connections",
      fmt::format("{} ports from {} on", count, first), "widen net.ipv4.ip_local_port_range");
}

}  // namespace

Permissions TryPermissions() {
  Permissions tried;
  const int here = 1;
  int copy = 0;
  tried.reads_memory = sys::ReadProcessMemory(sys::Self().pid, &here, &copy, sizeof(copy)).status();
  tried.watches_others = sys::OwnHandle().status();
  return tried;
}

void ExaminePermissions(const Root& root, const Permissions& tried, Findings& findings) {
  ExaminePtrace(root, tried.reads_memory, findings);
  if (tried.watches_others.ok()) {
    Add(findings, Severity::kOk, "pidfd", "processes of other containers can be watched", "");
  } else {
    Add(findings, Severity::kInfo, "pidfd",
        "processes of other containers cannot be watched, so one that dies is found by its connection only",
        tried.watches_others.message(), "Linux 5.3, or a seccomp profile that allows pidfd_open");
  }
}

void ExamineKernel(const Root& root, Findings& findings) {
  if (const auto balancing = root.Number("/proc/sys/kernel/numa_balancing")) {
    const bool hurts = *balancing != 0 && root.Exists("/sys/devices/system/node/node1");
    Add(findings, hurts ? Severity::kInfo : Severity::kOk, "numa_balancing",
        hurts ? "the kernel moves pages between NUMA nodes, which stops threads for a moment and jobs by turns"
              : "the kernel moves no pages between NUMA nodes",
        fmt::format("kernel.numa_balancing={}", *balancing), "set kernel.numa_balancing to 0 on hosts for training");
  }
  if (const auto huge = root.Text("/sys/kernel/mm/transparent_hugepage/enabled")) {
    const bool never = huge->find("[never]") != std::string::npos;
    Add(findings, never ? Severity::kInfo : Severity::kOk, "huge_pages",
        never
            ? "the kernel gives no huge pages, so processes read each other's large buffers in up to a third more time"
            : "the kernel gives huge pages to who asks for them",
        fmt::format("transparent_hugepage/enabled: {}", Trim(*huge)),
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
  }
  if (const auto overcommit = root.Number("/proc/sys/vm/overcommit_memory")) {
    const bool strict = *overcommit == 2;
    Add(findings, strict ? Severity::kWarn : Severity::kOk, "overcommit",
        strict ? "memory that is only reserved counts as used, and CUDA reserves more than there is"
               : "memory may be reserved beyond what there is",
        fmt::format("vm.overcommit_memory={}", *overcommit), "set vm.overcommit_memory to 0 or 1");
  }
  ExamineSockets(root, findings);
}

}  // namespace tutti::doctor
