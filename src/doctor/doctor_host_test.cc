// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Limits, control groups, permissions, parameters of the kernel and networks: each healthy and with a planted fault.
#include <fmt/format.h>

#include "doctor/cgroup.h"
#include "doctor/limits.h"
#include "doctor/networks.h"
#include "doctor/permissions.h"
#include "tests/support/findings.h"
#include "tests/support/rendered_host.h"

namespace tutti::doctor {
namespace {

using tests::RenderedHost;

// The text of /proc/self/limits, of which one line is replaced.
std::string LimitsWith(const std::string& name = "", const std::string& soft = "", const std::string& hard = "") {
  std::string text = "Limit                     Soft Limit           Hard Limit           Units     \n";
  for (const auto& [line, value] :
       {std::pair("Max file size", "unlimited"), std::pair("Max core file size", "unlimited"),
        std::pair("Max processes", "95553"), std::pair("Max open files", "65536"),
        std::pair("Max locked memory", "unlimited"), std::pair("Max address space", "unlimited")}) {
    text += name == line ? fmt::format("{:<26}{:<21}{:<21}bytes\n", line, soft, hard)
                         : fmt::format("{:<26}{:<21}{:<21}bytes\n", line, value, value);
  }
  return text;
}

Findings Limits(const RenderedHost& host, const std::string& text,
                const std::string& capabilities = "0000000000000000") {
  host.Write("/proc/self/limits", text);
  host.Write("/proc/self/status", "Name:\tx\nCapEff:\t" + capabilities + "\nSeccomp:\t0");
  Findings findings;
  ExamineLimits(Root(host.root()), findings);
  return findings;
}

TEST(DoctorLimits, Healthy) {
  const RenderedHost host;
  const Findings findings = Limits(host, LimitsWith());
  EXPECT_EQ(findings.size(), 6u) << All(findings);
  EXPECT_EQ(ExitCodeOf(findings), 0) << All(findings);
  for (const Finding& finding : findings) EXPECT_EQ(Name(finding.severity), "OK") << LineOf(finding);
}

TEST(DoctorLimits, LittleLockedMemory) {
  const RenderedHost host;
  const std::string text = LimitsWith("Max locked memory", "65536", "8388608");
  ExpectFinding(Limits(host, text), "memlock", Severity::kInfo, "64 KiB of 8 MiB");
  host.Write("/sys/class/infiniband/mlx5_0/node_guid", "1");
  ExpectFinding(Limits(host, text), "memlock", Severity::kWarn, "network cards need it (64 KiB of 8 MiB");
  // With CAP_IPC_LOCK the limit does not count.
  ExpectFinding(Limits(host, text, "0000000000004000"), "memlock", Severity::kOk, "64 KiB");
}

TEST(DoctorLimits, FewOfOthers) {
  const RenderedHost host;
  ExpectFinding(Limits(host, LimitsWith("Max open files", "512", "4096")), "nofile", Severity::kWarn, "512 of 4096");
  ExpectFinding(Limits(host, LimitsWith("Max open files", "64", "64")), "nofile", Severity::kCritical, "64 of 64");
  ExpectFinding(Limits(host, LimitsWith("Max processes", "500", "500")), "nproc", Severity::kWarn, "500");
  ExpectFinding(Limits(host, LimitsWith("Max file size", "1048576", "unlimited")), "fsize", Severity::kWarn, "1 MiB");
  ExpectFinding(Limits(host, LimitsWith("Max address space", "68719476736", "unlimited")), "address_space",
                Severity::kWarn, "64 GiB");
  ExpectFinding(Limits(host, LimitsWith("Max core file size", "0", "unlimited")), "core", Severity::kInfo, "black box");
}

TEST(DoctorLimits, Unreadable) {
  const RenderedHost host;
  Findings findings;
  ExamineLimits(Root(host.root()), findings);
  ExpectFinding(findings, "limits", Severity::kUnknown, "/proc/self/limits");
  EXPECT_EQ(ExitCodeOf(findings), 3);
  ExpectFinding(Limits(host, LimitsWith("Max locked memory", "many", "few")), "memlock", Severity::kUnknown, "");
}

TEST(DoctorLimits, SharedMemory) {
  const auto examine = [](const Result<sys::FileSpace>& space) {
    Findings findings;
    ExamineSharedMemory(space, findings);
    return findings;
  };
  constexpr std::int64_t kGib = 1 << 30;
  ExpectFinding(examine(sys::FileSpace{.bytes = 32 * kGib, .free_bytes = 30 * kGib}), "shm", Severity::kOk, "30 GiB");
  ExpectFinding(examine(sys::FileSpace{.bytes = 1 << 26, .free_bytes = (1 << 26) - 4096}), "shm", Severity::kWarn,
                "--shm-size");
  ExpectFinding(examine(sys::FileSpace{.bytes = 8 * kGib, .free_bytes = 1 << 20}), "shm", Severity::kWarn, "left over");
  ExpectFinding(examine(sys::FileSpace{.bytes = kGib / 2, .free_bytes = kGib / 2}), "shm", Severity::kInfo, "512 MiB");
  ExpectFinding(examine(sys::SpaceOf("/none/dev/shm")), "shm", Severity::kUnknown, "/none/dev/shm");
  EXPECT_TRUE(sys::SpaceOf("/").ok());
}

Findings Cgroup(const RenderedHost& host, int cpus = 8) {
  Findings findings;
  ExamineCgroup(ReadCgroup(Root(host.root())), cpus, findings);
  return findings;
}

void WriteGroup(const RenderedHost& host, const std::string& group, const std::string& file, const std::string& text) {
  host.Write("/sys/fs/cgroup" + group + "/" + file, text);
}

TEST(DoctorCgroup, HealthyWithoutLimits) {
  const RenderedHost host;
  ExpectFinding(Cgroup(host), "cgroup", Severity::kInfo, "not known");
  host.Write("/proc/self/cgroup", "0::/job");
  WriteGroup(host, "/job", "cpu.max", "max 100000");
  WriteGroup(host, "/job", "cpu.stat", "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0");
  WriteGroup(host, "/job", "memory.max", "max");
  WriteGroup(host, "/job", "pids.max", "max");
  const Findings findings = Cgroup(host);
  EXPECT_EQ(findings.size(), 3u) << All(findings);
  for (const Finding& finding : findings) EXPECT_EQ(Name(finding.severity), "OK") << LineOf(finding);
}

// The limit stands at the group above.
TEST(DoctorCgroup, Throttled) {
  const RenderedHost host;
  host.Write("/proc/self/cgroup", "0::/pod/job");
  WriteGroup(host, "/pod/job", "cpu.max", "max 100000");
  WriteGroup(host, "/pod", "cpu.max", "150000 100000");
  WriteGroup(host, "/pod", "cpu.stat", "nr_periods 1000\nnr_throttled 3\nthrottled_usec 500000");
  ExpectFinding(Cgroup(host), "cgroup_cpu", Severity::kInfo,
                "1.5 of 8 cores; kept off them in 3 of 1000 periods, 0.5 s");
  EXPECT_EQ(Worst(Cgroup(host, 1), "cgroup_cpu").severity, Severity::kOk);
  WriteGroup(host, "/pod", "cpu.stat", "nr_periods 1000\nnr_throttled 120\nthrottled_usec 9000000");
  ExpectFinding(Cgroup(host), "cgroup_cpu", Severity::kWarn, "120 of 1000 periods, 9.0 s");
  WriteGroup(host, "/pod", "cpu.stat", "nr_periods 1000\nnr_throttled 900\nthrottled_usec 90000000");
  ExpectFinding(Cgroup(host), "cgroup_cpu", Severity::kCritical, "raise cpu.max");
}

TEST(DoctorCgroup, LittleMemoryAndFewTasks) {
  const RenderedHost host;
  host.Write("/proc/self/cgroup", "0::/job");
  WriteGroup(host, "/job", "cpu.stat", "usage_usec 5");
  WriteGroup(host, "/job", "memory.max", "8589934592");
  WriteGroup(host, "/job", "memory.current", "8489934592");
  WriteGroup(host, "/job", "memory.stat", "anon 1\ninactive_file 7000000000");
  ExpectFinding(Cgroup(host), "cgroup_memory", Severity::kOk, "of 8 GiB");
  WriteGroup(host, "/job", "memory.stat", "anon 1\ninactive_file 200000000");
  ExpectFinding(Cgroup(host), "cgroup_memory", Severity::kWarn, "286.1 MiB left of 8 GiB");
  WriteGroup(host, "/job", "memory.stat", "anon 1\ninactive_file 0");
  ExpectFinding(Cgroup(host), "cgroup_memory", Severity::kCritical, "95.4 MiB left");
  WriteGroup(host, "/job", "memory.current", "1000000");
  WriteGroup(host, "/job", "memory.events", "low 0\noom 3\noom_kill 2");
  ExpectFinding(Cgroup(host), "cgroup_memory", Severity::kWarn, "2 killed");
  WriteGroup(host, "/job", "pids.max", "1000");
  WriteGroup(host, "/job", "pids.current", "950");
  ExpectFinding(Cgroup(host), "cgroup_pids", Severity::kWarn, "50 left of 1000");
}

TEST(DoctorCgroup, VersionOne) {
  const RenderedHost host;
  host.Write("/proc/self/cgroup", "5:cpu,cpuacct:/job\n3:memory:/job");
  WriteGroup(host, "/cpu/job", "cpu.cfs_quota_us", "200000");
  WriteGroup(host, "/cpu/job", "cpu.cfs_period_us", "100000");
  WriteGroup(host, "/cpu/job", "cpu.stat", "nr_periods 100\nnr_throttled 60\nthrottled_time 6000000000");
  WriteGroup(host, "/memory/job", "memory.limit_in_bytes", "1073741824");
  WriteGroup(host, "/memory/job", "memory.usage_in_bytes", "1063741824");
  ExpectFinding(Cgroup(host), "cgroup_cpu", Severity::kCritical,
                "2.0 of 8 cores; kept off them in 60 of 100 periods, 6.0 s");
  ExpectFinding(Cgroup(host), "cgroup_memory", Severity::kCritical, "9.5 MiB left of 1 GiB");
}

Findings Permitted(const RenderedHost& host, const Permissions& tried, const std::string& scope,
                   const std::string& capabilities) {
  host.Write("/proc/sys/kernel/yama/ptrace_scope", scope);
  host.Write("/proc/self/status", "CapEff:\t" + capabilities + "\nSeccomp:\t2");
  Findings findings;
  ExaminePermissions(Root(host.root()), tried, findings);
  return findings;
}

TEST(DoctorPermissions, ReadingPeers) {
  const RenderedHost host;
  const std::string none = "0000000000000000", may = "0000000000080000";
  ExpectFinding(Permitted(host, {}, "1", none), "ptrace", Severity::kOk, "ptrace_scope=1, without CAP_SYS_PTRACE");
  ExpectFinding(Permitted(host, {}, "2", none), "ptrace", Severity::kWarn, "ptrace_scope=2");
  ExpectFinding(Permitted(host, {}, "2", may), "ptrace", Severity::kOk, "with CAP_SYS_PTRACE");
  ExpectFinding(Permitted(host, {}, "3", may), "ptrace", Severity::kWarn, "copied twice");
  Permissions refused;
  refused.reads_memory = Status(Code::kSystem, "Function not implemented (errno 38)");
  refused.watches_others = Status(Code::kUnsupported, "no pidfd");
  ExpectFinding(Permitted(host, refused, "0", none), "ptrace", Severity::kWarn,
                "seccomp mode 2; Function not implemented");
  ExpectFinding(Permitted(host, refused, "0", none), "pidfd", Severity::kInfo, "no pidfd");
  ExpectFinding(Permitted(host, {}, "0", none), "pidfd", Severity::kOk, "");
}

Findings Kernel(const RenderedHost& host) {
  Findings findings;
  ExamineKernel(Root(host.root()), findings);
  return findings;
}

TEST(DoctorKernel, Parameters) {
  const RenderedHost host;
  EXPECT_TRUE(Kernel(host).empty());
  host.Write("/proc/sys/kernel/numa_balancing", "1");
  host.Write("/proc/sys/vm/overcommit_memory", "0");
  host.Write("/proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456");
  host.Write("/proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304");
  host.Write("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999");
  host.Write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
  EXPECT_EQ(Kernel(host).size(), 5u);
  for (const Finding& finding : Kernel(host)) EXPECT_EQ(Name(finding.severity), "OK") << LineOf(finding);
  host.Write("/sys/devices/system/node/node1/cpulist", "4-7");
  ExpectFinding(Kernel(host), "numa_balancing", Severity::kInfo, "kernel.numa_balancing=1");
  host.Write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  ExpectFinding(Kernel(host), "huge_pages", Severity::kInfo, "transparent_hugepage/enabled: always madvise [never]");
  host.Write("/proc/sys/vm/overcommit_memory", "2");
  ExpectFinding(Kernel(host), "overcommit", Severity::kWarn, "vm.overcommit_memory=2");
  host.Write("/proc/sys/net/ipv4/tcp_rmem", "4096 87380 212992");
  ExpectFinding(Kernel(host), "tcp_buffers", Severity::kInfo, "tcp_rmem up to 208 KiB");
  host.Write("/proc/sys/net/ipv4/ip_local_port_range", "60000 60999");
  ExpectFinding(Kernel(host), "ports", Severity::kWarn, "1000 ports from 60000 on");
}

sys::Interface Card(const std::string& name, std::int64_t mbits = 100000, std::int64_t mtu = 9000) {
  sys::Interface card;
  card.name = name;
  card.addresses.resize(1);
  card.up = card.running = card.physical = true;
  card.speed_mbits = mbits;
  card.mtu = mtu;
  return card;
}

Findings Interfaces(const RenderedHost& host, const std::vector<sys::Interface>& interfaces) {
  Findings findings;
  ExamineInterfaces(Root(host.root()), interfaces, findings);
  return findings;
}

TEST(DoctorNetworks, Interfaces) {
  const RenderedHost host;
  sys::Interface bridge = Card("docker0", 10, 1500), off = Card("eth2"), down = Card("eth3");
  bridge.physical = false;
  off.up = off.running = false;
  down.running = false;
  ExpectFinding(Interfaces(host, {Card("eth0"), Card("eth1"), bridge}), "nic", Severity::kOk,
                "2 cards, up to 100 Gbit/s");
  ExpectFinding(Interfaces(host, {Card("eth0"), off}), "nic", Severity::kInfo, "eth2: switched off");
  ExpectFinding(Interfaces(host, {Card("eth0"), off, down}), "nic", Severity::kWarn, "eth3: no link");
  ExpectFinding(Interfaces(host, {Card("eth0"), Card("eth1", 25000)}), "nic", Severity::kInfo,
                "eth1: slower than other cards of this host (25 Gbit/s of 100 Gbit/s)");
  ExpectFinding(Interfaces(host, {Card("eth0"), Card("eth1", 100000, 1500)}), "mtu", Severity::kInfo,
                "eth1 has 1500, eth0 has 9000");
  host.Write("/sys/class/net/eth0/carrier_down_count", "12");
  ExpectFinding(Interfaces(host, {Card("eth0")}), "nic", Severity::kInfo, "12 times");
  host.Write("/sys/class/net/eth0/statistics/rx_crc_errors", "5000");
  host.Write("/sys/class/net/eth0/statistics/rx_packets", "1000000");
  ExpectFinding(Interfaces(host, {Card("eth0")}), "nic", Severity::kWarn, "5000 of 1000000 packets");
}

TEST(DoctorNetworks, Infiniband) {
  const RenderedHost host;
  const sys::InfinibandPort good{.gbit_per_s = 400, .active = true, .state = "4: ACTIVE"};
  const sys::InfinibandPort slow{.gbit_per_s = 100, .active = true, .state = "4: ACTIVE"};
  const sys::InfinibandPort down{.state = "1: DOWN"};
  const auto examine = [&](const std::vector<sys::InfinibandPort>& ports) {
    std::vector<sys::InfinibandDevice> devices;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      devices.push_back({.name = fmt::format("mlx5_{}", i), .ports = {ports[i]}});
    }
    Findings findings;
    ExamineInfiniband(Root(host.root()), devices, findings);
    return findings;
  };
  EXPECT_TRUE(examine({}).empty());
  ExpectFinding(examine({good, good}), "rdma", Severity::kOk, "2 ports of 400 Gbit/s");
  ExpectFinding(examine({good, down}), "rdma", Severity::kWarn, "mlx5_1 port 1: no link (state '1: DOWN')");
  ExpectFinding(examine({good, slow}), "rdma", Severity::kWarn, "100 of 400 Gbit/s");
  host.Write("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "1812");
  ExpectFinding(examine({good}), "rdma", Severity::kInfo, "1812 symbol errors");
}

}  // namespace
}  // namespace tutti::doctor
